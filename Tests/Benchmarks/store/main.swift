import CallCore
import CallPorts
import FoundationEssentials
import Glibc
import Postgres
import PostgresStore
import SQLiteStore
import Threads

// `store-benchmarks FOLDER [URL]`: measures the time and CPU time of a commit in SQLite and, with a URL, in PostgreSQL.

/// The number of changes of each kind in one commit.
private struct CommitSize {
    let calls: Int
    let entries: Int
    let events: Int

    /// The numbers, for the printed lines: `1/3/2`.
    var name: String { "\(calls)/\(entries)/\(events)" }

    /// Returns the changes of a commit; eight commits in succession concern the same calls.
    func changes(_ index: Int) -> [Change] {
        var changes: [Change] = []
        for number in 0..<calls { changes.append(.call(Self.call(Int64(index / 8 * calls + number + 1)))) }
        for number in 0..<entries {
            let call = CallNumber(rawValue: Int64(index / 8 * max(1, calls) + number % max(1, calls) + 1))
            let seq = UInt64(index % 8 * entries + number + 1)
            changes.append(.entry(call, Self.entry(seq)))
        }
        for number in 0..<events {
            let call = CallNumber(rawValue: Int64(index / 8 * max(1, calls) + number % max(1, calls) + 1))
            changes.append(.event(call, TimelineRecord(at: Self.now, event: .noDevice)))
        }
        return changes
    }

    private static let now = Moment(milliseconds: 1_800_000_000_000)
    private static let device = DeviceIdentity(unnamed: TokenFingerprint(rawValue: 12_345_678_901_234_567))
    private static let object = Array(
        (#"{"type":"ice","candidate":""# + String(repeating: "x", count: 150) + #""}"#).utf8
    )[...]

    private static func call(_ number: Int64) -> CallRecord {
        guard let id = CallID("c-\(number)"), let caller = UserID("1\(number % 997)"),
            let callee = UserID("2\(number % 997)")
        else { preconditionFailure("an id is invalid") }
        return CallRecord(
            number: CallNumber(rawValue: number),
            id: id,
            epoch: 1,
            room: "p2p:1-2",
            caller: caller,
            callee: callee,
            displayName: "Taro",
            hasVideo: true,
            startedAt: now,
            ringUntil: now,
            legs: [
                Leg(device: device, side: .caller, phase: .answered),
                Leg(device: device, side: .callee, phase: .ringing),
            ]
        )
    }

    private static func entry(_ seq: UInt64) -> EntryRecord {
        let content = LogEntry.Content.signal(.ice, from: .caller, device: device, id: nil, digest: 0)
        return EntryRecord(LogEntry(seq: seq, at: now, content: content, audience: .callee), object: object)
    }
}

/// Makes `count` commits, each after the one before is durable.
///
/// Prints in microseconds the mean, the median and the 99th
/// percentile of their times, and the mean CPU time of this process.
private func measure(
    _ name: String,
    _ size: CommitSize,
    count: Int,
    make: (@escaping @Sendable (StoreReport) -> Void) -> any CallStore
) throws {
    let durable = Monitor<UInt64>(0)
    let store = make { report in
        if case .committed(let ticket) = report { durable.withLock { $0 = ticket.rawValue } }
    }
    _ = try store.open(at: Moment(milliseconds: 0))
    let commits = (0..<count).map { size.changes($0) }
    var times: [Double] = []
    let before = cpu()
    for (index, changes) in commits.enumerated() {
        let start = ContinuousClock.now
        let ticket = UInt64(index) + 1
        _ = store.commit(changes, as: Ticket(rawValue: ticket))
        durable.wait { $0 >= ticket ? () : nil }
        times.append(microseconds(ContinuousClock.now - start))
    }
    let used = (cpu() - before) / Double(count)
    store.close()
    times.sort()
    let mean = times.reduce(0, +) / Double(count)
    print(
        "\(name) \(size.name): mean \(Int(mean)) p50 \(Int(times[count / 2])) p99 \(Int(times[count * 99 / 100])) CPU of this process \(Int(used))"
    )
}

/// Returns the CPU time of this process so far, in microseconds.
private func cpu() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6
        + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
}

private func microseconds(_ duration: Duration) -> Double {
    Double(duration.components.seconds) * 1e6 + Double(duration.components.attoseconds) / 1e12
}

let arguments = CommandLine.arguments
let round = getpid()
for (index, size) in [
    CommitSize(calls: 0, entries: 1, events: 1), CommitSize(calls: 1, entries: 3, events: 2),
    CommitSize(calls: 20, entries: 60, events: 30),
].enumerated() {
    try measure("SQLite", size, count: 1_000) {
        SQLiteCallStore(folder: "\(arguments[1])/\(round)-\(index)", report: $0)
    }
    guard arguments.count > 2 else { continue }
    var options = StoreOptions(try ConnectionSettings(url: arguments[2]))
    options.schema = "bench_\(round)_\(index)"
    try measure("PostgreSQL", size, count: 1_000) { PostgresCallStore(options, report: $0) }
}
