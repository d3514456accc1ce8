/// A user id, as the app's bearer tokens contain it: 1–128 of the characters `A–Z a–z 0–9 . _ @ : + -`.
public struct UserID: Hashable, Sendable {
    /// The id as text.
    public let text: String

    /// Creates a user id; `nil` if `text` does not have the form.
    public init?(_ text: String) {
        guard Alphabet.user.admits(text) else { return nil }
        self.text = text
    }
}

/// The id of a user's device, as the client names the device, in the alphabet of ``UserID``.
///
/// For a client that sends no device id, the server makes an id. That id begins with `t-` if it stands for the client's
/// token (see ``TokenFingerprint``), and with `c-` if it stands for one connection.
public struct DeviceID: Hashable, Sendable {
    /// The id as text.
    public let text: String

    /// Creates a device id; `nil` if `text` does not have the form.
    public init?(_ text: String) {
        guard Alphabet.user.admits(text) else { return nil }
        self.text = text
    }
}

/// The callId, chosen by the caller: 1–128 of the characters `A–Z a–z 0–9 . _ : -`.
public struct CallID: Hashable, Sendable {
    /// The id as text.
    public let text: String

    /// Creates a call id; `nil` if `text` does not have the form.
    public init?(_ text: String) {
        guard Alphabet.call.admits(text) else { return nil }
        self.text = text
    }
}

extension UserID: Comparable {
    /// Returns whether `a` comes before `b` in byte order.
    public static func < (a: Self, b: Self) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }
}

extension CallID: Comparable {
    /// Returns whether `a` comes before `b` in byte order, which decides a glare.
    public static func < (a: Self, b: Self) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }
}

/// The characters that an identifier may contain, as a set over ASCII.
struct Alphabet {
    private let low: UInt64
    private let high: UInt64

    private init(_ others: String) {
        var low: UInt64 = 0
        var high: UInt64 = 0
        for byte in ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + others).utf8 {
            if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
        }
        self.low = low
        self.high = high
    }

    /// The alphabet of user ids and device ids.
    static let user = Alphabet("._@:+-")
    /// The alphabet of call ids.
    static let call = Alphabet("._:-")

    func admits(_ text: String) -> Bool {
        let bytes = text.utf8
        guard (1...Limits.identifierBytes).contains(bytes.count) else { return false }
        return bytes.allSatisfy { contains($0) }
    }

    func admits(_ text: ArraySlice<UInt8>) -> Bool {
        let bytes = text.span
        guard (1...Limits.identifierBytes).contains(bytes.count) else { return false }
        for index in bytes.indices where !contains(bytes[index]) { return false }
        return true
    }

    @inline(__always)
    private func contains(_ byte: UInt8) -> Bool {
        byte < 64 ? low &>> UInt64(byte) & 1 == 1 : byte < 128 && high &>> UInt64(byte & 63) & 1 == 1
    }
}
