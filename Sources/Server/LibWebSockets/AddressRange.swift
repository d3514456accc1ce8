import CallPorts
internal import Glibc

extension ClientNetwork {
    init(_ address: PeerAddress) { self.init(high: address.high, low: address.isIPv4 ? address.low : 0) }

    /// Creates a network that stands for one connection of a trusted proxy.
    ///
    /// No other connection has the same network: the clients behind a proxy must not count as one.
    init(alone socket: SocketID) {
        // These first 64 bits are those of a multicast address. No peer has such an address, so no peer's network
        // equals this one.
        self.init(high: .max, low: socket.rawValue)
    }
}

/// An address or a block of addresses: `192.0.2.7`, `10.0.0.0/8`, `2001:db8::/32`.
package struct AddressRange: Hashable, Sendable {
    private let address: PeerAddress
    private let maskHigh: UInt64
    private let maskLow: UInt64

    /// Parses an address or a block; `nil` if the text is neither.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = PeerAddress(String(first)) else { return nil }
        let most = address.isIPv4 ? 32 : 128
        var bits = most
        if parts.count == 2 {
            let digits = parts[1].utf8
            guard (1...3).contains(digits.count), digits.allSatisfy({ (48...57).contains($0) }),
                let asked = Int(parts[1]), asked <= most
            else { return nil }
            bits = asked
        }
        if address.isIPv4 { bits += 96 }
        maskHigh = Self.mask(min(bits, 64))
        maskLow = Self.mask(max(0, bits - 64))
        self.address = address
    }

    func contains(_ other: PeerAddress) -> Bool {
        (address.high ^ other.high) & maskHigh == 0 && (address.low ^ other.low) & maskLow == 0
    }

    /// Returns a mask whose first `bits` bits are set, in network byte order.
    private static func mask(_ bits: Int) -> UInt64 {
        (bits == 0 ? 0 : UInt64.max << UInt64(64 - bits)).bigEndian
    }
}
