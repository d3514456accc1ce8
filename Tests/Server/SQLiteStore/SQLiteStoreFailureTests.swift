import CallCore
import CallPorts
import CallTesting
import Foundation
import Glibc
import SQLiteStore
import Testing
import Threads

@Suite("A store's data folder, and its failures")
struct SQLiteStoreFailureTests {
    private let folder: TemporaryDataFolder

    init() throws { folder = try TemporaryDataFolder() }

    private func failure(at folder: String) -> String? {
        do {
            let store = SQLiteCallStore(folder: folder) { _ in }
            _ = try store.open(at: Moment(milliseconds: 0))
            store.close()
            return nil
        } catch { return error.message }
    }

    @Test("The folder and its files are made for their owner only")
    func modes() throws {
        let folder = self.folder.path + "/a/b"
        let store = SQLiteCallStore(folder: folder) { _ in }
        _ = try store.open(at: Moment(milliseconds: 0))
        func mode(_ path: String) throws -> Int {
            try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
        }
        #expect(try mode(folder) == 0o700)
        for file in try FileManager.default.contentsOfDirectory(atPath: folder) {
            #expect(try mode(folder + "/" + file) == 0o600, "\(file)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 4)
        store.close()
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == [
                "ringline.lock", "ringline.sqlite",
            ]
        )
    }

    @Test("A folder that another server uses is refused, and the message names the folder and the other process")
    func inUse() throws {
        let first = SQLiteCallStore(folder: folder.path) { _ in }
        _ = try first.open(at: Moment(milliseconds: 0))
        let message = try #require(failure(at: folder.path))
        #expect(message.contains(folder.path) && message.contains("in use") && message.contains("\(getpid())"))
        first.close()
        #expect(failure(at: folder.path) == nil)
    }

    @Test("A server with its calls elsewhere keeps other servers out of its folder, and creates no database there")
    func lockWithoutDatabase() throws {
        do {
            let lock = try DataFolderLock(folder: folder.path)
            #expect(SQLiteCallStore.isHeld(folder: folder.path))
            #expect(throws: StoreFailure.self) { try DataFolderLock(folder: folder.path) }
            #expect(try #require(failure(at: folder.path)).contains("in use by another ringline (process \(getpid()))"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["ringline.lock"])
            withExtendedLifetime(lock) {}
        }
        #expect(failure(at: folder.path) == nil)
    }

    @Test("A store waits for a folder until its holder releases it, and reports the holder once")
    func lockWait() throws {
        let first = SQLiteCallStore(folder: folder.path) { _ in }
        _ = try first.open(at: Moment(milliseconds: 0))
        let holders = Monitor<[Int?]>([])
        let lockWait = LockWait(milliseconds: 60_000, waits: { holder in holders.withLock { $0.append(holder) } })
        let second = SQLiteCallStore(folder: folder.path, lockWait: lockWait) { _ in }
        // A thread of its own, because the threads of Swift's concurrency may all be busy with other tests.
        let opened = Monitor<Result<StoredState, any Error>?>(nil)
        let opening = try WorkThread(named: "second") {
            let result = Result { try second.open(at: Moment(milliseconds: 1)) }
            opened.withLock { $0 = result }
        }
        #expect(holders.wait(until: .now + .seconds(50)) { $0.isEmpty ? nil : () } != nil)
        first.close()
        opening.join()
        #expect(try opened.withLock { try $0?.get().uncleanStarts } == 0)
        #expect(holders.withLock { $0 } == [Int(getpid())])
        second.close()
    }

    @Test("A store may be released inside its report, on either of its threads", arguments: [false, true])
    func releasedInReport(byQuery: Bool) throws {
        let store = Monitor<SQLiteCallStore?>(nil)
        let isOnlyHere = Monitor(false)
        let isReleased = Monitor(false)
        let release: @Sendable (StoreReport) -> Void = { report in
            if case .queryResult = report {} else if byQuery { return }
            isOnlyHere.wait { $0 ? () : nil }
            var last = store.withLock { $0.take() }
            last = nil
            _ = last
            isReleased.withLock { $0 = true }
        }
        do {
            let opened = SQLiteCallStore(folder: folder.path, report: release)
            _ = try opened.open(at: Moment(milliseconds: 0))
            store.withLock { $0 = opened }
            if byQuery {
                opened.submit(.history(UserID("11"), limit: 1, before: nil), as: StoreQueryID(rawValue: 1))
            } else {
                opened.commit([], as: Ticket(rawValue: 1))
            }
        }
        isOnlyHere.withLock { $0 = true }
        let isDone: Void? = isReleased.wait(until: .now + .seconds(10)) { $0 ? () : nil }
        try #require(isDone != nil, "the thread waits for itself")
        // The thread ends after its report, and the folder can be taken again.
        let next = SQLiteCallStore(folder: folder.path, lockWait: LockWait(milliseconds: 10_000)) { _ in }
        _ = try next.open(at: Moment(milliseconds: 1))
        next.close()
    }

