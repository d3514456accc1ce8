public import Logging

/// The server's log: lines of a constant message and typed fields.
///
/// There is no way to log a text of unknown origin by accident. A message is a literal without interpolation. A field
/// is made by a function that names its key and takes a type of its own (``LogField``): an id, a number, a word of the
/// server's own, or a text whose type says where it comes from (``ServerText``, ``OperatorText``, ``UntrustedText``).
/// No field takes a token, a session description, a client's address or a display name.
///
/// A line below the threshold costs one comparison, because a line's fields are built only if the line is written.
public struct ServerLog: Sendable {
    /// The lowest level that is logged.
    public let threshold: LogThreshold
    private let logger: Logger

    /// Creates a log that hands its lines to a logger.
    ///
    /// - Parameters:
    ///   - logger: The writer of the lines.
    ///   - threshold: The lowest level that is logged; default every level.
    public init(_ logger: Logger, threshold: LogThreshold = LogThreshold(.trace)) {
        self.logger = logger
        self.threshold = threshold
    }

    /// A log that writes nothing.
    public static var silent: ServerLog {
        ServerLog(Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }, threshold: LogThreshold(.critical))
    }

    /// Whether lines of a level are logged.
    @inlinable
    public func isOn(_ level: LogLevel) -> Bool { threshold.admits(level) }

    /// Logs a line.
    ///
    /// - Parameters:
    ///   - level: The level.
    ///   - message: A constant sentence to search for.
    ///   - fields: The parts that differ, without those that are `nil`; evaluated only if the line is logged.
    @inlinable
    public func log(level: LogLevel, _ message: StaticString, _ fields: @autoclosure () -> [LogField?] = []) {
        guard isOn(level) else { return }
        write(level, message, fields())
    }

    /// Logs a line at `trace`; see ``log(level:_:_:)``.
    @inlinable
    public func trace(_ message: StaticString, _ fields: @autoclosure () -> [LogField?] = []) {
        log(level: .trace, message, fields())
    }

    /// Logs a line at `debug`; see ``log(level:_:_:)``.
    @inlinable
    public func debug(_ message: StaticString, _ fields: @autoclosure () -> [LogField?] = []) {
        log(level: .debug, message, fields())
    }

    /// Logs a line at `info`; see ``log(level:_:_:)``.
    @inlinable
    public func info(_ message: StaticString, _ fields: @autoclosure () -> [LogField?] = []) {
        log(level: .info, message, fields())
    }

    /// Logs a line at `notice`; see ``log(level:_:_:)``.
    @inlinable
    public func notice(_ message: StaticString, _ fields: @autoclosure () -> [LogField?] = []) {
        log(level: .notice, message, fields())
    }

    /// Logs a line at `warning`; see ``log(level:_:_:)``.
    @inlinable
    public func warning(_ message: StaticString, _ fields: @autoclosure () -> [LogField?] = []) {
        log(level: .warning, message, fields())
    }

    /// Logs a line at `error`; see ``log(level:_:_:)``.
    @inlinable
    public func error(_ message: StaticString, _ fields: @autoclosure () -> [LogField?] = []) {
        log(level: .error, message, fields())
    }

    /// Logs a warning about the operator's settings or keys; the sentence names the setting.
    public func warning(about settings: OperatorText) {
        guard isOn(.warning) else { return }
        logger.warning("\(settings.text)")
    }

    /// Hands a line to the logger.
    @usableFromInline
    func write(_ level: LogLevel, _ message: StaticString, _ fields: [LogField?]) {
        var metadata = Logger.Metadata(minimumCapacity: fields.count)
        for case let field? in fields { metadata[field.key.rawValue] = .string(field.text) }
        logger.log(level: level.ofLibrary, "\(message)", metadata: metadata)
    }
}

extension LogLevel {
    /// The level of the same name in swift-log.
    public var ofLibrary: Logger.Level {
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
