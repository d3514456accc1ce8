/// The text of a statement, and its name.
package struct SQL: Hashable, Sendable {
    /// The purpose of the statement in a few words, such as "insert entries"; errors contain it.
    ///
    /// A connection prepares the statement under this name, so no other statement of the same connection may have it.
    package let name: String
    /// The text, with `$1`, `$2` … as parameters.
    package let text: String

    /// Creates a statement with a name and a text.
    ///
    /// Only `Connection.execute(_:)` takes a text of several statements, separated by semicolons.
    package init(_ name: String, _ text: String) {
        self.name = name
        self.text = text
    }
}
