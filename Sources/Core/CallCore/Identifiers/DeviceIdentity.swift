/// An 8-byte fingerprint of a verified bearer token (JWT).
///
/// It is the first 8 bytes of SHA-256 of the token's `jti`, or of the whole token if the token has no `jti` (protocol,
/// section 1.3).
public struct TokenFingerprint: Hashable, Sendable {
    /// The eight bytes as a number, most significant byte first.
    public let rawValue: UInt64

    /// Creates the fingerprint of these eight bytes.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A device as a request or a connection identifies it: its id, and the fingerprint of its token.
///
/// A client that names no device is known by its token alone (`t-…`). One token stands for one device, on every
/// transport. A request that names no device therefore belongs to the same device as every other request under the same
/// token.
public struct DeviceIdentity: Hashable, Sendable {
    /// The parts, shared by all copies: each entry of each call's log has one.
    @usableFromInline final class Parts: Sendable {
        @usableFromInline let id: DeviceID
        @usableFromInline let fingerprint: TokenFingerprint
        /// Every signal asks for it.
        @usableFromInline let isUnnamed: Bool

        init(_ id: DeviceID, _ fingerprint: TokenFingerprint, isUnnamed: Bool) {
            self.id = id
            self.fingerprint = fingerprint
            self.isUnnamed = isUnnamed
        }
    }

    @usableFromInline let parts: Parts

    /// The device id, which identifies the device on the wire.
    @inlinable public var id: DeviceID { parts.id }
    /// The fingerprint of the token that the device used last.
    @inlinable public var fingerprint: TokenFingerprint { parts.fingerprint }
    /// Whether the device is known by its token alone.
    @inlinable public var isUnnamed: Bool { parts.isUnnamed }

    /// Creates a device that named itself, or that got the id of its connection.
    public init(id: DeviceID, fingerprint: TokenFingerprint) {
        let isUnnamed = id.text.hasPrefix("t-") && id.text == Self.unnamed(fingerprint)
        parts = Parts(id, fingerprint, isUnnamed: isUnnamed)
    }

    /// Creates the device that a token stands for when the client names no device: the id is `t-` and the fingerprint's
    /// 16 hex digits.
    public init(unnamed fingerprint: TokenFingerprint) {
        // Every such text is a valid device id; the guard is needed only because the initialiser is failable.
        guard let id = DeviceID(Self.unnamed(fingerprint)) else {
            preconditionFailure("a token's device id is of the form")
        }
        parts = Parts(id, fingerprint, isUnnamed: true)
    }

    private static func unnamed(_ fingerprint: TokenFingerprint) -> String {
        let digits = String(fingerprint.rawValue, radix: 16)
        return "t-" + String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Returns whether both have the same id and the same fingerprint.
    @inlinable
    public static func == (a: Self, b: Self) -> Bool {
        a.parts === b.parts || (a.id == b.id && a.fingerprint == b.fingerprint)
    }

    /// Adds the device to a hash.
    @inlinable
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(fingerprint)
    }

    /// Whether the device has only the id that the server gave to its connection (`c-…`).
    public var isOfConnection: Bool { id.text.hasPrefix("c-") }

    /// Returns whether a device id has the form of an id that the server makes for a connection or for a token.
    public static func isMadeByServer(_ id: DeviceID) -> Bool { id.text.hasPrefix("c-") || id.text.hasPrefix("t-") }

    /// Whether the server made the id for a registration without a device id (`d-…`).
    public var isOfUnnamedRegistration: Bool { id.text.hasPrefix("d-") }

    /// Returns whether both are the same device: they have the same id, or one is known by its token alone and both
    /// have that token.
    @inlinable
    public func isSame(as other: DeviceIdentity) -> Bool {
        parts === other.parts || id == other.id || (fingerprint == other.fingerprint && (isUnnamed || other.isUnnamed))
    }
}