    @Test("A store stops waiting for a folder at the end of its waiting time, or when `isOver` returns true")
    func noLockWait() throws {
        let first = SQLiteCallStore(folder: folder.path) { _ in }
        _ = try first.open(at: Moment(milliseconds: 0))
        for lockWait in [LockWait(milliseconds: 50), LockWait(milliseconds: 3_600_000, isOver: { true })] {
            let store = SQLiteCallStore(folder: folder.path, lockWait: lockWait) { _ in }
            #expect(throws: StoreFailure.self) { try store.open(at: Moment(milliseconds: 0)) }
        }
        first.close()
    }

    @Test("A path that names a file instead of a folder is reported")
    func notFolder() throws {
        let file = folder.path + "/file"
        try Data("x".utf8).write(to: URL(filePath: file))
        #expect(try #require(failure(at: file)) == "\(file) is not a folder; --data must name a folder.")
        #expect(try #require(failure(at: file + "/below")).contains("\(file)/below cannot be created"))
    }

    @Test("A folder that cannot be created is reported")
    func cannotBeMade() throws {
        #expect(try #require(failure(at: "/proc/ringline/data")).contains("/proc/ringline/data cannot be created"))
    }

    @Test("A file that is not a database is reported and left as it is")
    func notADatabase() throws {
        let file = folder.path + "/ringline.sqlite"
        let text = Data(String(repeating: "This is not a database. ", count: 400).utf8)
        try text.write(to: URL(filePath: file))
        let message = try #require(failure(at: folder.path))
        #expect(message.contains(file) && message.contains("not a database") && message.contains("backup"))
        #expect(try Data(contentsOf: URL(filePath: file)) == text)
    }

    @Test("A damaged database is reported")
    func damaged() throws {
        #expect(failure(at: folder.path) == nil)
        let file = folder.path + "/ringline.sqlite"
        var bytes = try Data(contentsOf: URL(filePath: file))
        for index in 4_096..<bytes.count { bytes[index] = 0xA5 }
        try bytes.write(to: URL(filePath: file))
        let message = try #require(failure(at: folder.path))
        #expect(message.contains(file) && message.contains("damaged") && message.contains("backup"))
    }

    @Test("A database that a newer version wrote is refused, and the message names both versions")
    func newer() throws {
        #expect(failure(at: folder.path) == nil)
        let file = folder.path + "/ringline.sqlite"
        // `PRAGMA user_version` is the big-endian number at byte 60 of the file.
        var bytes = try Data(contentsOf: URL(filePath: file))
        bytes[63] = 9
        try bytes.write(to: URL(filePath: file))
        let message = try #require(failure(at: folder.path))
        #expect(message.contains(file) && message.contains("newer ringline (schema 9, this one knows 6)"))
        #expect(throws: StoreFailure.self) { try SQLiteCallStore.reader(of: folder.path) }
    }

