/// SQL text, and the name that errors show for it.
package struct SQL: Hashable, Sendable {
    /// The purpose in a few words: "insert entry".
    package let name: String
    /// The text, with `?1`, `?2` … as parameters.
    package let text: String

    /// Creates SQL with a name.
    package init(_ name: String, _ text: String) {
        self.name = name
        self.text = text
    }
}
