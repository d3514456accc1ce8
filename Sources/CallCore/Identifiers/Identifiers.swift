/// A user of the app, as its tokens name them: 1–128 of `A–Z a–z 0–9 . _ @ : + -`.
public struct UserID: Hashable, Sendable {
    /// The name itself.
    public let text: String

    /// A user id, or `nil` when `text` is not of the form.
    public init?(_ text: String) {
        guard Alphabet.user.admits(text) else { return nil }
        self.text = text
    }
}

/// A device of a user, as the client names it, in the alphabet of ``UserID``.
///
/// One that no client named begins with `t-` (one token, one phone; see ``TokenMark``) or `c-` (one connection).
public struct DeviceID: Hashable, Sendable {
    /// The name itself.
    public let text: String

    /// A device id, or `nil` when `text` is not of the form.
    public init?(_ text: String) {
        guard Alphabet.user.admits(text) else { return nil }
        self.text = text
    }
}

/// A call's name, chosen by the caller: 1–128 of `A–Z a–z 0–9 . _ : -`.
public struct CallID: Hashable, Sendable {
    /// The name itself.
    public let text: String

    /// A call id, or `nil` when `text` is not of the form.
    public init?(_ text: String) {
        guard Alphabet.call.admits(text) else { return nil }
        self.text = text
    }
}

extension UserID: Comparable {
    /// The order of the bytes.
    public static func < (a: Self, b: Self) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }
}

extension CallID: Comparable {
    /// The order of the bytes, which decides a glare.
    public static func < (a: Self, b: Self) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }
}

/// The characters an identifier may have, as a set over ASCII.
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

    /// Of user and device ids.
    static let user = Alphabet("._@:+-")
    /// Of call ids.
    static let call = Alphabet("._:-")

    func admits(_ text: String) -> Bool {
        let bytes = text.utf8
        guard (1...Limits.identifierBytes).contains(bytes.count) else { return false }
        return bytes.allSatisfy { byte in
            byte < 64 ? low >> UInt64(byte) & 1 == 1 : byte < 128 && high >> UInt64(byte - 64) & 1 == 1
        }
    }
}
