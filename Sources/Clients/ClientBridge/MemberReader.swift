import JSON

/// Reads the members of one object of the bridge, and reports each member that is missing, malformed or unknown.
struct MemberReader {
    private let object: JSONObject
    /// The numbers of the members that were asked for, as a set with one bit for each number.
    private var known: UInt64 = 0

    /// Every name of the bridge; a name that occurs twice in one object is refused.
    private static let names = MemberNames([
        "in", "uuid", "callId", "to", "hasVideo", "reason", "held", "audio", "video", "digits", "data", "restartsICE",
        "round", "kind", "sdp", "candidate", "frame", "number", "status", "body", "id", "payload",
        "user", "device", "signalIDPrefix", "displayName", "ringTimeout", "clockSkew", "maximumCalls",
        "handle", "handleType", "awaitsReports", "why", "urgent", "chance", "reconnectAfterMs",
    ])

    init(_ text: [UInt8]) throws(BridgeFault) {
        do throws(JSONFault) { object = try JSONObject(text, names: Self.names) } catch {
            switch error {
            case .duplicate(let name): throw BridgeFault(name, "occurs twice")
            case .notAnObject: throw BridgeFault(text: "the text must be a JSON object")
            case .tooDeep: throw BridgeFault(text: "the text is nested deeper than 32 levels")
            case .syntax, .duplicateName, .notUTF8: throw BridgeFault(text: "the text must be valid JSON")
            }
        }
    }

    /// Reports a member that was not asked for: it is misspelled, or belongs to another kind of object.
    func finish() throws(BridgeFault) {
        for member in object.members {
            if let number = member.number, known >> UInt64(number) & 1 == 1 { continue }
            throw BridgeFault(object.name(of: member) ?? "?", "is not a member of this object")
        }
    }

    /// Returns a member, unless it is absent; `null` counts as a value.
    private mutating func member(_ name: String) -> JSONObject.Member? {
        guard let number = Self.names.texts.firstIndex(of: name) else { preconditionFailure("add it to the names") }
        known |= 1 << UInt64(number)
        return object.member(numbered: UInt8(number))
    }

    /// Returns a member, unless it is absent or null.
    private mutating func value(_ name: String) -> JSONObject.Member? {
        guard let member = member(name) else { return nil }
        if case .null = member.kind { return nil }
        return member
    }

    mutating func optionalText(_ name: String) throws(BridgeFault) -> String? {
        guard let member = value(name) else { return nil }
        guard let text = object.string(member) else { throw BridgeFault(name, "must be a string of valid Unicode") }
        return text
    }

    mutating func text(_ name: String) throws(BridgeFault) -> String {
        guard let text = try optionalText(name) else { throw BridgeFault(name, "is missing") }
        return text
    }

    /// Returns a string, or `nil` for `null`; the member must be there.
    mutating func textOrNull(_ name: String) throws(BridgeFault) -> String? {
        guard member(name) != nil else { throw BridgeFault(name, "is missing") }
        return try optionalText(name)
    }

    /// Returns a value that is made of a string, such as an id.
    mutating func value<Value>(
        _ name: String,
        _ what: String,
        _ make: (String) -> Value?
    ) throws(BridgeFault) -> Value {
        guard let value = make(try text(name)) else { throw BridgeFault(name, "must be \(what)") }
        return value
    }

    mutating func optionalFlag(_ name: String) throws(BridgeFault) -> Bool? {
        guard let member = value(name) else { return nil }
        switch member.kind {
        case .true: return true
        case .false: return false
        case .object, .array, .string, .number, .null: throw BridgeFault(name, "must be true or false")
        }
    }

    mutating func flag(_ name: String) throws(BridgeFault) -> Bool {
        guard let flag = try optionalFlag(name) else { throw BridgeFault(name, "is missing") }
        return flag
    }

    mutating func optionalNumber(_ name: String) throws(BridgeFault) -> Int64? {
        guard let member = value(name) else { return nil }
        guard let number = object.signedInteger(member) else { throw BridgeFault(name, "must be a whole number") }
        return number
    }

    /// Returns a whole number that fits into the type, negative only if the type allows it.
    mutating func number<Number: FixedWidthInteger>(_ name: String) throws(BridgeFault) -> Number {
        guard let number = try optionalNumber(name) else { throw BridgeFault(name, "is missing") }
        guard let number = Number(exactly: number) else { throw BridgeFault(name, "is out of range") }
        return number
    }

    /// Returns the inner object, whatever its members are.
    mutating func object(_ name: String) throws(BridgeFault) -> JSONObject {
        guard let member = value(name) else { throw BridgeFault(name, "is missing") }
        guard case .object = member.kind else { throw BridgeFault(name, "must be an object") }
        // The grammar was checked with the whole text; no name can be a duplicate, because none is known.
        guard let inner = try? JSONObject(object.bytes, names: .none, in: member.value) else {
            throw BridgeFault(name, "must be an object")
        }
        return inner
    }
}

extension JSONObject {
    /// Returns a whole number from -2^53 to 2^53 that is written without fraction or exponent.
    func signedInteger(_ member: Member) -> Int64? {
        guard case .number = member.kind else { return nil }
        guard bytes[member.value.lowerBound] == UInt8(ascii: "-") else { return integer(member) }
        var number: Int64 = 0
        for byte in bytes[member.value].dropFirst() {
            guard (0x30...0x39).contains(byte), number <= 1 << 53 else { return nil }
            number = number * 10 + Int64(byte - 0x30)
        }
        return number <= 1 << 53 ? -number : nil
    }
}
