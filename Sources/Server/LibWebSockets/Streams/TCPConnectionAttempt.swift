internal import CLibwebsockets
internal import Glibc

/// The reason why a connection was not opened.
package enum TCPConnectFailure: Error, Equatable {
    /// The peer's system answered that no process listens there (`ECONNREFUSED`).
    case refused
    /// Any other failure, such as a name without an address or an unreachable network.
    case failed(String)
}

/// An attempt to open a connection, started by ``Server/connect(toHost:port:opened:)``.
///
/// If the name has several addresses, a further one is tried when an attempt has failed or has taken 250 ms; the first
/// connection that opens wins (RFC 8305).
package final class TCPConnectionAttempt {
    let endpoint: Endpoint
    /// Whether the addresses are still being looked up.
    private(set) var awaitsAddresses = true

    private unowned let server: Server
    /// The closure that receives the result; nil once the attempt is over.
    private var opened: ((Result<TCPStream, TCPConnectFailure>) -> Void)?
    private var addresses: ArraySlice<SocketAddress> = []
    private var connecting: [UnsafeMutablePointer<uv_tcp_t>] = []
    private var wasRefused = false
    /// The last error that was not a refusal; 0 for none.
    private var error: Int32 = 0
    /// The last error of an address that this machine cannot use; 0 for none.
    private var unusable: Int32 = 0
    private var nextTimer: LoopTimer?

    /// The delay in milliseconds after which the next address is tried: RFC 8305, section 5.
    private static let nextAddressMilliseconds: UInt64 = 250

    init(
        _ endpoint: Endpoint,
        on server: Server,
        opened: @escaping (Result<TCPStream, TCPConnectFailure>) -> Void
    ) {
        self.endpoint = endpoint
        self.server = server
        self.opened = opened
    }

    /// Gives up; the closure is not called any more.
    ///
    /// Does nothing if the attempt is over.
    package func cancel() {
        guard opened != nil else { return }
        server.checkThread()
        server.streams.attempts[ObjectIdentifier(self)] = nil
        closeHandles()
    }

    func addressesFound(_ found: Result<[SocketAddress], TCPConnectFailure>) {
        guard opened != nil, awaitsAddresses else { return }
        awaitsAddresses = false
        switch found {
        case .failure(let failure): finish()?(.failure(failure))
        case .success(let addresses):
            self.addresses = addresses[...]
            if addresses.count > 1 { nextTimer = LoopTimer(on: server) { [unowned self] in connectToNext() } }
            connectToNext()
        }
    }

    private func connectToNext() {
        while let address = addresses.popFirst() {
            let result = connect(to: address)
            guard result < 0 else {
                nextTimer?.set(afterMilliseconds: addresses.isEmpty ? nil : Self.nextAddressMilliseconds)
                return
            }
            note(result)
        }
        if connecting.isEmpty { finish()?(.failure(failure)) }
    }

    private func connect(to address: SocketAddress) -> Int32 {
        let handle = LoopHandles.makeTCP(on: server.handles.loop)
        handle.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        let request = UnsafeMutablePointer<uv_connect_t>.allocate(capacity: 1)
        let result = address.withSockaddr { uv_tcp_connect(request, handle, $0, clwsStreamConnected) }
        if result < 0 {
            request.deallocate()
            LoopHandles.closeAndFree(handle)
        } else {
            connecting.append(handle)
        }
        return result
    }

    func connected(_ handle: UnsafeMutablePointer<uv_tcp_t>, _ status: Int32) {
        connecting.removeAll { $0 == handle }
        server.hasWorkedThisTurn = true
        guard status < 0 else {
            let opened = finish()
            server.addStream(handle) { opened?(.success($0)) }
            return
        }
        LoopHandles.closeAndFree(handle)
        note(status)
        connectToNext()
    }

    /// Notes why an address failed.
    private func note(_ code: Int32) {
        switch code {
        case UV_ECONNREFUSED.rawValue: wasRefused = true
        // This machine cannot use the address's family, so the address says nothing about the peer.
        case UV_ENETUNREACH.rawValue, UV_EAFNOSUPPORT.rawValue, UV_EADDRNOTAVAIL.rawValue:
            unusable = code
        default: error = code
        }
    }

    private var failure: TCPConnectFailure {
        if error == 0, wasRefused { return .refused }
        let code = error == 0 ? unusable : error
        return .failed(code == 0 ? "the name has no address" : String(cString: uv_strerror(code)))
    }

    /// Ends the attempt and returns the closure, once.
    private func finish() -> ((Result<TCPStream, TCPConnectFailure>) -> Void)? {
        let opened = opened
        cancel()
        return opened
    }

    /// Closes the handles without a word to the server, which may be ending.
    func closeHandles() {
        opened = nil
        nextTimer = nil
        for handle in connecting { LoopHandles.closeAndFree(handle) }
        connecting = []
    }
}
