import CallCore
import CallPorts
import CallTrace
import MemoryStore
import Threads

/// The calls of a server in memory, explained with the names that its user sees.
///
/// Safe on any thread. It reads the server's memory beside the server, and sees what was committed.
final class DemoCalls: Sendable {
    /// The largest number of remembered wakes.
    private static let limit = 100

    private let store: MemoryCallStore
    private let result: Monitor<StoreResult?>
    private let turn = Monitor<Void>(())
    private let woken = Monitor<[(call: CallID, device: Explanation.Woken)]>([])
    private let names: CallNames

    init(_ memory: Memory, names: CallNames) {
        let result = Monitor<StoreResult?>(nil)
        self.result = result
        self.names = names
        // The memory reports a result before `submit` returns.
        store = MemoryCallStore(memory) { report in
            if case .queryResult(_, let found) = report { result.withLock { $0 = found } }
        }
    }

    /// Records that a push for a call has woken a device.
    func wake(_ device: DeviceID, for call: CallID) {
        let now = Moment(milliseconds: SystemClock.wall())
        woken.withLock { all in
            all.append((call, Explanation.Woken(device, at: now)))
            if all.count > Self.limit { all.removeFirst() }
        }
    }

    /// Returns the newest call that fits, with its ladder and its verdict, as JSON; `nil` = there is none.
    func explain(_ choice: CallSelector) -> [UInt8]? { explanation(of: choice)?.body }

    /// Returns the newest call that fits, explained as of now; `nil` = there is none.
    ///
    /// `devices`: the callee's registered devices.
    func explanation(of choice: CallSelector, devices: [DeviceRecord] = []) -> Explanation? {
        guard case .timeline(let record?, let events) = read(.timeline(choice)) else { return nil }
        var log: [EntryRecord] = []
        if case .log(let stored?) = read(.log(record.number)) { log = stored.entries }
        let woken = woken.withLock { all in all.filter { $0.call == record.id }.map(\.device) }
        return Explanation(
            record: record,
            events: events,
            log: log,
            devices: devices,
            names: names,
            woken: woken.filter { $0.at >= record.startedAt },
            at: Moment(milliseconds: SystemClock.wall())
        )
    }

    private func read(_ query: StoreQuery) -> StoreResult? {
        turn.withLock { _ in
            store.submit(query, as: StoreQueryID(rawValue: 1))
            return result.withLock { $0 }
        }
    }
}
