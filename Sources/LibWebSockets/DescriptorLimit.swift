internal import Glibc

/// RLIMIT_NOFILE, raised, and what libwebsockets is told of it.
enum DescriptorLimit {
    /// Descriptors kept for others: files, other libraries, one `accept` too many.
    static let margin = 64
    /// What each further loop has for itself: its listener, epoll sets, wake-ups, a spare one.
    private static let perLoop = 16
    /// What the library's tables are laid out for at most: 16 bytes an entry, touched at start.
    static let most = 131_072 + margin
    /// What they are laid out for at least.
    ///
    /// The library refuses a socket by its descriptor's number, and files that others opened before have the low ones.
    static let fewest = 1_024

    /// Descriptors that no connection may have.
    static func reserve(loops: Int) -> Int { margin + perLoop * (loops - 1) }

    /// Runs `body` with the number of descriptors that libwebsockets may use, and leaves the soft limit at the hard one.
    ///
    /// `fd_limit_per_thread` must be below RLIMIT_NOFILE, or a full table makes the library spin and log. But set below
    /// the limit that it sees while its context is made, it looks a socket up by walking its whole table at each event
    /// (`max_fds_unrelated_to_ulimit`). So it sees a soft limit that equals its own limit, and only then is it raised.
    static func library<Result>(
        wanting wanted: Int?,
        loops: Int,
        _ body: (Int) -> Result
    ) -> (result: Result, limit: Int) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return (body(1_024), 1_024) }
        let hard = Int(min(limit.rlim_max, rlim_t(1 << 20)))
        let needed = wanted.map { $0 + margin + reserve(loops: loops) } ?? most
        let ours = max(128, min(hard - margin, max(fewest, needed)))
        var seen = rlimit(rlim_cur: rlim_t(ours), rlim_max: limit.rlim_max)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &seen)
        let result = body(ours)
        var raised = rlimit(rlim_cur: rlim_t(hard), rlim_max: limit.rlim_max)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised)
        return (result, ours)
    }
}