    @Test("A full disk stalls the store, which keeps its commits in order and makes them when there is space again")
    func full() throws {
        let faults = InjectedFaults()
        let reports = StoreReports()
        let store = SQLiteCallStore(folder: folder.path, faults: faults) { reports.add($0) }
        _ = try store.open(at: Moment(milliseconds: 0))
        let call = CallNumber(rawValue: 1)
        func entry(_ seq: UInt64) -> Change {
            .entry(
                call,
                EntryRecord(
                    LogEntry(
                        seq: seq,
                        at: Moment(milliseconds: 0),
                        content: .state(StateChange(.answered)),
                        audience: .both
                    ),
                    object: ArraySlice(repeating: 0x78, count: 20_000)
                )
            )
        }
        store.commit([.call(try sampleCall(1))], as: Ticket(rawValue: 1))
        try reports.wait { $0 == ["committed 1"] }
        faults.pageLimit = 1
        store.commit([entry(1)], as: Ticket(rawValue: 2))
        try reports.wait { $0.last == "stalled" }
        store.commit([entry(2)], as: Ticket(rawValue: 3))
        store.submit(.history(try sampleCall(1).caller, limit: 1, before: nil), as: StoreQueryID(rawValue: 1))
        // While the store is stalled, a query fails immediately and does not wait for the disk.
        try reports.wait { $0.last == "failed 1" }
        #expect(reports.now.failures.last?.contains("No space is left") == true)
        #expect(reports.now.failures.last?.contains(folder.path) == true)
        faults.pageLimit = nil
        try reports.wait { $0.last == "committed 3" }
        store.submit(.history(try sampleCall(1).caller, limit: 1, before: nil), as: StoreQueryID(rawValue: 2))
        try reports.wait { $0.last == "answered 2" }
        store.close()
        #expect(
            reports.now.reported.filter { $0 != "committed 2" } == [
                "committed 1", "stalled", "failed 1", "recovered", "committed 3", "answered 2",
            ]
        )
        let state = try SQLiteCallStore(folder: folder.path) { _ in }.open(at: Moment(milliseconds: 0))
        #expect(state.calls.first?.entries.map(\.seq) == [1, 2])
        #expect(state.uncleanStarts == 0)
    }

    @Test("A query that has failed in a stall gets no second result after the stall")
    func failedOnce() throws {
        let faults = InjectedFaults()
        let reports = StoreReports()
        let mayGoOn = Monitor(false)
        let store = SQLiteCallStore(folder: folder.path, faults: faults) { report in
            reports.add(report)
            if case .committed(Ticket(rawValue: 1)) = report { mayGoOn.wait { $0 ? () : nil } }
        }
        _ = try store.open(at: Moment(milliseconds: 0))
        let user = try sampleCall(1).caller
        store.commit([.call(try sampleCall(1))], as: Ticket(rawValue: 1))
        try reports.wait { $0 == ["committed 1"] }
        // While the writer reports the first commit, it takes nothing. So it takes the second commit together with the
        // query.
        faults.pageLimit = 1
        var call = try sampleCall(2)
        call.displayName = String(repeating: "x", count: 100_000)
        store.commit([.call(call)], as: Ticket(rawValue: 2))
        store.submit(.history(user, limit: 1, before: nil), as: StoreQueryID(rawValue: 1))
        mayGoOn.withLock { $0 = true }
        try reports.wait { $0.contains("failed 1") }
        faults.pageLimit = nil
        try reports.wait { $0.contains("committed 2") }
        // Queries run in order, so a second result of the first one would come before this.
        store.submit(.history(user, limit: 1, before: nil), as: StoreQueryID(rawValue: 2))
        try reports.wait { $0.contains("answered 2") }
        store.close()
        #expect(reports.now.repeated.isEmpty)
        let expected = ["committed 1", "stalled", "failed 1", "recovered", "committed 2", "answered 2"]
        #expect(reports.now.reported == expected)
    }

    @Test("A store that is closed while the disk is full loses its pending commits, and the next start counts a crash")
    func closingWhileFull() throws {
        let faults = InjectedFaults()
        let reports = StoreReports()
        let store = SQLiteCallStore(folder: folder.path, faults: faults) { reports.add($0) }
        _ = try store.open(at: Moment(milliseconds: 0))
        faults.pageLimit = 1
        var call = try sampleCall(1)
        call.displayName = String(repeating: "x", count: 100_000)
        store.commit([.call(call)], as: Ticket(rawValue: 1))
        try reports.wait { $0 == ["stalled"] }
        store.close()
        #expect(reports.now.reported == ["stalled"])
        let state = try SQLiteCallStore(folder: folder.path) { _ in }.open(at: Moment(milliseconds: 0))
        #expect(state.uncleanStarts == 1)
        #expect(state.calls.isEmpty)
    }
}

/// Returns a call from user 11 to user 10.
func sampleCall(_ number: Int64) throws -> CallRecord {
    CallRecord(
        number: CallNumber(rawValue: number),
        id: try #require(CallID("11-10")),
        epoch: 1,
        room: "p2p:11-10",
        caller: try #require(UserID("11")),
        callee: try #require(UserID("10")),
        displayName: nil,
        hasVideo: false,
        startedAt: Moment(milliseconds: 1),
        ringUntil: Moment(milliseconds: 2)
    )
}
