public import CallCore

/// The UUID, in lower case, by which the system (CallKit) identifies a call on this device.
public struct CallUUID: Hashable, Sendable {
    /// The 36 characters of the UUID.
    public let text: String

    /// Creates a UUID from text in upper or lower case; `nil` when the text does not have the form of a UUID.
    public init?(_ text: String) {
        guard UUIDv5.isUUID(text) else { return nil }
        self.text = text.lowercased()
    }

    /// Creates the UUID under which both devices and every push know a call (protocol, section 3.4).
    public init(call: CallID, epoch: UInt32) { text = UUIDv5.call(call, epoch: epoch) }

    /// Creates the UUID (version 5) of a name; pass a different name each time.
    init(name: String) { text = UUIDv5.url(name) }
}

/// The number of one request for a call's log, by which the core recognises the response.
public struct FetchNumber: Hashable, Sendable {
    /// The number; the requests of one client core are numbered from 1.
    public let rawValue: UInt64

    /// Creates the number of a request.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}
