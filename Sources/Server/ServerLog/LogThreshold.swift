package import Synchronization

/// The levels of the log, the most detailed level first.
package enum LogLevel: UInt8, Comparable, CaseIterable, Sendable {
    /// Every decision about a call.
    case trace
    /// Connections, refusals, and other steps that show why something went wrong.
    case debug
    /// The beginnings and ends of calls.
    case info
    /// Changes of the server's own state, such as a shutdown.
    case notice
    /// Something that the operator should look at.
    case warning
    /// Something that the server could not do.
    case error
    /// As a threshold, this level turns the log off: the server's only line at this level says that the threshold was
    /// moved to it.
    case critical

    /// The level of this name; `nil` if there is none.
    package init?(name: String) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }

    /// The level's name in the settings and in log lines.
    package var name: String { "\(self)" }

    /// Whether `a` is more detailed than `b`.
    @inlinable
    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// The lowest level that is logged.
///
/// All copies of a log share the threshold, so it can be changed while the server runs, from any thread.
package final class LogThreshold: Sendable {
    /// The level's number.
    ///
    /// A line that is not logged costs one load of this number and one comparison.
    @usableFromInline
    let current: Atomic<UInt8>

    /// Creates a threshold at a level.
    package init(_ level: LogLevel) { current = Atomic(level.rawValue) }

    /// Creates a threshold at the level of this name; at `info` if there is no such level.
    package convenience init(_ name: String) { self.init(LogLevel(name: name) ?? .info) }

    /// Whether lines of a level are logged.
    @inlinable
    package func admits(_ level: LogLevel) -> Bool { level.rawValue >= current.load(ordering: .relaxed) }

    /// The lowest level that is logged.
    package var level: LogLevel {
        get { LogLevel(rawValue: current.load(ordering: .relaxed)) ?? .info }
        set { current.store(newValue.rawValue, ordering: .relaxed) }
    }

    /// Moves the threshold by a number of levels, and returns the new level.
    ///
    /// A negative number moves it towards `trace`; it stops at the first and the last level.
    ///
    /// Only the thread that handles the operator's UNIX signals may call this method.
    @discardableResult
    package func move(by steps: Int) -> LogLevel {
        let all = LogLevel.allCases
        level = all[min(max(Int(level.rawValue) + steps, 0), all.count - 1)]
        return level
    }
}
