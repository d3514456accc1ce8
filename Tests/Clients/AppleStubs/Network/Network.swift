public import Dispatch

// The part of Apple's Network that the example for iPhones uses, for compiling it where there is no Apple SDK. Declarations
// as in https://developer.apple.com/documentation/network/nwpathmonitor; nothing is watched.

/// A way to the network.
public struct NWPath: Equatable, Sendable {
    /// Whether there is a network.
    public enum Status: Equatable, Sendable {
        /// As the names say.
        case satisfied, unsatisfied, requiresConnection
    }

    /// Whether there is a network.
    public let status: Status
    /// The interfaces that the path may use, the best first.
    public let availableInterfaces: [NWInterface]
}

/// A network interface.
public struct NWInterface: Equatable, Sendable {
    /// Its name, such as `en0`.
    public let name: String
}

/// Watches the way to the network.
public final class NWPathMonitor: Sendable {
    /// Called on the queue of ``start(queue:)`` for each change, and once at the start.
    public var pathUpdateHandler: (@Sendable (NWPath) -> Void)? {
        get { nil }
        set {}
    }
    /// Creates a monitor.
    public init() {}
    /// Starts to watch.
    public func start(queue: DispatchQueue) {}
}
