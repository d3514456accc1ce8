import PlainText

/// Words of the server's own: a sentence, or a word of the protocol.
///
/// They are never text from outside.
public struct ServerText: Equatable, Sendable {
    let text: String

    /// Words that the server's sources contain.
    public init(_ words: String) { text = words }

    /// A word of one of the server's own enumerations.
    public init(_ word: some RawRepresentable<String>) { text = word.rawValue }
}

/// A text that the operator wrote into the settings, or that names them: a path, an address of the operator's own.
public struct OperatorText: Equatable, Sendable {
    let text: String

    /// A text of the operator's.
    public init(_ text: String) { self.text = text }
}

/// A text that somebody else wrote: a library's error, a push service's reason, a claim of a token.
///
/// Whatever looks like a token, a secret, an address or a description is replaced by a word in brackets. What is left
/// is cut to ``limit`` bytes, and control characters are escaped.
public struct ForeignText: Equatable, Sendable, CustomStringConvertible {
    /// The text without everything that must not be logged.
    public let description: String

    /// The number of bytes of a text that are read.
    public static let limit = 400

    /// Creates the redacted form of a text.
    public init(_ text: String) {
        description = Redaction.redact(text).printable
    }
}

/// The path of a request as the log shows it: the words of the server's own paths, and `*` for everything else.
///
/// An id in a path may be anything, and people paste tokens into addresses.
public struct RequestPath: Equatable, Sendable, CustomStringConvertible {
    /// The path, such as `/api/calls/*/timeline`.
    public let description: String

    private static let words: Set<Substring> = [
        "api", "calls", "signal", "timeline", "me", "devices", "dnd", "blocks", "turn-cred", "logout-all", "ws",
        "socket.io", "healthz", "readyz", "metrics",
    ]
    private static let maximumParts = 8

    /// Creates the shown form of a path.
    public init(_ path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().prefix(Self.maximumParts)
        description = parts.map { $0.isEmpty || Self.words.contains($0) ? "/\($0)" : "/*" }.joined()
    }
}

/// The beginning of a push token: enough to tell a device's tokens apart, and not enough to push to it.
public struct PushTokenStart: Equatable, Sendable, CustomStringConvertible {
    /// The first six digits, and `…`.
    public let description: String

    /// Creates the shown form of a push token.
    public init(_ token: String) { description = "\(token.prefix(6))…" }
}
