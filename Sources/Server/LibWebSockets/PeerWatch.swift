internal import CLibwebsockets
import CallPorts
internal import Glibc

/// Reports a peer that hangs up, or pipelines much, while its request waits for the response or while it reads one.
///
/// While a response is pending or being sent, libwebsockets neither reads the socket nor stops polling it for reading.
/// A peer that hangs up or pipelines would make the event loop spin. So the socket of such a response gets a low-water
/// mark, below which it is not readable, and an entry in a separate epoll set. That set is nested in the loop, and
/// reports both a hang-up and more data than the mark. If the response is still pending then, the library is told to
/// stop polling, which costs more.
struct PeerWatch {
    /// The number of bytes that a peer may pipeline, after a request that waits for its response, before it is reported.
    static let lowWaterBytes: Int32 = 65_536

    let descriptor: Int32

    init() {
        descriptor = clws_epoll_make()
    }

    func close() {
        Glibc.close(descriptor)
    }

    func add(_ socket: Int32, _ id: SocketID) {
        Self.setLowWater(of: socket, to: Self.lowWaterBytes)
        _ = clws_epoll_add(descriptor, socket, id.rawValue, 1)
    }

    /// Reports nothing more of a watched peer than its hang-up.
    func awaitHangUp(_ socket: Int32, _ id: SocketID) {
        remove(socket)
        _ = clws_epoll_add(descriptor, socket, id.rawValue, 0)
    }

    func remove(_ socket: Int32) {
        _ = clws_epoll_remove(descriptor, socket)
        Self.setLowWater(of: socket, to: 1)
    }

    /// Returns the watched connections with an event, up to 64.
    func poll() -> [SocketID] {
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
