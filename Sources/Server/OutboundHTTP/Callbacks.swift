import CCurl
import Glibc

// The functions that libcurl calls, on the client's thread and only from within the loop's own calls.

private func transfer(_ pointer: UnsafeMutableRawPointer?) -> Transfer? {
    pointer.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
}

/// CURLOPT_WRITEFUNCTION: returns the number of bytes that libcurl passed; any other return value aborts the transfer.
@c(ringline_curl_takes_body)
func curlTakesBody(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ pointer: UnsafeMutableRawPointer?
) -> Int {
    let taken = transfer(pointer)?.bodyReceived(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? false
    return taken ? size * count : -1
}

/// CURLOPT_HEADERFUNCTION: does the same as the function above, for one whole header line.
@c(ringline_curl_takes_header)
func curlTakesHeader(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ pointer: UnsafeMutableRawPointer?
) -> Int {
    let taken = transfer(pointer)?.headerReceived(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? false
    return taken ? size * count : -1
}

/// CURLOPT_PREREQFUNCTION: the connection is established, and the request is sent next.
///
/// The addresses and ports of the two ends are ignored.
@c(ringline_curl_sends)
func curlSends(
    _ pointer: UnsafeMutableRawPointer?,
    _ peer: UnsafeMutablePointer<CChar>?,
    _ own: UnsafeMutablePointer<CChar>?,
    _ peerPort: CInt,
    _ ownPort: CInt
) -> CInt {
    transfer(pointer)?.markSent()
    return CURL_PREREQFUNC_OK
}

/// CURLOPT_SOCKOPTFUNCTION: sets `TCP_USER_TIMEOUT`; the user pointer is the number of milliseconds itself.
@c(ringline_curl_socket_made)
func curlSocketMade(_ pointer: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ purpose: curlsocktype) -> CInt {
    var milliseconds = CUnsignedInt(clamping: Int(bitPattern: pointer))
    // If a system refuses the option, lost connections are only noticed later.
    _ = setsockopt(
        socket,
        CInt(IPPROTO_TCP),
        TCP_USER_TIMEOUT,
        &milliseconds,
        socklen_t(MemoryLayout<CUnsignedInt>.size)
    )
    return CURL_SOCKOPT_OK
}

/// CURLOPT_RESOLVER_START_FUNCTION: libcurl resolves a name by itself, such as that of a proxy.
@c(ringline_curl_resolves)
func curlResolves(
    _ state: UnsafeMutableRawPointer?,
    _ reserved: UnsafeMutableRawPointer?,
    _ pointer: UnsafeMutableRawPointer?
) -> CInt {
    transfer(pointer)?.markConnecting()
    return 0
}

/// CURLOPT_OPENSOCKETFUNCTION: makes the socket for an address, unless there is no place for another connection or the
/// request refuses the address.
@c(ringline_curl_opens_socket)
func curlOpensSocket(
    _ pointer: UnsafeMutableRawPointer?,
    _ purpose: curlsocktype,
    _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let address, let transfer = transfer(pointer), transfer.mayConnect() else {
        return ringline_curl_no_socket()
    }
    guard transfer.allows(ringline_curl_address(address), Int(address.pointee.addrlen)) else {
        return ringline_curl_no_socket()
    }
    let kind = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    return socket(address.pointee.family, kind, address.pointee.protocol)
}
