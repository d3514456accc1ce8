/// SQL text and the name under which it shows in errors.
public struct SQL: Hashable, Sendable {
    /// What it does, in a few words: "insert entry".
    public let name: String
    /// The text, with `?1`, `?2` … for values.
    public let text: String

    /// The text under a name.
    public init(_ name: String, _ text: String) {
        self.name = name
        self.text = text
    }
}
