public import CallCore

/// What the system (CallKit) knows a call by on this device: a UUID in lower case.
public struct CallUUID: Hashable, Sendable {
    /// Its 36 characters.
    public let text: String

    /// A UUID from its text in either case, or `nil` when it has not the form of one.
    public init?(_ text: String) {
        guard UUIDv5.isUUID(text) else { return nil }
        self.text = text.lowercased()
    }

    /// The UUID under which both ends and every push know a call (protocol, section 9).
    public init(call: CallID, epoch: UInt32) { text = UUIDv5.call(call, epoch: epoch) }

    /// A UUID made of a name that is used once.
    init(name: String) { text = UUIDv5.url(name) }
}

/// Numbers one request for a call's log, so that its answer is known when it comes.
public struct FetchNumber: Hashable, Sendable {
    /// The number, from 1, in the life of one client core.
    public let rawValue: UInt64

    /// The request with this number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}
