package import CallClient
package import CallCore
import JSON

/// The state machine of the connection behind the same language of JSON texts as ``BridgedClient``.
///
/// ```swift
/// var reconnection = BridgedReconnection()
/// let wanted = #"{"in":"wanted","urgent":true,"chance":417233}"#
/// let outputs = try reconnection.handle(Array(wanted.utf8), at: now)  // [{"out":"open","number":1}]
/// ```
package struct BridgedReconnection: Sendable {
    /// The state machine.
    package private(set) var reconnection = Reconnection()

    /// Creates a machine without a connection, which wants none yet.
    package init() {}

    /// Takes the JSON form of one input and returns the outputs as a JSON array.
    ///
    /// - Throws: ``BridgeFault`` if the text is no input; the machine has then not changed.
    package mutating func handle(_ input: [UInt8], at now: Moment) throws(BridgeFault) -> [UInt8] {
        var members = try MemberReader(input)
        let input = try Self.input(&members)
        let chance: Int64 = try members.number("chance")
        guard (0..<Self.chances).contains(chance) else {
            throw BridgeFault("chance", "must be 0 to \(Self.chances - 1)")
        }
        try members.finish()
        // A share with a fraction would not be written and read in the same way by all languages.
        let share = Double(chance) / Double(Self.chances)
        return Self.text(of: reconnection.handle(input, at: now, chance: share))
    }

    /// A chance is a whole number below this one.
    private static let chances: Int64 = 1_000_000

    private static func input(_ members: inout MemberReader) throws(BridgeFault) -> Reconnection.Input {
        let name = try members.text("in")
        switch name {
        case "wanted": return .wanted(isUrgent: try members.flag("urgent"))
        case "unwanted": return .unwanted
        case "pathChanged": return .pathChanged
        case "opened": return .opened(try number(&members))
        case "closed":
            let number = try number(&members)
            let reason = try members.optionalText("reason")
            return .closed(number, reconnectAfter: reason.flatMap { Reconnection.pause(inCloseReason: $0) })
        case "draining":
            let pause: UInt64 = try members.number("reconnectAfterMs")
            return .draining(.milliseconds(Int64(pause)))
        case "deadlineReached": return .deadlineReached
        default: throw BridgeFault("in", "there is no input \(name)")
        }
    }

    private static func number(_ members: inout MemberReader) throws(BridgeFault) -> ConnectionNumber {
        ConnectionNumber(rawValue: try members.number("number"))
    }

    private static func text(of outputs: [Reconnection.Output]) -> [UInt8] {
        var json = JSONWriter()
        json.array(outputs) { output, json in
            json.beginObject()
            switch output {
            case .open(let number):
                json.member("out", "open")
                json.member("number", number.rawValue)
            case .giveUp(let number):
                json.member("out", "giveUp")
                json.member("number", number.rawValue)
            case .connectionOpened: json.member("out", "connectionOpened")
            case .connectionClosed: json.member("out", "connectionClosed")
            }
            json.endObject()
        }
        return json.bytes
    }

    /// The JSON form of the machine's state: its moments, and the attempt whose socket is open or being opened.
    package var state: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        if let deadline = reconnection.deadline { json.member("deadline", deadline.milliseconds) }
        if let at = reconnection.reconnectAt { json.member("reconnectAt", at.milliseconds) }
        if let current = reconnection.current { json.member("current", current.rawValue) }
        json.endObject()
        return json.bytes
    }
}
