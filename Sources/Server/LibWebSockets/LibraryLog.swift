internal import CLibwebsockets
internal import CallCore
internal import Threads

/// The destination of libwebsockets' log lines.
///
/// The library has one log for the whole process; the server that was created last receives its lines.
enum LibraryLog {
    /// The largest number of lines that are held back; of these, the first are kept.
    private static let mostHeld = 20

    typealias Sink = @Sendable (LibraryLogLevel, String) -> Void

    private struct State {
        var sink: Sink?
        var lastError = ""
        /// The lines that are held back until it is known whether they matter; nil while lines are not held.
        var held: [(LibraryLogLevel, String)]?
    }

    private static let state = Monitor(State())

    static func setSink(_ sink: Sink?) {
        state.withLock { $0.sink = sink }
        attach()
    }

    /// Directs the library's log here and leaves the sink as it is.
    static func attach() {
        lws_set_log_level(Int32(LLL_ERR | LLL_WARN), clwsLogLine)
    }

    /// Returns the last error line and forgets it: the reason for a NULL from `lws_create_context`.
    static func takeLastError() -> String {
        state.withLock { state in
            defer { state.lastError = "" }
            return state.lastError
        }
    }

    /// Holds lines back until ``release(toSink:)``.
    static func hold() { state.withLock { $0.held = [] } }

    /// Stops holding lines: passes the held ones to the sink, or drops them.
    ///
    /// - Parameter toSink: Whether the held lines go to the sink.
    /// - Returns: The first error among the held lines; empty if there is no error.
    @discardableResult
    static func release(toSink: Bool) -> String {
        let (held, sink) = state.withLock { state in
            defer { state.held = nil }
            return (state.held ?? [], state.sink)
        }
        if toSink { for (level, text) in held { sink?(level, text) } }
        return held.first { $0.0 == .error }?.1 ?? ""
    }

    static func lineLogged(_ level: Int32, _ line: UnsafePointer<CChar>) {
        let text = escaped(line)
        let grave = level == Int32(LLL_ERR)
        let sink = state.withLock { state -> Sink? in
            if grave { state.lastError = text }
            guard let count = state.held?.count else { return state.sink }
            if count < mostHeld { state.held?.append((grave ? .error : .warning, text)) }
            return nil
        }
        sink?(grave ? .error : .warning, text)
    }

    /// Returns a line without its line break and with control characters escaped, because the line may contain bytes
    /// from a peer.
    private static func escaped(_ line: UnsafePointer<CChar>) -> String {
        let scalars = String(cString: line).unicodeScalars.prefix(500).filter { $0 != "\n" }
        return String(String.UnicodeScalarView(scalars)).printable
    }
}

@c
func clwsLogLine(_ level: Int32, _ line: UnsafePointer<CChar>?) {
    guard let line else { return }
    LibraryLog.lineLogged(level, line)
}
