/// How many more requests a host may be handed now.
///
/// libcurl keeps requests without a connection in one list for all hosts, and the first of them blocks the rest. So it
/// is handed only what can run. How much that is depends on the protocol: a connection of HTTP/1.1 carries one request,
/// and one of HTTP/2 as many as the server allows, which libcurl does not tell. So the number is found by trial: the
/// first request goes alone, and each request that was sent makes room for two, until libcurl has no connection for
/// one. That one is taken back, and from then on each finished request makes room for one.
struct HostWindow {
    /// The requests handed over that have not finished.
    private(set) var open = 0
    /// Those of them that were not sent yet.
    private(set) var unsent = 0
    /// The limit of unsent requests while the number that can run is not known.
    private var window = 1
    /// The room that finished requests have left, once the number that can run is known; nil before.
    private var follows: Int?
    /// The number of requests that have finished since libcurl last had no connection for one.
    private var finishedSince = 0

    /// The largest number of unsent requests.
    private static let largestWindow = 64

    /// Returns whether one more request may be handed over.
    func hasRoom(atMost limit: Int) -> Bool {
        guard open < limit else { return false }
        return follows.map { $0 > 0 } ?? (unsent < window)
    }

    /// Records that a request was handed over.
    mutating func handedOver() {
        open += 1
        unsent += 1
        if let left = follows { follows = left - 1 }
    }

    /// Records that a request was sent; `isNewConnection`: on a connection that was made for it.
    mutating func sent(isNewConnection: Bool) {
        unsent -= 1
        if follows == nil {
            window = min(window * 2, Self.largestWindow)
        } else if isNewConnection {
            findOut()
        }
    }

    /// Records that a request was taken back: libcurl had no connection for it.
    mutating func tookBack() {
        open -= 1
        unsent -= 1
        (follows, finishedSince) = (0, 0)
    }

    /// Records that a request, sent or not, has finished or was not handed over in the end.
    ///
    /// `mayGrow`: Whether the host may meanwhile allow more requests at a time, as servers of HTTP/2 do.
    mutating func finished(wasSent: Bool, mayGrow: Bool) {
        open -= 1
        if !wasSent { unsent -= 1 }
        guard let left = follows else { return }
        follows = left + 1
        finishedSince += 1
        if open == 0 || (mayGrow && finishedSince > open) { findOut() }
    }

    /// Resets the window, so that it is measured again: after a lost connection, for instance.
    mutating func findOut() {
        (window, follows) = (1, nil)
    }
}
