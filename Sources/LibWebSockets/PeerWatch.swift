internal import CLibwebsockets
internal import Glibc

/// Reports a peer that hangs up, or sends more than it should, while its request waits for the response.
///
/// While a response is pending, libwebsockets neither reads the socket nor stops polling it for reading. A peer that
/// hangs up or pipelines would make the event loop spin. So the socket of a pending response gets a low-water mark,
/// below which it is not readable, and an entry in a separate epoll set. That set is nested in the loop, and reports
/// both a hang-up and too much data.
struct PeerWatch {
    /// The number of bytes that a peer may pipeline after a request that waits for its response.
    static let lowWaterBytes: Int32 = 65_536

    let descriptor: Int32

    init() {
        descriptor = clws_epoll_make()
    }

    func close() {
        Glibc.close(descriptor)
    }

    func add(_ socket: Int32, _ id: SocketID, raisingLowWater: Bool) {
        if raisingLowWater { Self.setLowWater(of: socket, to: Self.lowWaterBytes) }
        _ = clws_epoll_add(descriptor, socket, id.rawValue)
    }

    func remove(_ socket: Int32) {
        _ = clws_epoll_remove(descriptor, socket)
        Self.setLowWater(of: socket, to: 1)
    }

    /// Returns the watched connections with an event, up to 64.
    func take() -> [SocketID] {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 64) { numbers in
            let count = clws_epoll_take(descriptor, numbers.baseAddress)
            return (0..<max(0, Int(count))).compactMap {
                SocketID(opaque: UnsafeMutableRawPointer(bitPattern: UInt(numbers[$0])))
            }
        }
    }

    private static func setLowWater(of socket: Int32, to bytes: Int32) {
        var bytes = bytes
        setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }
}
