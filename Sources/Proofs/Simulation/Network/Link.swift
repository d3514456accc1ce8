/// One connection, as seen from both ends.
struct Link {
    let device: Int
    let instance: Int
    /// The run of the server in which it was opened or adopted.
    var run: Int
    var isOpenAtServer = false
    var isOpenAtDevice = true
    /// Whether nothing gets through any more, although neither end was notified.
    var isHalfOpen = false
    /// Whether the device's end is never notified: the socket is on a path that the device has left.
    var neverCloses = false
    /// The number of a real app's attempt to connect; 0 for a model client.
    var attempt: UInt64 = 0
    var openedAt: Int64
    /// When the server closed it, or was told of its end; 0 = it is open, or has ended with the server.
    var endedAtServer: Int64 = 0
    /// When the server last sent a ping on it.
    var pingedAt: Int64 = 0
    /// When the server last received anything on it.
    var heardAt: Int64 = 0
    /// The earliest time at which the next message may arrive, by direction: messages on one socket keep their order.
    var upUntil: Int64 = 0
    var downUntil: Int64 = 0
    /// Until when the connection is slow, and its rate in that time.
    var slow: (until: Int64, bytesPerSecond: Int64)?
    /// Whether the server has closed it.
    ///
    /// Frames in transit still arrive.
    var isClosing = false
    /// The node that has the socket, and its run.
    var node = 0
    var life = 0
    /// Whether the socket is open at its node.
    var isOpenAtNode = false
    /// When the present owner adopted the socket.
    var adoptedAt: Int64 = 0
    /// The `seq` of the last entry of each call that its node wrote to it.
    var written: [CallName: UInt64] = [:]
    /// The value of ``written`` at the last adoption; empty once the device has sent `sync`.
    var writtenBeforeAdoption: [CallName: UInt64] = [:]

    /// Records that the server has closed it, or was told of its end.
    mutating func endAtServer(at now: Int64) {
        isOpenAtServer = false
        endedAtServer = now
    }
}
