import Testing

@testable import OutboundHTTP

@Suite("An address")
struct PublicAddressTests {
    private func ipv4(_ text: String) -> UInt32 {
        text.split(separator: ".").reduce(0) { $0 << 8 | (UInt32($1) ?? 0) }
    }

    @Test(
        "Addresses of private networks, of this machine and of no network are not public",
        arguments: [
            "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255",
            "192.0.2.1", "192.168.1.1", "198.18.0.1", "203.0.113.9", "224.0.0.1", "255.255.255.255",
        ]
    )
    func privateIPv4(_ text: String) { #expect(!PublicAddress.isPublic(ipv4: ipv4(text))) }

    @Test(
        "Other addresses are public",
        arguments: ["1.1.1.1", "9.255.255.255", "11.0.0.0", "172.32.0.1", "192.169.0.1"]
    )
    func publicIPv4(_ text: String) { #expect(PublicAddress.isPublic(ipv4: ipv4(text))) }

    @Test("An IPv6 address is public if it is global unicast, and not a private IPv4 address in another form")
    func ipv6() {
        func address(_ head: [UInt8], _ tail: [UInt8] = []) -> [UInt8] {
            head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail
        }
        #expect(PublicAddress.isPublic(ipv6: address([0x2A, 0x00, 0x14, 0x50], [1])))
        #expect(PublicAddress.isPublic(ipv6: address([0x00, 0x64, 0xFF, 0x9B], [1, 1, 1, 1])))
        for bytes in [
            address([], [1]), address([]), address([0xFE, 0x80], [1]), address([0xFC], [1]), address([0xFD, 1], [1]),
            address([0xFF, 0x02], [1]), address([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], [127, 0, 0, 1]),
            address([0x00, 0x64, 0xFF, 0x9B], [127, 0, 0, 1]), address([0x20, 0x02, 10, 0, 0, 1], [1]),
            address([0x20, 0x01, 0x0D, 0xB8], [1]), address([0x20, 0x01, 0, 0], [1]),
        ] { #expect(!PublicAddress.isPublic(ipv6: bytes), "\(bytes)") }
    }

    @Test(
        "The own network has this machine's addresses and those of private networks, and names whose address is unknown",
        arguments: [
            "127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "172.31.9.9", "192.168.1.1", "169.254.1.1",
            "100.64.0.1", "::1", "fd00::1", "fc00::1", "fe80::1", "::ffff:10.0.0.1", "localhost", "backend.internal",
        ]
    )
    func own(_ host: String) { #expect(OwnNetwork.mayContain(host: host)) }

    @Test(
        "All other addresses are not of the own network",
        arguments: [
            "1.1.1.1", "172.32.0.1", "192.169.0.1", "100.128.0.1", "0.0.0.0", "224.0.0.1", "2a00:1450::1", "::",
            "::ffff:1.1.1.1", "fec0::1", "ff02::1", "64:ff9b::a00:1", "1:2",
        ]
    )
    func notOwn(_ host: String) { #expect(!OwnNetwork.mayContain(host: host)) }
}
