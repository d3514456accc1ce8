internal import CLibwebsockets
internal import Glibc

/// Tells when the peer of a request that awaits its response goes away, or sends more than it should.
///
/// While a response is pending libwebsockets neither reads the socket nor stops asking for it to be readable: a peer that
/// hangs up or pipelines would make the loop spin. So such a socket gets a low-water mark (no "readable" below it) and
/// a place in an epoll set of our own, nested in the loop, that reports both the hang-up and too much data.
struct PeerWatch {
    /// What a peer may pipeline behind a request that awaits its response, in bytes.
    static let lowWaterBytes: Int32 = 65_536

    let descriptor: Int32

    init() {
        descriptor = clws_epoll_make()
    }

    func close() {
        Glibc.close(descriptor)
    }

    func add(_ socket: Int32, _ id: ConnectionID, raisingLowWater: Bool) {
        if raisingLowWater { Self.setLowWater(of: socket, to: Self.lowWaterBytes) }
        _ = clws_epoll_add(descriptor, socket, id.rawValue)
    }

    func remove(_ socket: Int32) {
        _ = clws_epoll_remove(descriptor, socket)
        Self.setLowWater(of: socket, to: 1)
    }

    /// Those about which something happened.
    func take() -> [ConnectionID] {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 64) { numbers in
            let count = clws_epoll_take(descriptor, numbers.baseAddress)
            return (0..<max(0, Int(count))).compactMap {
                ConnectionID(opaque: UnsafeMutableRawPointer(bitPattern: UInt(numbers[$0])))
            }
        }
    }

    private static func setLowWater(of socket: Int32, to bytes: Int32) {
        var bytes = bytes
        setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }
}
