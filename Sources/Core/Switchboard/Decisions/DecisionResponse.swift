import CallCore
import CallPorts
import CallWire
import JSON

/// The response of the app's backend to a question (protocol, section 14).
enum DecisionResponse: Equatable {
    /// The call begins.
    case allowed(Changes)
    /// The call is hidden from its callee, and its caller is not told.
    case hidden(code: String?)
    /// The offer is refused.
    case refused(code: String?, message: String?)

    /// What the backend changes of a call; `nil` = it stays as the offer says.
    struct Changes: Equatable {
        /// The caller's displayed name.
        var displayName: String?
        /// The caller's handle, such as a phone number.
        var handle: String?
        /// The kind of the handle.
        var handleType: IncomingCallPayload.HandleType?
        /// The longest time for which the callee is rung.
        var ringTimeout: Moment.Duration?

        /// Whether the call stays as the offer says.
        var isEmpty: Bool { self == Self() }
    }

    /// Why a response is none that the protocol knows.
    struct Fault: Error, Equatable {
        /// The fault, without content of the response.
        let why: String
        /// Whether the response refuses the call all the same: what is wrong is only how.
        var isRefusal = false

        init(_ why: String) { self.why = why }
    }

    /// The limits of a response.
    private enum Limits {
        static let codeBytes = 64
        static let messageCharacters = 256
    }

    private static let names = MemberNames([
        "allow", "show", "code", "message", "displayName", "handle", "handleType", "ringTimeout", "to",
    ])

    /// Reads the body of a response; `unknown` receives the names of the members that the protocol does not know.
    static func read(_ body: [UInt8], unknown: inout [String]) throws(Fault) -> Self {
        guard body.count <= DecisionRequest.responseBytes else {
            throw Fault("must have at most \(DecisionRequest.responseBytes) bytes")
        }
        guard JSONText.isUTF8(body) else { throw Fault("must be UTF-8") }
        let object: JSONObject
        do throws(JSONFault) { object = try JSONObject(body, names: names) } catch {
            throw Fault(WireError.json(error).message)
        }
        if object.hasUnnumberedMember {
            unknown = object.members.compactMap { $0.number == nil ? object.name(of: $0) : nil }
        }
        guard let isAllowed = try object.flag(of: "allow") else { throw Fault("allow: missing") }
        do throws(Fault) {
            // It will have a meaning once a decision can ring others than the callee.
            guard object.present("to") == nil else { throw Fault("to: has no meaning yet") }
            return isAllowed ? .allowed(try changes(object)) : try refusal(object)
        } catch {
            var fault = error
            fault.isRefusal = !isAllowed
            throw fault
        }
    }

    private static func changes(_ object: JSONObject) throws(Fault) -> Changes {
        var changes = Changes()
        changes.displayName = try object.text(of: "displayName")?.shown(upTo: WireLimits.displayNameCharacters)
        if let handle = try object.text(of: "handle") {
            guard (1...WireLimits.handleBytes).contains(handle.utf8.count), let shown = handle.shown() else {
                throw Fault("handle: must be a visible text of 1 to \(WireLimits.handleBytes) bytes")
            }
            changes.handle = shown
        }
        if let type = try object.text(of: "handleType") {
            guard let known = IncomingCallPayload.HandleType(rawValue: type) else {
                throw Fault("handleType: must be generic, phoneNumber or emailAddress")
            }
            guard changes.handle != nil else { throw Fault("handleType: comes only with handle") }
            changes.handleType = known
        }
        if let member = object.present("ringTimeout") {
            let range = WireLimits.ringSeconds
            guard let seconds = object.integer(member), range.contains(seconds) else {
                throw Fault("ringTimeout: must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            changes.ringTimeout = .seconds(seconds)
        }
        return changes
    }

    private static func refusal(_ object: JSONObject) throws(Fault) -> Self {
        let code = try object.text(of: "code")
        if let code, !isWord(code) {
            throw Fault("code: must be 1 to \(Limits.codeBytes) characters of a-z A-Z 0-9 _ . and -")
        }
        let message = try object.text(of: "message")?.shown(upTo: Limits.messageCharacters)
        switch try object.text(of: "show") ?? "refused" {
        case "refused": return .refused(code: code, message: message)
        case "nothing": return .hidden(code: code)
        default: throw Fault("show: must be refused or nothing")
        }
    }

    private static func isWord(_ text: String) -> Bool {
        (1...Limits.codeBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}

extension JSONObject {
    /// Returns a member that is neither absent nor null.
    fileprivate func present(_ name: String) -> Member? {
        guard let member = member(named: name) else { return nil }
        if case .null = member.kind { return nil }
        return member
    }

    fileprivate func text(of name: String) throws(DecisionResponse.Fault) -> String? {
        guard let member = present(name) else { return nil }
        guard let text = string(member) else { throw DecisionResponse.Fault("\(name): must be a string") }
        return text
    }

    fileprivate func flag(of name: String) throws(DecisionResponse.Fault) -> Bool? {
        guard let member = present(name) else { return nil }
        switch member.kind {
        case .true: return true
        case .false: return false
        case .object, .array, .string, .number, .null: throw DecisionResponse.Fault("\(name): must be true or false")
        }
    }
}
