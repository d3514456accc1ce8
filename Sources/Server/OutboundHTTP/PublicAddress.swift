import CCurl
import Glibc

/// Tells addresses that are reachable from everywhere from those of private networks and of this machine.
enum PublicAddress {
    /// The blocks of IPv4 addresses that are not reachable from everywhere: first address and number of bits.
    ///
    /// Source: IANA IPv4 Special-Purpose Address Registry (RFC 6890).
    private static let privateIPv4: [(UInt32, UInt32)] = [
        (0x0000_0000, 8), (0x0A00_0000, 8), (0x6440_0000, 10), (0x7F00_0000, 8), (0xA9FE_0000, 16), (0xAC10_0000, 12),
        (0xC000_0000, 24), (0xC000_0200, 24), (0xC058_6300, 24), (0xC0A8_0000, 16), (0xC612_0000, 15),
        (0xC633_6400, 24), (0xCB00_7100, 24), (0xE000_0000, 4), (0xF000_0000, 4),
    ]

    /// Returns whether a socket address is a public one.
    static func isPublic(_ address: UnsafePointer<sockaddr>, _ byteCount: Int) -> Bool {
        read(address, byteCount, ipv4: isPublic(ipv4:), ipv6: isPublic(ipv6:)) ?? false
    }

    /// Returns what is said of the address in a socket address, as a number or as 16 bytes; `nil` if it is of another
    /// family.
    static func read(
        _ address: UnsafePointer<sockaddr>,
        _ byteCount: Int,
        ipv4: (UInt32) -> Bool,
        ipv6: ([UInt8]) -> Bool
    ) -> Bool? {
        switch Int32(address.pointee.sa_family) {
        case AF_INET where byteCount >= MemoryLayout<sockaddr_in>.size:
            return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                ipv4(UInt32(bigEndian: $0.pointee.sin_addr.s_addr))
            }
        case AF_INET6 where byteCount >= MemoryLayout<sockaddr_in6>.size:
            return address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                var bytes = address.pointee.sin6_addr
                return withUnsafeBytes(of: &bytes) { ipv6(Array($0)) }
            }
        default: return nil
        }
    }

    /// Returns whether an IPv4 address is a public one.
    static func isPublic(ipv4 address: UInt32) -> Bool {
        !privateIPv4.contains { first, bits in (address ^ first) >> (32 - bits) == 0 }
    }

    /// Returns whether an IPv6 address, 16 bytes, is a public one: global unicast, or an IPv4 address within it.
    ///
    /// Sources: IANA IPv6 Special-Purpose Address Registry; RFC 6052 (`64:ff9b::/96`), RFC 3056 (`2002::/16`).
    static func isPublic(ipv6 bytes: [UInt8]) -> Bool {
        let embedded: (Int) -> UInt32 = { start in bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) } }
        if bytes.starts(with: [0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) { return isPublic(ipv4: embedded(12)) }
        if bytes.starts(with: [0x20, 0x02]) { return isPublic(ipv4: embedded(2)) }
        // Global unicast is 2000::/3; within it, 2001::/23 is for protocols and 2001:db8::/32 for documentation.
        guard bytes[0] >> 5 == 1 else { return false }
        return !(bytes.starts(with: [0x20, 0x01]) && bytes[2] < 2) && !bytes.starts(with: [0x20, 0x01, 0x0D, 0xB8])
    }
}

/// The proxy that libcurl takes from the environment.
enum EnvironmentProxy {
    /// Whether the environment names a proxy for `https`.
    static let isNamed = isNamed(["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
    /// Whether the environment names a proxy for `http`; libcurl does not read `HTTP_PROXY`.
    private static let isNamedForPlain = isNamed(["http_proxy", "all_proxy", "ALL_PROXY"])

    /// Returns whether the environment names a proxy for addresses with this scheme.
    static func isNamed(for scheme: String) -> Bool { scheme == "https" ? isNamed : isNamedForPlain }

    private static func isNamed(_ variables: [String]) -> Bool {
        variables.contains { (name: String) in getenv(name).map { $0.pointee != 0 } ?? false }
    }
}
