public import CallCore
import Dispatch
import Foundation

/// The clock of the device, with a timer on the main queue.
@MainActor
public final class DeviceClock: KitClock {
    private var timer: DispatchWorkItem?

    /// Creates a clock.
    public init() {}

    /// The time of the device's wall clock.
    public var now: Moment { Moment(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) }

    /// A random number from the system.
    public var chance: Double { Double.random(in: 0..<1) }

    /// Sets the timer; see ``KitClock/wake(at:_:)``.
    public func wake(at moment: Moment?, _ work: @escaping @MainActor @Sendable () -> Void) {
        timer?.cancel()
        timer = nil
        guard let moment else { return }
        let item = DispatchWorkItem { MainActor.assumeIsolated(work) }
        timer = item
        let pause = max(0, (moment - now).milliseconds)
        // By the wall clock, so that a timer that was due while the device slept fires when it wakes.
        DispatchQueue.main.asyncAfter(wallDeadline: .now() + .milliseconds(Int(min(pause, 86_400_000))), execute: item)
    }
}
