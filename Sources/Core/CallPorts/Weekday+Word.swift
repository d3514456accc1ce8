package import TimeZones

extension Weekday {
    /// The word for the day in the protocol and in databases: `mon` to `sun`.
    package var word: String { Self.words[rawValue - 1] }

    /// The day of a word; `nil` for any other text.
    package init?(word: String) {
        guard let index = Self.words.firstIndex(of: word) else { return nil }
        self.init(rawValue: index + 1)
    }

    private static let words = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
}
