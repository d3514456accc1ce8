/// SQL text, and the name that errors show for it.
public struct SQL: Hashable, Sendable {
    /// The purpose in a few words: "insert entry".
    public let name: String
    /// The text, with `?1`, `?2` … as parameters.
    public let text: String

    /// Creates SQL with a name.
    public init(_ name: String, _ text: String) {
        self.name = name
        self.text = text
    }
}
