public import Synchronization

/// The levels of the log, from the one that says most.
public enum LogLevel: UInt8, Comparable, CaseIterable, Sendable {
    /// Every decision about a call.
    case trace
    /// Connections, refusals, and other steps that show why something went wrong.
    case debug
    /// Calls.
    case info
    /// Changes of the server itself.
    case notice
    /// Something that the operator should look at.
    case warning
    /// Something that the server could not do.
    case error
    /// The end of the server.
    case critical

    /// The level of this name; `nil` if there is none.
    public init?(name: String) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }

    /// The name, as settings and log lines have it.
    public var name: String { "\(self)" }

    /// Whether `a` says more than `b`.
    @inlinable
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// The lowest level that is logged.
///
/// All copies of a log share it, so it can be changed while the server runs, from any thread.
public final class LogThreshold: Sendable {
    /// The level's number: below a line that is not logged there is one load and one comparison.
    @usableFromInline
    let current: Atomic<UInt8>

    /// Starts at a level.
    public init(_ level: LogLevel) { current = Atomic(level.rawValue) }

    /// Starts at the level of that name; at `info` if there is no such level.
    public convenience init(_ name: String) { self.init(LogLevel(name: name) ?? .info) }

    /// Whether lines of a level are logged.
    @inlinable
    public func admits(_ level: LogLevel) -> Bool { level.rawValue >= current.load(ordering: .relaxed) }

    /// The lowest level that is logged.
    public var level: LogLevel {
        get { LogLevel(rawValue: current.load(ordering: .relaxed)) ?? .info }
        set { current.store(newValue.rawValue, ordering: .relaxed) }
    }

    /// Moves the threshold by a number of levels, towards `trace` if negative and at most to the end; returns the new
    /// level.
    ///
    /// Only one thread may move it: the one that takes the operator's signals.
    @discardableResult
    public func move(by steps: Int) -> LogLevel {
        let all = LogLevel.allCases
        level = all[min(max(Int(level.rawValue) + steps, 0), all.count - 1)]
        return level
    }
}
