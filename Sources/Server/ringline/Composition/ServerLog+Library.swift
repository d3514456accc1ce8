import LibWebSockets
import ServerLog

extension ServerLog {
    /// Logs a line of libwebsockets; unauthenticated clients cause most of them.
    func library(_ level: LibraryLogLevel, _ text: String) {
        limited(
            level: level == .error ? .error : .warning,
            "libwebsockets",
            of: nil,
            [.library(UntrustedText(text))]
        )
    }
}
