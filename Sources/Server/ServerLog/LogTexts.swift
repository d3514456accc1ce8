import CallCore

/// A text that the server's own sources contain: a sentence, or a word of the protocol.
///
/// It never contains text from outside.
package struct ServerText: Equatable, Sendable {
    let text: String

    /// Creates a text from words that the server's sources contain.
    package init(_ words: String) { text = words }

    /// Creates a text from a value of one of the server's own enumerations.
    package init(_ word: some RawRepresentable<String>) { text = word.rawValue }
}

/// A text that the operator wrote into the settings, such as a path or a URL, or a sentence that names such a setting.
package struct OperatorText: Equatable, Sendable {
    let text: String

    /// Creates a text from the operator's words.
    package init(_ text: String) { self.text = text }
}

/// A text that somebody else wrote: a library's error, a push service's reason, a claim of a token.
///
/// The text is first cut to ``limit`` bytes. Then everything in it that looks like a token, a secret or an address is
/// replaced by a word in brackets; a text that contains a part of a session description or a candidate is replaced as a
/// whole. Control characters are escaped.
package struct UntrustedText: Equatable, Sendable, CustomStringConvertible {
    /// The text without everything that must not be logged.
    package let description: String

    /// The largest number of bytes that are kept of a text.
    package static let limit = 400

    /// Creates the redacted form of a text.
    package init(_ text: String) {
        description = Redaction.redact(text).printable
    }
}

/// The path of a request as the log shows it: the words of the server's own paths, and `*` for everything else.
///
/// An id in a path may be any text, and people paste tokens into URLs.
package struct RequestPath: Equatable, Sendable, CustomStringConvertible {
    /// The path, such as `/api/calls/*/timeline`.
    package let description: String

    private static let words: Set<Substring> = [
        "api", "calls", "signal", "timeline", "me", "devices", "dnd", "blocks", "turn-cred", "web-push", "logout-all",
        "users", "directory", "ws",
        "socket.io", "healthz", "readyz", "metrics",
    ]
    private static let maximumParts = 8

    /// Creates the shown form of a path.
    package init(_ path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().prefix(Self.maximumParts)
        description = parts.map { $0.isEmpty || Self.words.contains($0) ? "/\($0)" : "/*" }.joined()
    }
}

/// The beginning of a push token: enough to distinguish push tokens in the log, and not enough to send a push.
package struct PushTokenStart: Equatable, Sendable, CustomStringConvertible {
    /// The first six digits, and `…`.
    package let description: String

    /// Creates the shown form of a push token.
    package init(_ token: String) { description = "\(token.prefix(6))…" }
}
