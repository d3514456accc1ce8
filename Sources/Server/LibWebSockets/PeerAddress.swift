internal import CLibwebsockets
internal import Glibc

/// Numeric addresses as text.
package enum NumericAddress {
    /// Returns the text in which an address can be compared with others; `nil` if the text is no address of the family.
    package static func canonical(_ text: String, isIPv6: Bool) -> String? {
        guard text.contains(":") == isIPv6 else { return nil }
        return PeerAddress(text)?.text
    }
}

/// The address of a peer in 16 bytes; IPv4 in its mapped form.
struct PeerAddress: Hashable {
    private(set) var high: UInt64 = 0
    private(set) var low: UInt64 = 0

    init() {}

    init(_ storage: sockaddr_storage) {
        withUnsafeBytes(of: storage) { raw in
            guard raw.count >= MemoryLayout<sockaddr_in6>.size else { return }
            if Int32(storage.ss_family) == AF_INET6 {
                let address = raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr
                withUnsafeBytes(of: address) { bytes in
                    high = bytes.loadUnaligned(as: UInt64.self)
                    low = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
                }
            } else {
                let address = raw.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr
                low = (UInt64(address) << 32) | UInt64(UInt32(0xFFFF_0000).littleEndian)
            }
        }
    }

    /// Parses `203.0.113.7`, `2001:db8::1` or `::ffff:203.0.113.7` (`inet_pton`); nil for anything else.
    init?(_ text: String) {
        var bytes = (UInt64(0), UInt64(0))
        let isIPv4 = !text.contains(":")
        if isIPv4 { bytes.1 = UInt64(UInt32(0xFFFF_0000).littleEndian) }
        let isRead = withUnsafeMutableBytes(of: &bytes) { raw in
            inet_pton(isIPv4 ? AF_INET : AF_INET6, text, raw.baseAddress.map { isIPv4 ? $0 + 12 : $0 }) == 1
        }
        guard isRead else { return nil }
        (high, low) = bytes
    }

    var isIPv4: Bool { high == 0 && UInt32(truncatingIfNeeded: low) == UInt32(0xFFFF_0000).littleEndian }

    /// The address as text: `203.0.113.7` or `2001:db8::1` (`inet_ntop`).
    var text: String {
        var bytes = (high, low)
        let isMapped = isIPv4
        return String(unsafeUninitializedCapacity: Int(INET6_ADDRSTRLEN)) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { text in
                withUnsafeBytes(of: &bytes) { raw in
                    let from = raw.baseAddress.map { isMapped ? $0 + 12 : $0 }
                    guard
                        inet_ntop(isMapped ? AF_INET : AF_INET6, from, text.baseAddress, socklen_t(text.count)) != nil,
                        let base = text.baseAddress
                    else { return 0 }
                    return strlen(base)
                }
            }
        }
    }
}
