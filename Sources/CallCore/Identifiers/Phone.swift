/// What is left of a token once it was checked: eight bytes that tell one token from another.
///
/// The first 8 bytes of SHA-256 of the token's `jti`, else of the token (protocol, section 9).
public struct TokenMark: Hashable, Sendable {
    /// The eight bytes, most significant first.
    public let rawValue: UInt64

    /// The mark of these eight bytes.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A device as it shows itself in a request or on a socket: its id, and the token it came with.
///
/// A client that names no device is known by its token alone (`t-…`): one token is one phone, whichever way it comes in.
/// So a request that names no device is of the same phone as whichever device acted under the same token.
public struct Phone: Hashable, Sendable {
    /// Its id, by which it is named on the wire.
    public let id: DeviceID
    /// The token under which it acted last.
    public let mark: TokenMark

    /// A phone that named itself, or got a name for its connection.
    public init(id: DeviceID, mark: TokenMark) {
        self.id = id
        self.mark = mark
    }

    /// The phone that a token stands for when the client names none: `t-` and the mark's 16 hex digits.
    public init(unnamed mark: TokenMark) {
        let digits = String(mark.rawValue, radix: 16)
        let text = "t-" + String(repeating: "0", count: 16 - digits.count) + digits
        // The form admits every such text: the guard is for the compiler.
        guard let id = DeviceID(text) else { preconditionFailure("a token's device id is of the form") }
        self.init(id: id, mark: mark)
    }

    /// Whether its token is all that is known of it.
    public var isUnnamed: Bool { id.text.hasPrefix("t-") && self.id == Phone(unnamed: mark).id }

    /// Whether it has only the name that its connection was given.
    public var isOfConnection: Bool { id.text.hasPrefix("c-") }

    /// Whether a device id of this form is the server's, made for a connection or a token without a device.
    public static func isMadeByServer(_ id: DeviceID) -> Bool { id.text.hasPrefix("c-") || id.text.hasPrefix("t-") }

    /// Whether it is a registration that came without a device id.
    public var isOfUnnamedRow: Bool { id.text.hasPrefix("d-") }

    /// Whether both are one and the same phone.
    public func isSame(as other: Phone) -> Bool {
        id == other.id || (mark == other.mark && (isUnnamed || other.isUnnamed))
    }
}
