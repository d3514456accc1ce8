/// A user id, as the app's bearer tokens contain it: 1–128 of the characters `A–Z a–z 0–9 . _ @ : + -`.
public struct UserID: Hashable, Sendable {
    /// The id as text.
    public let text: String
    /// The hash of the text (``TextHash``).
    @usableFromInline let hash: UInt64

    /// Creates a user id; `nil` if `text` does not have the form.
    public init?(_ text: String) {
        guard Alphabet.user.admits(text) else { return nil }
        self.text = text
        hash = TextHash.of(text)
    }
}

/// The id of a user's device, as the client names the device, in the alphabet of ``UserID``.
///
/// For a client that sends no device id, the server makes an id. That id begins with `t-` if it stands for the client's
/// token (see ``TokenFingerprint``), and with `c-` if it stands for one connection.
public struct DeviceID: Hashable, Sendable {
    /// The id as text.
    public let text: String
    /// The hash of the text (``TextHash``).
    @usableFromInline let hash: UInt64

    /// Creates a device id; `nil` if `text` does not have the form.
    public init?(_ text: String) {
        guard Alphabet.user.admits(text) else { return nil }
        self.text = text
        hash = TextHash.of(text)
    }
}

/// The callId, chosen by the caller: 1–128 of the characters `A–Z a–z 0–9 . _ : -`.
public struct CallID: Hashable, Sendable {
    /// The id as text.
    public let text: String
    /// The hash of the text (``TextHash``).
    @usableFromInline let hash: UInt64

    /// Creates a call id; `nil` if `text` does not have the form.
    public init?(_ text: String) {
        guard Alphabet.call.admits(text) else { return nil }
        self.text = text
        hash = TextHash.of(text)
    }
}

// Two ids with different hashes are different, so that their texts are rarely compared.

extension UserID {
    /// Returns whether both have the same text.
    @inlinable
    public static func == (a: Self, b: Self) -> Bool { a.hash == b.hash && a.text == b.text }

    /// Adds the id to a hash.
    @inlinable
    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension DeviceID {
    /// Returns whether both have the same text.
    @inlinable
    public static func == (a: Self, b: Self) -> Bool { a.hash == b.hash && a.text == b.text }

    /// Adds the id to a hash.
    @inlinable
    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension CallID {
    /// Returns whether both have the same text.
    @inlinable
    public static func == (a: Self, b: Self) -> Bool { a.hash == b.hash && a.text == b.text }

    /// Adds the id to a hash.
    @inlinable
    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension UserID: Comparable {
    /// Returns whether `a` comes before `b` in byte order.
    public static func < (a: Self, b: Self) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }
}

extension CallID: Comparable {
    /// Returns whether `a` comes before `b` in byte order, which decides a glare.
    public static func < (a: Self, b: Self) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }
}

/// The characters that an identifier may contain.
struct Alphabet {
    /// Whether it is the alphabet of user ids and device ids, which has `@` and `+` in addition.
    let isUsers: Bool

    /// The alphabet of user ids and device ids.
    static let user = Alphabet(isUsers: true)
    /// The alphabet of call ids.
    static let call = Alphabet(isUsers: false)

    func admits(_ text: String) -> Bool {
        let bytes = text.utf8
        guard (1...Limits.identifierBytes).contains(bytes.count) else { return false }
        return bytes.allSatisfy { contains($0) }
    }

    private func contains(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "-"): true
        case UInt8(ascii: "@"), UInt8(ascii: "+"): isUsers
        default: false
        }
    }
}
