import Glibc
import Threads

/// Looks names up on a few threads of its own, because `getaddrinfo` blocks for as long as the system's resolver likes.
///
/// libcurl would start a thread for each request. Here a thread starts when it is needed, and ends after some idle
/// seconds.
final class NameLookups: Sendable {
    private struct Job {
        let host: String
        let name: String
    }

    private struct State {
        var jobs: [Job] = []
        var threads = 0
        var idle = 0
        var isClosed = false
    }

    /// How long a thread waits for another name.
    private static let idleFor = Duration.seconds(10)

    private let limit: Int
    private let lookUp: @Sendable (String) -> [String]
    private let report: @Sendable (_ host: String, _ addresses: [String]) -> Void
    private let state = Monitor(State())

    /// Creates look-ups that have no thread yet.
    ///
    /// - Parameters:
    ///   - threads: the largest number of threads.
    ///   - lookUp: returns the addresses of a name; it may block.
    ///   - report: gets each result, on one of the threads.
    init(
        threads: Int,
        lookUp: @escaping @Sendable (String) -> [String],
        report: @escaping @Sendable (_ host: String, _ addresses: [String]) -> Void
    ) {
        limit = threads
        self.lookUp = lookUp
        self.report = report
    }

    /// Looks a name up for a host; returns immediately.
    func begin(_ host: String, name: String) {
        let needsThread = state.withLock { state in
            state.jobs.append(Job(host: host, name: name))
            guard state.idle < state.jobs.count, state.threads < limit else { return false }
            state.threads += 1
            return true
        }
        guard needsThread else { return }
        do {
            _ = try WorkThread(named: "names") { [self] in work() }
        } catch {
            // Another thread, or the next look-up, takes the name; without any thread it cannot be resolved now.
            let lost = state.withLock { state -> [Job] in
                state.threads -= 1
                guard state.threads == 0 else { return [] }
                defer { state.jobs = [] }
                return state.jobs
            }
            for job in lost { report(job.host, []) }
        }
    }

    /// Makes the idle threads end; those that are looking a name up end afterwards.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.jobs = []
        }
    }

    private func work() {
        while let job = nextJob() { report(job.host, lookUp(job.name)) }
    }

    private func nextJob() -> Job? {
        state.withLock { $0.idle += 1 }
        let found = state.wait(until: .now + Self.idleFor) { state -> Job?? in
            if state.isClosed { return .some(nil) }
            guard !state.jobs.isEmpty else { return nil }
            state.idle -= 1
            return state.jobs.removeFirst()
        }
        if let job = found ?? nil { return job }
        return state.withLock { state in
            // A name may have come after the wait was over.
            if !state.isClosed, !state.jobs.isEmpty {
                state.idle -= 1
                return state.jobs.removeFirst()
            }
            state.idle -= 1
            state.threads -= 1
            return nil
        }
    }

    /// Looks a name up as the system does; returns the addresses in order of preference.
    @Sendable static func system(_ name: String) -> [String] {
        // Without hints, IPv6 addresses of a machine that has only the loopback interface would be left out.
        var hints = addrinfo()
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(name, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var next = list
        while let info = next {
            next = info.pointee.ai_next
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let failure = getnameinfo(
                info.pointee.ai_addr,
                info.pointee.ai_addrlen,
                &text,
                socklen_t(text.count),
                nil,
                0,
                NI_NUMERICHOST
            )
            let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            // An address with a scope (`fe80::1%eth0`) is of this machine's own network; libcurl would not take it.
            if failure == 0, !address.contains("%"), !addresses.contains(address), addresses.count < maximumAddresses {
                addresses.append(address)
            }
        }
        return addresses
    }

    /// The largest number of addresses of a host that are tried.
    private static let maximumAddresses = 16
}
