public import CallCore
public import JSON

/// The protocol's fields, each read and checked in one place. An absent field and a null one both give `nil`.
extension JSONObject {
    /// Returns the `id` that a device gave its message.
    public func signalID() throws(WireError) -> SignalID? {
        guard let member = self[.id] else { return nil }
        if let part = plainText(member), let id = SignalID(plain: bytes, part) { return id }
        guard let text = try text(.id) else { return nil }
        guard let id = SignalID(text) else {
            throw .invalid(.id, "must be a string of 1 to \(CallCore.Limits.signalIDBytes) bytes")
        }
        return id
    }

    /// Returns the callId.
    public func callID() throws(WireError) -> CallID? {
        guard let member = self[.callId] else { return nil }
        if let part = plainText(member), let id = CallID(bytes, part) { return id }
        guard let text = try text(.callId) else { return nil }
        guard let id = CallID(text) else {
            throw .invalid(.callId, "must be \(CallCore.Limits.identifierForm)")
        }
        return id
    }

    /// Returns a user id, written as a string or as an integer from 0 to ``WireLimits/largestNumber``.
    public func user(_ field: Field) throws(WireError) -> UserID? {
        guard let member = self[field] else { return nil }
        if let part = plainText(member), let user = UserID(bytes, part) { return user }
        if let number = integer(member), number <= WireLimits.largestNumber, let user = UserID(String(number)) {
            return user
        }
        if let text = string(member), let user = UserID(text) { return user }
        if member.kind == .number, bytes[member.value].allSatisfy({ (0x30...0x39).contains($0) }) {
            throw .invalid(
                field,
                "must be a string if it is above \(WireLimits.largestNumber), because JavaScript rounds larger numbers"
            )
        }
        throw .invalid(field, "must be a user id: \(CallCore.Limits.identifierForm)")
    }

    /// Returns a device id.
    public func device(_ field: Field) throws(WireError) -> DeviceID? {
        guard let member = self[field] else { return nil }
        if let part = plainText(member), let device = DeviceID(bytes, part) { return device }
        guard let text = try text(field) else { return nil }
        guard let device = DeviceID(text) else {
            throw .invalid(field, "must be a device id: \(CallCore.Limits.identifierForm)")
        }
        return device
    }

    /// Returns the epoch: the number, from 1, that tells apart the calls with the same callId and peer.
    public func epoch() throws(WireError) -> UInt32? {
        guard let member = self[.epoch] else { return nil }
        guard let number = integer(member), let epoch = UInt32(exactly: number), epoch > 0 else {
            throw .invalid(.epoch, "must be a whole number from 1")
        }
        return epoch
    }

    /// Returns the member of a name that is no ``Field``; `nil` if it is absent or null.
    ///
    /// - Throws: `WireError` if the name occurs twice, in whatever spelling.
    func unique(_ name: String) throws(WireError) -> Member? {
        let found = members.filter { self.name(of: $0) == name }
        guard found.count <= 1 else { throw .json(.duplicate(name)) }
        guard let member = found.first else { return nil }
        if case .null = member.kind { return nil }
        return member
    }

    /// Returns a string.
    public func text(_ field: Field) throws(WireError) -> String? {
        guard let member = self[field] else { return nil }
        guard let text = string(member) else { throw .invalid(field, "must be a string of valid Unicode") }
        return text
    }

    /// Returns a boolean.
    public func flag(_ field: Field) throws(WireError) -> Bool? {
        guard let member = self[field] else { return nil }
        switch member.kind {
        case .true: return true
        case .false: return false
        case .object, .array, .string, .number, .null: throw .invalid(field, "must be true or false")
        }
    }

    /// Returns a whole number of seconds.
    public func seconds(_ field: Field, in range: ClosedRange<Int64>) throws(WireError) -> Int64? {
        guard let member = self[field] else { return nil }
        guard let number = integer(member), range.contains(number) else {
            throw .invalid(field, "must be a whole number of seconds from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
