package import Logging
import Threads

/// The server's log: lines of a constant message and typed fields.
///
/// There is no way to log a text of unknown origin by accident. A message is a literal without interpolation. A field
/// is made by a function that names its key and takes a type of its own (``LogField``): an id, a number, a word of the
/// server's own, or a text whose type says where it comes from (``ServerText``, ``OperatorText``, ``UntrustedText``).
/// No field takes a token, a session description, a client's address or a display name.
///
/// A line below the threshold costs one comparison, because a line's fields are built only if the line is written.
///
/// A line that an unauthenticated client or one account can cause again and again is logged by
/// ``limited(level:_:of:linesPerMinute:_:)``.
package struct ServerLog: Sendable {
    /// The lowest level that is logged.
    package let threshold: LogThreshold
    private let logger: Logger
    /// The limit of the lines that unauthenticated clients and accounts cause; all copies of a log share it.
    private let outsiders = Monitor(LineLimit<LimitedLine>())

    /// A kind of line that unauthenticated clients and accounts can cause.
    private struct LimitedLine: Hashable {
        let level: LogLevel
        let message: String
    }

    /// Creates a log that hands its lines to a logger.
    ///
    /// - Parameters:
    ///   - logger: The writer of the lines.
    ///   - threshold: The lowest level that is logged; default every level.
    package init(_ logger: Logger, threshold: LogThreshold = LogThreshold(.trace)) {
        self.logger = logger
        self.threshold = threshold
    }

    /// A log that writes nothing.
    package static var silent: ServerLog {
        ServerLog(Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }, threshold: LogThreshold(.critical))
    }

    /// Whether lines of a level are logged.
    @inlinable
    package func isOn(_ level: LogLevel) -> Bool { threshold.admits(level) }

    /// Logs a line.
    ///
    /// - Parameters:
    ///   - level: The level.
    ///   - message: A constant sentence to search for.
    ///   - fields: The parts that differ, without those that are `nil`; evaluated only if the line is logged.
    @inlinable
    package func log(level: LogLevel, _ message: StaticString, _ fields: @autoclosure () -> [LogField?] = []) {
        guard isOn(level) else { return }
        write(level, message, fields())
    }

    /// Logs a line that an unauthenticated client or an account can cause, within the limits of ``LineLimit``.
    ///
    /// Lines above the limits are counted, and ``writeSums(isLast:)`` logs how many there were.
    ///
    /// - Parameters:
    ///   - level: The level.
    ///   - message: A constant sentence to search for; it has a limit of its own.
    ///   - account: The id of the user or the device that caused the line; `nil` for an unauthenticated client.
    ///   - limit: The number of such lines that the account may cause in a minute.
    ///   - fields: The parts that differ, without those that are `nil`; evaluated only if the line is logged.
    package func limited(
        level: LogLevel,
        _ message: StaticString,
        of account: String?,
        linesPerMinute limit: Int = LineLimit<String>.linesOfAccount,
        _ fields: @autoclosure () -> [LogField?] = []
    ) {
        guard isOn(level) else { return }
        let line = LimitedLine(level: level, message: "\(message)")
        guard outsiders.withLock({ $0.admits(line, of: account, atMost: limit, at: Self.second) }) else { return }
        write(level, message, fields())
    }

    /// Logs how many lines of each sentence were only counted; called once a second.
    ///
    /// - Parameter isLast: Whether the process ends, so that all sums are logged now.
    package func writeSums(isLast: Bool = false) {
        for (line, count) in outsiders.withLock({ $0.takeSums(at: isLast ? nil : Self.second) }) {
            let field = LogField.suppressed(count)
            logger.log(level: line.level.ofLibrary, "\(line.message)", metadata: [field.key.rawValue: field.value])
        }
    }

    /// The number of lines so far that were only counted.
    package var suppressed: UInt64 { outsiders.withLock { $0.suppressed } }

    private static var second: Int64 { SystemClock.boot() / 1_000 }

    /// Logs a line at `trace`; see ``log(level:_:_:)``.
    @inlinable
    package func trace(_ message: StaticString, _ fields: @autoclosure () -> [LogField?] = []) {
        log(level: .trace, message, fields())
    }

    /// Logs a line at `debug`; see ``log(level:_:_:)``.
    @inlinable
    package func debug(_ message: StaticString, _ fields: @autoclosure () -> [LogField?] = []) {
        log(level: .debug, message, fields())
    }

    /// Logs a line at `info`; see ``log(level:_:_:)``.
    @inlinable
    package func info(_ message: StaticString, _ fields: @autoclosure () -> [LogField?] = []) {
        log(level: .info, message, fields())
    }

    /// Logs a line at `notice`; see ``log(level:_:_:)``.
    @inlinable
    package func notice(_ message: StaticString, _ fields: @autoclosure () -> [LogField?] = []) {
        log(level: .notice, message, fields())
    }

    /// Logs a line at `warning`; see ``log(level:_:_:)``.
    @inlinable
    package func warning(_ message: StaticString, _ fields: @autoclosure () -> [LogField?] = []) {
        log(level: .warning, message, fields())
    }

    /// Logs a line at `error`; see ``log(level:_:_:)``.
    @inlinable
    package func error(_ message: StaticString, _ fields: @autoclosure () -> [LogField?] = []) {
        log(level: .error, message, fields())
    }

    /// Logs a warning about the operator's settings or keys; the sentence names the setting.
    package func warning(about settings: OperatorText) {
        guard isOn(.warning) else { return }
        logger.warning("\(settings.text)")
    }

    /// Hands a line to the logger.
    @usableFromInline
    func write(_ level: LogLevel, _ message: StaticString, _ fields: [LogField?]) {
        var metadata = Logger.Metadata(minimumCapacity: fields.count)
        for case let field? in fields { metadata[field.key.rawValue] = field.value }
        logger.log(level: level.ofLibrary, "\(message)", metadata: metadata)
    }
}

extension LogLevel {
    /// The level of the same name in swift-log.
    package var ofLibrary: Logger.Level {
        switch self {
        case .trace: .trace
        case .debug: .debug
        case .info: .info
        case .notice: .notice
        case .warning: .warning
        case .error: .error
        case .critical: .critical
        }
    }
}
