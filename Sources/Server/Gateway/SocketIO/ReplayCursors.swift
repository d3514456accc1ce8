import CallCore
import CallPorts
import CallWire
import SocketIO

/// The cursors of Socket.IO devices, which keep none themselves: for each call's log, the last entry that the device
/// has.
///
/// The cursors are remembered until 10 minutes after the device's last session.
///
/// They are in memory only: after a restart such a device gets all entries of its live calls again.
struct ReplayCursors {
    struct Key: Hashable {
        let user: UserID
        let device: DeviceID
    }

    /// How long a device's cursors are remembered after its last session.
    private static let keptFor = Moment.Duration.seconds(600)

    private var all: [Key: (seen: [LogIdentity: UInt64], at: Moment)] = [:]
    private var prunedAt = Moment(milliseconds: 0)

    func seen(by key: Key) -> [LogIdentity: UInt64] { all[key]?.seen ?? [:] }

    mutating func note(_ update: [LogIdentity: UInt64], by key: Key, at now: Moment) {
        var seen = seen(by: key)
        seen.merge(update) { max($0, $1) }
        if seen.count > SocketIOLimits.rememberedLogs { seen = update }
        all[key] = (seen, now)
    }

    /// Keeps the cursors of a device whose session is still open.
    mutating func keep(_ key: Key, at now: Moment) { all[key]?.at = now }

    mutating func prune(at now: Moment) {
        guard now >= prunedAt + .seconds(60) else { return }
        prunedAt = now
        all = all.filter { now < $0.value.at + Self.keptFor }
    }
}
