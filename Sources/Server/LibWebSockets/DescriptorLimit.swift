internal import Glibc

/// Raises RLIMIT_NOFILE, and chooses the descriptor limit of libwebsockets.
enum DescriptorLimit {
    /// Descriptors reserved for other uses: files, other libraries, and one `accept` above the limit.
    static let margin = 64
    /// Descriptors that each further event loop uses: its listener, epoll sets, wake-ups, a spare one.
    private static let perLoop = 16
    /// The largest size of the library's tables, in descriptors.
    ///
    /// Each entry takes 16 bytes, which the library writes at the start.
    static let maximum = 131_072 + margin
    /// The smallest size of the library's tables, in descriptors.
    ///
    /// The library refuses a descriptor whose number is above that size, and files that were opened before the
    /// connections have the low numbers.
    static let minimum = 1_024

    /// Returns the number of descriptors that connections may not use.
    static func reserve(loops: Int) -> Int { margin + perLoop * (loops - 1) }

    /// Runs `body` with the number of descriptors that libwebsockets may use, and leaves the soft limit at the hard
    /// one.
    ///
    /// `fd_limit_per_thread` must be below RLIMIT_NOFILE, or a full table makes the library spin and log. But it must
    /// equal RLIMIT_NOFILE when the context is created. Otherwise the library finds a socket by walking its whole table
    /// at each event (`max_fds_unrelated_to_ulimit`). So the soft limit is set to the library's own limit first, and
    /// raised only afterwards.
    static func library<Result>(
        wanting wanted: Int?,
        loops: Int,
        _ body: (Int) -> Result
    ) -> (result: Result, limit: Int) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return (body(1_024), 1_024) }
        let hard = Int(min(limit.rlim_max, rlim_t(1 << 20)))
        let needed = wanted.map { $0 + margin + reserve(loops: loops) } ?? maximum
        let ours = max(128, min(hard - margin, max(minimum, needed)))
        var seen = rlimit(rlim_cur: rlim_t(ours), rlim_max: limit.rlim_max)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &seen)
        let result = body(ours)
        var raised = rlimit(rlim_cur: rlim_t(hard), rlim_max: limit.rlim_max)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised)
        return (result, ours)
    }
}
