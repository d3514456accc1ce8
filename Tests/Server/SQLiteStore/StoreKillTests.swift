import CallCore
import CallPorts
import Foundation
import Glibc
import SQLiteStore
import Storing
import Testing

@Suite("A server that is killed")
struct StoreKillTests {
    @Test("Every commit that was reported survives, whenever the server is killed", .timeLimit(.minutes(3)))
    func keepsWhatWasReported() async throws {
        let folder = try TemporaryDataFolder()
        let diary = folder.path + "/reported"
        var highest: UInt64 = 0
        var progressed = 0
        for round in 1...30 {
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = folder.path as String] in
                try commitUntilKilled(folder: path, afterMicroseconds: UInt32.random(in: 1_000...60_000))
            }
            let reported = try reported(in: diary)
            if let last = reported.last, last > highest { progressed += 1 }
            highest = reported.last ?? highest

            let store = SQLiteCallStore(folder: folder.path) { _ in }
            let state = try store.open(at: Moment(milliseconds: 0))
            #expect(state.uncleanStarts == round)
            // Each commit writes an entry, an event, and the call's record with the number of the commit as its
            // displayed name.
            let call = try #require(state.calls.first)
            let kept = call.entries.map(\.seq)
            #expect(kept == Array(1...UInt64(kept.count)), "round \(round)")
            #expect(call.record.displayName == "\(kept.count)", "round \(round): a commit was torn")
            #expect(UInt64(kept.count) >= highest, "round \(round): \(highest) was reported, \(kept.count) are kept")
            store.close()
            let reader = try SQLiteCallStore.reader(of: folder.path)
            #expect(try reader.integrityErrors() == [])
            #expect(try reader.timeline(of: call.record.id)?.1.count == kept.count, "round \(round): a commit was torn")
        }
        #expect(progressed > 10, "the child was killed before it did anything")
    }

    /// Returns the numbers of commits that the child processes recorded, each after it was reported.
    private func reported(in diary: String) throws -> [UInt64] {
        guard FileManager.default.fileExists(atPath: diary) else { return [] }
        return try String(contentsOfFile: diary, encoding: .utf8).split(separator: "\n").compactMap { UInt64($0) }
    }
}

/// Commits, and records the number of each reported commit in a file, until a thread kills the process.
private func commitUntilKilled(folder: String, afterMicroseconds: UInt32) throws {
    let diary = open(folder + "/reported", O_WRONLY | O_CREAT | O_APPEND, 0o600)
    let offset = UnsafeOffset()
    let store = SQLiteCallStore(folder: folder) { report in
        guard case .committed(let ticket) = report else { return }
        let line = Array("\(offset.value + ticket.rawValue)\n".utf8)
        _ = write(diary, line, line.count)
    }
    let state = try store.open(at: Moment(milliseconds: 0))
    offset.value = UInt64(state.calls.first?.entries.count ?? 0)
    let killer = Thread {
        usleep(afterMicroseconds)
        kill(getpid(), SIGKILL)
    }
    killer.start()
    var call = try sampleCall(1)
    for ticket in 1...UInt64(1_000_000) {
        let number = offset.value + ticket
        call.displayName = "\(number)"
        let entry = EntryRecord(
            LogEntry(
                seq: number,
                at: Moment(milliseconds: 0),
                content: .state(StateChange(.answered)),
                audience: .both
            ),
            object: ArraySlice(repeating: 0x78, count: 300)
        )
        let event = TimelineRecord(at: Moment(milliseconds: 0), event: .other(name: "signal.ice", details: ""))
        store.commit(
            [.entry(call.number, entry), .call(call), .event(call.number, event)],
            as: Ticket(rawValue: ticket)
        )
        // These pauses lead to transactions of one commit and of several.
        if !ticket.isMultiple(of: 3) { usleep(50) }
    }
}

/// An offset that is set once, before the first commit; the reports, which come after, read it.
private final class UnsafeOffset: @unchecked Sendable {
    var value: UInt64 = 0
}
