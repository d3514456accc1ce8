internal import CLibwebsockets
internal import Glibc

/// Makes `%00` in a request's address a byte that can be refused with a word.
///
/// The library ends a connection without an answer when it decodes a NUL, or cuts the text there. So in what was just read it
/// becomes `%01`, which it decodes like any other byte: no id, path or token may have that in it either, and whoever looks
/// at the field says so.
///
/// A WebSocket's frame begins with a byte above 0x7F or below 0x03, so relaying pays one comparison for this. An escape that is
/// torn over two reads, or behind another request in the same packet, still ends the connection.
enum EscapedNUL {
    @inline(__always)
    static func mend(_ bytes: UnsafeMutableRawPointer?, count: Int) {
        guard count > 16, let bytes, (65...90).contains(bytes.load(as: UInt8.self)) else { return }
        mendAddress(UnsafeMutableRawBufferPointer(start: bytes, count: count))
    }

    /// A body may hold what looks like an escape, and begin a read: only a first line of a method and a path is touched.
    @inline(never)
    private static func mendAddress(_ bytes: UnsafeMutableRawBufferPointer) {
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

    /// OpenSSL's own function (`dlsym` with RTLD_NEXT, which is -1).
    static let tlsRead: TLSRead? = {
        dlsym(UnsafeMutableRawPointer(bitPattern: -1), "SSL_read").map { unsafeBitCast($0, to: TLSRead.self) }
    }()
}

/// Stands in front of the C library's function of the same name, which is this one without an address: see `EscapedNUL`.
///
/// Public because only then is its symbol visible to the library in an optimized build.
@c(recv)
public func clwsReceive(_ socket: Int32, _ bytes: UnsafeMutableRawPointer?, _ room: Int, _ flags: Int32) -> Int {
    let count = recvfrom(socket, bytes, room, flags, nil, nil)
    EscapedNUL.mend(bytes, count: count)
    return count
}

/// Stands in front of OpenSSL's function of the same name, see `EscapedNUL`.
///
/// Public because only then is its symbol visible to the library in an optimized build.
@c(SSL_read)
public func clwsReceiveTLS(_ connection: OpaquePointer?, _ bytes: UnsafeMutableRawPointer?, _ room: Int32) -> Int32 {
    let count = EscapedNUL.tlsRead?(connection, bytes, room) ?? -1
    EscapedNUL.mend(bytes, count: Int(count))
    return count
}
