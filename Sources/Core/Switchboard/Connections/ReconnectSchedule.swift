package import CallCore
import CallWire

/// The times at which devices reconnect after their server has shut down.
///
/// Devices reconnect in random order, each in a separate time slot: purely random times would cluster.
package struct ReconnectSchedule: Sendable {
    private let count: Int
    private let spread: Moment.Duration

    /// Creates the schedule of a number of devices.
    ///
    /// - Parameters:
    ///   - count: The number of devices that reconnect.
    ///   - grace: The time for which a call waits for a device; the devices reconnect in a third of it at most.
    package init(of count: Int, grace: Moment.Duration) {
        self.count = count
        let wanted = Moment.Duration.milliseconds(Int64(count) * 1_000 / SwitchboardLimits.reconnectsPerSecond)
        let duration = min(
            max(SwitchboardLimits.shortestReconnectSpread, wanted),
            SwitchboardLimits.longestReconnectSpread
        )
        spread = min(duration, .milliseconds(max(1, grace.milliseconds / 3)))
    }

    /// The longest pause that a request is told, in seconds.
    var seconds: Int { max(1, Int(spread.milliseconds / 1_000)) }

    /// Returns the delay of the device in a place of the order, from 0, in milliseconds.
    package func delay<Generator: RandomNumberGenerator>(of place: Int, using random: inout Generator) -> Int64 {
        let piece = Double(spread.milliseconds) / Double(max(1, count))
        let at = (Double(place) + Double.random(in: 0..<1, using: &random)) * piece
        return SwitchboardLimits.firstReconnectDelay.milliseconds + Int64(at)
    }

    /// Returns the delay of a device that came after all others were told theirs, in milliseconds.
    func delayOfLatecomer<Generator: RandomNumberGenerator>(using random: inout Generator) -> Int64 {
        SwitchboardLimits.firstReconnectDelay.milliseconds
            + Int64.random(in: 0..<max(1, spread.milliseconds), using: &random)
    }

    /// Returns the close reason, which repeats the delay for a client that sees only the close.
    package static func reason(_ delay: Int64) -> String { "the server is shutting down; reconnectAfterMs=\(delay)" }
}
