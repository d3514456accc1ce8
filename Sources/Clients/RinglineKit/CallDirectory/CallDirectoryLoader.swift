public import CallCore
public import Foundation

/// Loads a user's call directory into iOS, in the app's Call Directory extension.
///
/// iOS refuses a whole request for one entry that is out of order or that it has already, so every step is in an order
/// that it accepts:
///
/// - If iOS asks for the whole list, or there is no cursor, or the server sends the whole list in place of changes, all
///   entries are added in ascending order. Those that iOS has are removed first if the request is incremental, and only
///   then: iOS fails a removal in a request that is not.
/// - Otherwise the changes since the cursor are applied. An entry that is added is removed before, because iOS may have
///   it with another label.
/// - The new cursors are kept when iOS has taken the request. After a request that failed or expired, the former ones
///   still say what iOS has.
/// - After ``requestFailed()``, and if the server rebuilt the list between two pages, there is no cursor, and the
///   next request loads everything.
///
/// One page is in memory at a time, because iOS ends an extension that uses more than a few megabytes.
public final class CallDirectoryLoader: Sendable {
    /// The settings of a loader.
    public struct Configuration: Sendable {
        /// The server's address, `http` or `https`; it may have a path.
        public var server: URL
        /// The user who is logged in, and whom the tokens name.
        public var user: UserID
        /// The lists that are loaded, both by default; iOS keeps no entries of the others.
        public var lists = DirectoryList.allCases
        /// The largest number of lines on a page, 1 to 10,000; a page of 10,000 labels of 30 bytes has 450 kB.
        public var pageLimit = 10_000

        /// Creates a configuration with default values for everything else.
        public init(server: URL, user: UserID) {
            self.server = server
            self.user = user
        }
    }

    /// The number of entries that a request has added and removed.
    public struct Summary: Equatable, Sendable {
        /// The entries that were added, among them those that replaced an entry.
        public var added = 0
        /// The entries that were removed one by one, and not replaced.
        public var removed = 0
        /// The lists that were loaded as a whole.
        public var completeLists: Set<DirectoryList> = []

        /// Creates a summary of a request that has added nothing.
        public init() {}
    }

    /// The largest number of lines whose objects wait to be released at a time.
    private static let pool = 1_000

    private let configuration: Configuration
    private let source: any DirectorySource
    private let cursors: any DirectoryCursorStore
    private let failures = FailureCount()

    /// Creates a loader.
    ///
    /// - Parameters:
    ///   - configuration: the server, the user and the lists.
    ///   - source: fetches the pages, such as a ``URLSessionDirectory``.
    ///   - cursors: keeps the cursors, such as ``AppGroupCursors``.
    public init(
        _ configuration: Configuration,
        source: any DirectorySource,
        cursors: any DirectoryCursorStore
    ) {
        self.configuration = configuration
        self.source = source
        self.cursors = cursors
    }

    /// Carries out one request of iOS, and completes it or gives it up.
    ///
    /// - Parameter context: the context of the request, which nothing else uses meanwhile.
    /// - Returns: what was added and removed.
    /// - Throws: why the request failed; the context has been told.
    @discardableResult
    public func load(into context: any CallDirectoryContext) async throws(CallDirectoryError) -> Summary {
        let failuresBefore = failures.value
        let empty = DirectoryCursors(server: configuration.server, user: configuration.user)
        // Read before the first entry: otherwise Apple's context takes no changes.
        let isIncremental = context.isIncremental
        let former = cursors.read().flatMap { $0.owner == empty.owner ? $0 : nil }
        var summary = Summary()
        var reached = empty
        do throws(CallDirectoryError) {
            for list in DirectoryList.allCases {
                if configuration.lists.contains(list) {
                    let since = isIncremental ? former?[list] : nil
                    reached[list] = try await load(list, since, isIncremental, into: context, &summary)
                } else if isIncremental, former == nil || former?[list] != nil {
                    removeAll(list, from: context)
                }
            }
        } catch {
            context.cancel(error)
            throw error
        }
        guard await context.complete() else { throw .expired }
        let isKept = failures.perform { count in
            // iOS may report the error before it says that the request is over.
            guard count == failuresBefore else { return false }
            cursors.write(reached)
            return true
        }
        guard isKept else { throw .rejected }
        return summary
    }

    /// Drops the cursors, because iOS has reported an error for the extension: the next request loads everything.
    ///
    /// Call it from `requestFailed(for:withError:)` of the extension. It may come before or after the end of a request.
    public func requestFailed() {
        failures.perform { count in
            count += 1
            cursors.write(nil)
        }
    }

