import Glibc

/// The addresses of this machine and of private networks, to which plain `http` may go.
///
/// Unlike the opposite of `PublicAddress`, it is a list of what is allowed: an address of an unknown kind is not in it.
package enum OwnNetwork {
    /// The blocks of IPv4 addresses: first address and number of bits.
    ///
    /// Sources: RFC 1122 (loopback), RFC 1918 (private), RFC 3927 (link-local), RFC 6598 (shared, as overlay networks use
    /// it).
    private static let ipv4: [(UInt32, UInt32)] = [
        (0x7F00_0000, 8), (0x0A00_0000, 8), (0xAC10_0000, 12), (0xC0A8_0000, 16), (0xA9FE_0000, 16),
        (0x6440_0000, 10),
    ]

    /// Returns whether a host may be of the own network: an address of it, or a name, whose addresses are not known yet.
    package static func mayContain(host: String) -> Bool {
        var address = in_addr()
        if inet_pton(AF_INET, host, &address) == 1 { return contains(ipv4: UInt32(bigEndian: address.s_addr)) }
        guard host.contains(":") else { return true }
        var bytes = [UInt8](repeating: 0, count: 16)
        return inet_pton(AF_INET6, host, &bytes) == 1 && contains(ipv6: bytes)
    }

    /// Returns whether a socket address is one of the own network.
    static func contains(_ address: UnsafePointer<sockaddr>, _ byteCount: Int) -> Bool {
        PublicAddress.read(address, byteCount, ipv4: contains(ipv4:), ipv6: contains(ipv6:)) ?? false
    }

    /// Returns whether an IPv4 address is one of the own network.
    static func contains(ipv4 address: UInt32) -> Bool {
        ipv4.contains { first, bits in (address ^ first) >> (32 - bits) == 0 }
    }

    /// Returns whether an IPv6 address, 16 bytes, is one of the own network.
    ///
    /// Sources: RFC 4291 (loopback, link-local, IPv4-mapped), RFC 4193 (unique local).
    static func contains(ipv6 bytes: [UInt8]) -> Bool {
        if bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) {
            return contains(ipv4: bytes[12...].reduce(0) { $0 << 8 | UInt32($1) })
        }
        let isLoopback = bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
        return isLoopback || bytes[0] & 0xFE == 0xFC || (bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80)
    }
}
