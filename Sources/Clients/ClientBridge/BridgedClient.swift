package import CallClient
package import CallCore
import JSON

/// The client core with inputs and outputs as JSON texts, for callers that are not written in Swift.
///
/// The page <doc:BridgeLanguage> describes the texts. This code is compiled twice: as a module of the package, and to
/// WebAssembly, where the functions of `WebAssembly.swift` call it.
///
/// ```swift
/// var client = try BridgedClient(configuration: Array(#"{"user":"11","device":"web-a","signalIDPrefix":"x"}"#.utf8))
/// let outputs = try client.handle(Array(#"{"in":"connectionOpened"}"#.utf8), at: now)
/// ```
package struct BridgedClient: Sendable {
    /// The client core.
    package private(set) var client: CallClient

    /// Creates a client core from the JSON form of its configuration.
    ///
    /// - Parameter text: a JSON object, in UTF-8.
    /// - Throws: ``BridgeFault`` if a member is missing, unknown, malformed or out of range.
    package init(configuration text: [UInt8]) throws(BridgeFault) {
        var members = try MemberReader(text)
        var configuration = CallClient.Configuration(
            user: try members.value("user", "a user id") { UserID($0) },
            device: try members.value("device", "a device id") { DeviceID($0) },
            signalIDPrefix: try members.value("signalIDPrefix", "1 to 40 bytes") { Self.isPrefix($0) ? $0 : nil }
        )
        configuration.displayName = try members.optionalText("displayName")
        configuration.handle = try members.optionalText("handle")
        if let text = try members.optionalText("handleType") {
            guard let type = CallClient.HandleType(rawValue: text) else {
                throw BridgeFault("handleType", "must be generic, phoneNumber or emailAddress")
            }
            configuration.handleType = type
        }
        if let milliseconds = try members.optionalNumber("ringTimeout") {
            guard (5_000...120_000).contains(milliseconds) else {
                throw BridgeFault("ringTimeout", "must be 5000 to 120000")
            }
            configuration.ringTimeout = .milliseconds(milliseconds)
        }
        configuration.clockSkew = try members.optionalNumber("clockSkew").map { .milliseconds($0) }
        if let calls = try members.optionalNumber("maximumCalls") {
            guard (1...16).contains(calls) else { throw BridgeFault("maximumCalls", "must be 1 to 16") }
            configuration.maximumCallGroups = Int(calls)
        }
        configuration.awaitsReports = try members.optionalFlag("awaitsReports") ?? false
        try members.finish()
        client = CallClient(configuration)
    }

    private static func isPrefix(_ text: String) -> Bool { (1...40).contains(text.utf8.count) }

    /// Takes the JSON form of one input and returns the outputs as a JSON array.
    ///
    /// - Parameters:
    ///   - input: a JSON object, in UTF-8.
    ///   - now: the moment at which it happened, by this device's clock.
    /// - Returns: the outputs in UTF-8, in the order in which they must be carried out. Afterwards the core's `deadline` may
    ///   have changed.
    /// - Throws: ``BridgeFault`` if a member is missing, unknown, malformed or out of range; the core has then not changed.
    package mutating func handle(_ input: [UInt8], at now: Moment) throws(BridgeFault) -> [UInt8] {
        let input = try InputReader.input(input)
        let outputs = client.handle(input, at: now)
        return OutputWriter.text(of: outputs, calls: client.calls, isUrgent: input.isUrgent)
    }

    /// The JSON form of the core's state, in UTF-8: its moments, its clock skew and its calls.
    package var state: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        if let deadline = client.deadline { json.member("deadline", deadline.milliseconds) }
        if let at = client.reconnectAt { json.member("reconnectAt", at.milliseconds) }
        if let skew = client.clockSkew { json.member("clockSkew", skew.milliseconds) }
        json.name("calls")
        json.array(client.calls) { call, json in
            json.beginObject()
            json.member("uuid", call.uuid.text)
            json.member("callId", call.callID.text)
            json.member("peer", call.peer.text)
            json.member("side", call.side == .caller ? "caller" : "callee")
            json.member("phase", call.phase.name.rawValue)
            if let epoch = call.epoch { json.member("epoch", epoch) }
            if let reason = call.reason { json.member("reason", reason.rawValue) }
            json.members(of: call.displayedPeer)
            if call.isScheduled {
                json.scheduleMembers(of: call)
                json.member("held", call.media.hold ?? false)
            }
            json.endObject()
        }
        json.endObject()
        return json.bytes
    }
}
