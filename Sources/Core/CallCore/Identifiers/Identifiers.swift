/// A user id, as the app's bearer tokens contain it: 1–128 of the characters `A–Z a–z 0–9 . _ @ : + | # ~ -`.
///
/// All identifiers have this one alphabet, so that a user id, and `<caller>-<callee>`, can be a part of every other one.
public struct UserID: Hashable, Sendable {
    /// The id as text.
    public let text: String
    /// The hash of the text (``TextHash``).
    @usableFromInline let hash: UInt64

    /// Creates a user id; `nil` if `text` does not have the form.
    public init?(_ text: String) {
        guard Alphabet.admits(text) else { return nil }
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
        guard Alphabet.admits(text) else { return nil }
        self.text = text
        hash = TextHash.of(text)
    }
}

/// The callId, chosen by the caller, in the alphabet of ``UserID``.
///
/// A callId that is a UUID is one id in upper and in lower case, because iOS returns every UUID in upper case. Its text
/// is kept as it was written.
public struct CallID: Hashable, Sendable {
    /// The id as text, as it was written.
    public let text: String
    /// The hash of the folded text (``TextHash``).
    @usableFromInline let hash: UInt64

    /// Creates a call id; `nil` if `text` does not have the form.
    public init?(_ text: String) {
        guard Alphabet.admits(text) else { return nil }
        self.text = text
        hash = Self.foldedHash(text) ?? TextHash.of(text)
    }

    /// The text by which the call is found, ordered and named: in lower case if it is a UUID.
    public var folded: String { UUIDv5.isUUID(text) ? text.lowercased() : text }

    /// The text that a store keeps: as it was written, but a UUID with letters of both cases in lower case, so that
    /// ``storedSpellings`` are all there can be.
    public var storedText: String {
        guard UUIDv5.isUUID(text) else { return text }
        let hasCapitals = text.utf8.contains { (0x41...0x46).contains($0) }
        return hasCapitals && text.utf8.contains { (0x61...0x66).contains($0) } ? text.lowercased() : text
    }

    /// The two spellings under which a store may have a callId that is a UUID; `nil` for any other callId.
    public var storedSpellings: (lower: String, upper: String)? {
        UUIDv5.isUUID(text) ? (text.lowercased(), text.uppercased()) : nil
    }

    /// Returns the hash of a UUID; `nil` for any other text.
    static func foldedHash(_ text: String) -> UInt64? {
        UUIDv5.isUUID(text) ? TextHash.of(text.lowercased()) : nil
    }

    /// Returns whether both are the same UUID, written in different cases.
    @usableFromInline
    func isSameUUID(as other: CallID) -> Bool { UUIDv5.isUUID(text) && folded == other.folded }
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
    /// Returns whether both have the same text, or are the same UUID.
    @inlinable @inline(__always)
    public static func == (a: Self, b: Self) -> Bool {
        a.hash == b.hash && (a.text == b.text || a.isSameUUID(as: b))
    }

    /// Adds the id to a hash.
    @inlinable
    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension UserID: Comparable {
    /// Returns whether `a` comes before `b` in byte order.
    public static func < (a: Self, b: Self) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }
}

extension CallID: Comparable {
    /// Returns whether `a` comes before `b` in the byte order of the folded texts, which decides a glare.
    public static func < (a: Self, b: Self) -> Bool { a.folded.utf8.lexicographicallyPrecedes(b.folded.utf8) }
}

/// The characters that an identifier may contain.
///
/// They need no escape in JSON, and no form in which the server stores identifiers uses them as a separator.
enum Alphabet {
    static func admits(_ text: String) -> Bool {
        let bytes = text.utf8
        guard (1...Limits.identifierBytes).contains(bytes.count) else { return false }
        return bytes.allSatisfy { contains($0) }
    }

    static func contains(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "-"): true
        case UInt8(ascii: "@"), UInt8(ascii: "+"), UInt8(ascii: "|"), UInt8(ascii: "#"), UInt8(ascii: "~"): true
        default: false
        }
    }
}
