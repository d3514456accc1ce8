internal import CLibwebsockets
internal import Glibc

/// A workaround with which a request with `%00` in its URL gets a response that refuses it.
///
/// When the library decodes a NUL, it ends the connection without a response, or cuts the text there. So this code
/// replaces `%00` by `%01` in the request line just read. The library decodes `%01` like any other byte. No id, path or
/// token may contain the byte 1 either, so the code that reads the field refuses it.
///
/// A WebSocket frame begins with a byte above 0x7F or below 0x03, so for a relayed frame the check is a single
/// comparison. The code misses an escape that is split over two reads, and an escape in a request that is pipelined
/// after another. Such a request still ends the connection.
enum EscapedNUL {
    @inline(__always)
    static func repair(_ bytes: UnsafeMutableRawPointer?, count: Int) {
        guard count > 16, let bytes, (65...90).contains(bytes.load(as: UInt8.self)) else { return }
        repairAddress(UnsafeMutableRawBufferPointer(start: bytes, count: count))
    }

    /// Changes only a request line.
    ///
    /// A read may also begin with a body, which may contain the same three characters.
    @inline(never)
    private static func repairAddress(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let blank = bytes.prefix(8).firstIndex(of: UInt8(ascii: " ")), bytes[blank + 1] == UInt8(ascii: "/"),
            bytes[..<blank].allSatisfy({ (65...90).contains($0) })
        else { return }
        var index = blank
        while index + 2 < bytes.count, bytes[index] != UInt8(ascii: "\n") {
            if bytes[index] == UInt8(ascii: "%"), bytes[index + 1] == UInt8(ascii: "0"),
                bytes[index + 2] == UInt8(ascii: "0")
            {
                bytes[index + 2] = UInt8(ascii: "1")
            }
            index += 1
        }
    }

    typealias TLSRead = @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, Int32) -> Int32

    /// OpenSSL's original function (`dlsym` with RTLD_NEXT, which is -1).
    static let tlsRead: TLSRead? = {
        dlsym(UnsafeMutableRawPointer(bitPattern: -1), "SSL_read").map { unsafeBitCast($0, to: TLSRead.self) }
    }()
}

/// Replaces the C library's function of the same name, which is `recvfrom` without an address: see `EscapedNUL`.
///
/// Public because only then is its symbol visible to the library in an optimized build.
@c(recv)
public func clwsReceive(_ socket: Int32, _ bytes: UnsafeMutableRawPointer?, _ room: Int, _ flags: Int32) -> Int {
    let count = recvfrom(socket, bytes, room, flags, nil, nil)
    EscapedNUL.repair(bytes, count: count)
    return count
}

/// Replaces OpenSSL's function of the same name, see `EscapedNUL`.
///
/// Public because only then is its symbol visible to the library in an optimized build.
@c(SSL_read)
public func clwsReceiveTLS(_ connection: OpaquePointer?, _ bytes: UnsafeMutableRawPointer?, _ room: Int32) -> Int32 {
    let count = EscapedNUL.tlsRead?(connection, bytes, room) ?? -1
    EscapedNUL.repair(bytes, count: Int(count))
    return count
}
