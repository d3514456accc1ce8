/// The id of a schedule of a user's calls, in the alphabet of ``UserID``.
///
/// The client chooses it, or the server makes a UUID.
public struct ScheduleID: Hashable, Comparable, Sendable {
    /// The id as text, at most 64 characters.
    public let text: String

    /// Creates a schedule id; `nil` if `text` does not have the form.
    public init?(_ text: String) {
        guard text.utf8.count <= 64, Alphabet.admits(text) else { return nil }
        self.text = text
    }

    /// Returns whether `a` comes before `b` in byte order.
    public static func < (a: Self, b: Self) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }
}
