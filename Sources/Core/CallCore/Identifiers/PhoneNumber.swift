/// A phone number in its normal form: 1 to 18 digits, the country code first, without a leading zero.
///
/// Two spellings of a number, such as `+82 10-1234-5678` and `821012345678`, have one normal form. A number without a
/// country code cannot be told from another country's number; who stores it must know that it is complete.
public struct PhoneNumber: Hashable, Sendable {
    /// The digits as a number, from 1 to ``maximum``.
    public let rawValue: Int64

    /// The largest number: 18 digits.
    public static let maximum: Int64 = 999_999_999_999_999_999

    /// Creates the number with these digits; `nil` outside 1 to ``maximum``.
    @inlinable
    public init?(rawValue: Int64) {
        guard rawValue >= 1, rawValue <= Self.maximum else { return nil }
        self.rawValue = rawValue
    }

    /// Reads the normal form: digits only; `nil` if the bytes are not of the form.
    @inlinable
    public init?(digits: some Sequence<UInt8>) {
        var value: Int64 = 0
        var count = 0
        for byte in digits {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9"), count < 18 else { return nil }
            value = value * 10 + Int64(byte - UInt8(ascii: "0"))
            // A leading zero would give one number two forms.
            guard value > 0 else { return nil }
            count += 1
        }
        self.init(rawValue: value)
    }

    /// Reads a number as people, and the address books of phones, write it; `nil` if its normal form is not 1 to 18 digits
    /// without a leading zero.
    ///
    /// Digits of every script count. A leading `+` or `00` or `tel:` is left out, and so are blanks, hyphens, dots,
    /// slashes, brackets and invisible characters anywhere; and so are a `(0)` behind the country code, an extension, and
    /// the parameters of a URI. See ``WrittenNumber``.
    public init?(normalizing text: String) {
        guard let written = WrittenNumber(text) else { return nil }
        self.init(digits: written.digits)
    }

    /// The normal form as text.
    public var text: String { String(rawValue) }
}

extension PhoneNumber: Comparable {
    /// Returns whether `a` comes before `b` as a number.
    @inlinable
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}
