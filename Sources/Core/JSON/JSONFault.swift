/// The reason why a text cannot be read.
///
/// A fault contains nothing of the text, which may be a secret, except a name of the reader's own ``MemberNames``.
public enum JSONFault: Error, Equatable, Sendable {
    /// The text breaks the grammar, or a string that must be decoded contains a lone surrogate.
    case syntax
    /// The text is JSON, but not an object.
    case notAnObject
    /// The text is nested deeper than ``JSONLimits/depth``.
    case tooDeep
    /// A name of the reader's ``MemberNames`` occurs twice.
    case duplicate(String)
    /// A name occurs twice in one object; only ``JSONValue`` checks every name.
    case duplicateName
    /// The text is not UTF-8.
    case notUTF8
}

/// The limits that hold for every JSON text.
public enum JSONLimits {
    /// The maximum nesting depth: at most 32 arrays and objects are open at any place of a text.
    ///
    /// The limit bounds the recursion, so that no text exhausts a thread's stack, in the server or in a client.
    public static let depth = 32
}