    /// Carries out a request of iOS when nobody is logged in: iOS has no entries any longer.
    ///
    /// - Parameters:
    ///   - context: the context of the request.
    ///   - cursors: the cursors, which are removed.
    /// - Returns: whether iOS has taken the request.
    @discardableResult
    public static func removeEverything(
        from context: any CallDirectoryContext,
        cursors: any DirectoryCursorStore
    ) async -> Bool {
        cursors.write(nil)
        if context.isIncremental {
            context.removeAllBlockingEntries()
            context.removeAllIdentificationEntries()
        }
        return await context.complete()
    }

    // MARK: One list

    private func load(
        _ list: DirectoryList,
        _ since: DirectoryCursor?,
        _ isIncremental: Bool,
        into context: any CallDirectoryContext,
        _ summary: inout Summary
    ) async throws(CallDirectoryError) -> DirectoryCursor {
        var cursor = since
        var number = 0
        var isComplete = since == nil
        var last: Int64 = 0
        while true {
            number += 1
            let page = try await fetch(list, cursor, number)
            if number == 1 {
                guard page.number == 1, page.isComplete || since != nil else {
                    throw .unexpectedPage(list, page: page.number)
                }
                isComplete = page.isComplete
                if isComplete { summary.completeLists.insert(list) }
                if isComplete, isIncremental { removeAll(list, from: context) }
            } else if page.number == 1 {
                forget(list)
                throw .restarted(list)
            }
            // A server that repeats a page would otherwise be asked without end.
            guard page.number == number, page.isComplete == isComplete, !page.hasMore || page.cursor != cursor else {
                throw .unexpectedPage(list, page: page.number)
            }
            if let first = page.firstNumber, first <= last {
                throw .malformed(list, page: number, DirectoryPageError(line: 2, .order))
            }
            last = page.lastNumber ?? last
            add(page, to: context, &summary)
            cursor = page.cursor
            guard page.hasMore else { return page.cursor }
        }
    }

    private func fetch(
        _ list: DirectoryList,
        _ cursor: DirectoryCursor?,
        _ number: Int
    ) async throws(CallDirectoryError) -> DirectoryPage {
        let bytes: Data
        do {
            bytes = try await source.page(of: list, since: cursor, limit: configuration.pageLimit)
        } catch let error as CallDirectoryError {
            // The server does not know the form of the cursor, and would refuse it each time.
            if error == .refused(status: 400), cursor != nil { forget(list) }
            throw error
        } catch {
            throw .unreachable(String(describing: error))
        }
        do { return try DirectoryPage(bytes, of: list) } catch { throw .malformed(list, page: number, error) }
    }

    /// Adds a page to the context: first all removals, then all entries.
    ///
    /// Apple does not say that a number may be removed and added in turn, and this order changes sides once for a page.
    private func add(_ page: DirectoryPage, to context: any CallDirectoryContext, _ summary: inout Summary) {
        if !page.isComplete {
            forEach(page) { line in
                switch page.list {
                case .blocks: context.removeBlockingEntry(line.number)
                case .identities: context.removeIdentificationEntry(line.number)
                }
            }
        }
        forEach(page) { line in
            switch line {
            case .block(let number): context.addBlockingEntry(number)
            case .identity(let number, let label): context.addIdentificationEntry(number, label: label)
            case .removal:
                summary.removed += 1
                return
            }
            summary.added += 1
        }
    }

    /// Calls a function with each line, and releases what the calls leave behind, as Apple advises: each label is an
    /// object that would otherwise wait for the end of the request.
    private func forEach(_ page: DirectoryPage, _ body: (DirectoryLine) -> Void) {
        var lines = page.makeIterator()
        var isAtEnd = false
        while !isAtEnd {
            releasing {
                for _ in 0..<Self.pool {
                    guard let line = lines.next() else { return isAtEnd = true }
                    body(line)
                }
            }
        }
    }

    private func removeAll(_ list: DirectoryList, from context: any CallDirectoryContext) {
        switch list {
        case .blocks: context.removeAllBlockingEntries()
        case .identities: context.removeAllIdentificationEntries()
        }
    }

    /// Drops the cursor of a list.
    private func forget(_ list: DirectoryList) {
        failures.perform { _ in
            guard var kept = cursors.read() else { return }
            kept[list] = nil
            cursors.write(kept)
        }
    }
}

/// The number of errors that iOS has reported so far.
private final class FailureCount: @unchecked Sendable {
    // @unchecked: the lock guards the count, and with it the order of changes to the cursors.
    private let lock = NSLock()
    private var count = 0

    var value: Int { lock.withLock { count } }

    func perform<Result>(_ body: (inout Int) -> Result) -> Result { lock.withLock { body(&count) } }
}

#if canImport(ObjectiveC)
private func releasing(_ body: () -> Void) { autoreleasepool(invoking: body) }
#else
private func releasing(_ body: () -> Void) { body() }
#endif
