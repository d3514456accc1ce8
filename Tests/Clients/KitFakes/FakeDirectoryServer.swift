package import Foundation
package import RinglineKit

/// The server's half of the call directory: lists with versions, their pages, and faults between the pages.
package actor FakeDirectoryServer: DirectorySource {
    /// What happens instead of a page.
    package enum Fault: Sendable {
        /// The server has lost the changes since all cursors.
        case restart
        /// The request fails.
        case failure(CallDirectoryError)
        /// The request fails with an error of another type.
        case network
        /// The server answers this.
        case body(String)
        /// The list changes before the page is read.
        case change(DirectoryList, Int64, String?)
        /// No response comes before the task is cancelled.
        case silence
    }

    package struct NetworkError: Error {}

    private struct Row {
        var label: String?
        var version: Int
    }

    private var rows: [DirectoryList: [Int64: Row]] = [:]
    private var version = 0
    private var oldest = 0
    private var faults: [Int: Fault] = [:]
    /// The addresses that were asked for.
    package private(set) var requests: [String] = []
    private var isAsked = false
    private var waiting: CheckedContinuation<Void, Never>?

    package init() {}

    /// Sets or removes (`nil`) entries, in one change; a blocked number has an empty label.
    package func set(_ list: DirectoryList, _ entries: [Int64: String?]) {
        version += 1
        for (number, label) in entries { rows[list, default: [:]][number] = Row(label: label, version: version) }
    }

    /// The entries of a list.
    package func entries(_ list: DirectoryList) -> [Int64: String] { (rows[list] ?? [:]).compactMapValues(\.label) }

    /// Forgets removed entries, so that cursors from before are too old.
    package func forgetRemovals() {
        oldest = version + 1
        version += 1
    }

    /// Plans a fault of the request with this number, counted from now on.
    package func plan(_ fault: Fault, at request: Int) { faults[requests.count + request] = fault }

    /// Waits until a request does not get an answer.
    package func silenceBegan() async {
        if isAsked { return }
        await withCheckedContinuation { waiting = $0 }
    }

    package func page(of list: DirectoryList, since cursor: DirectoryCursor?, limit: Int) async throws -> Data {
        requests.append("\(list.rawValue) \(cursor?.text ?? "-") \(limit)")
        switch faults.removeValue(forKey: requests.count) {
        case .restart: forgetRemovals()
        case .failure(let error): throw error
        case .network: throw NetworkError()
        case .body(let text): return Data(text.utf8)
        case .change(let list, let number, let label): set(list, [number: label])
        case .silence:
            isAsked = true
            waiting?.resume()
            try await Task.sleep(nanoseconds: 600_000_000_000)
        case nil: break
        }
        return page(list, Position(cursor), limit)
    }

    private func page(_ list: DirectoryList, _ position: Position?, _ limit: Int) -> Data {
        var position = position ?? Position(start: version)
        if position.number == 0 { position.start = version }
        if min(position.base ?? version, position.start) < oldest || position.base ?? 0 > version {
            position = Position(start: version)
        }
        let rows = rows[list] ?? [:]
        let matching = rows.filter { number, row in
            number > position.last && position.base.map { row.version > $0 } ?? (row.label != nil)
        }
        let numbers = matching.keys.sorted()
        let isEnd = numbers.count <= limit
        let page = numbers.prefix(limit)
        position.number += 1
        position.last = page.last ?? position.last
        let kind = position.base == nil ? "complete" : "changes"
        let cursor = isEnd ? "v\(position.start)" : position.text
        var text = "\(cursor)\t\(kind)\t\(isEnd ? "end" : "more")\t\(position.number)\n"
        for number in page {
            switch rows[number]?.label {
            case nil: text += "-\(number)\n"
            case let label? where list == .identities: text += "+\(number)\t\(label)\n"
            case .some: text += "+\(number)\n"
            }
        }
        return Data(text.utf8)
    }

    /// A cursor in its parts: `v3` at the end of a pass, `3.-.100.2` or `3.1.100.2` between two pages.
    private struct Position {
        var start: Int
        var base: Int?
        var last: Int64 = 0
        var number = 0

        init(start: Int) { self.start = start }

        init?(_ cursor: DirectoryCursor?) {
            guard let parts = cursor?.text.split(separator: ".") else { return nil }
            if parts.count == 1 {
                start = 0
                base = Int(parts[0].dropFirst())
            } else {
                start = Int(parts[0]) ?? 0
                base = Int(parts[1])
                last = Int64(parts[2]) ?? 0
                number = Int(parts[3]) ?? 0
            }
        }

        var text: String { "\(start).\(base.map(String.init) ?? "-").\(last).\(number)" }
    }
}

/// The cursors in memory.
package final class FakeCursors: DirectoryCursorStore, @unchecked Sendable {
    // @unchecked: the lock guards the value.
    private let lock = NSLock()
    private var value: DirectoryCursors?

    package init() {}

    package func read() -> DirectoryCursors? { lock.withLock { value } }
    package func write(_ cursors: DirectoryCursors?) { lock.withLock { value = cursors } }
}
