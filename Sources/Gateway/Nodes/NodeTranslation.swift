import CallCore
import CallPorts
import Cluster
import LibWebSockets

/// The numbers of the sockets and requests of other nodes.
///
/// At the owner, the number of another node's socket is that node's own number with the number of the node's link, 1 to
/// 7, in bits 28 to 30. These bits are 0 in the numbers of a node's own sockets.
enum LinkNumber {
    /// The numbers of the links that an owner can have at the same time.
    static let range = 1...7

    private static let shift: UInt64 = 28
    private static let mask: UInt64 = 7 << shift

    /// Whether a number belongs to a socket or request of another loop or another node.
    @inline(__always)
    static func isElsewhere(_ number: UInt64) -> Bool { number & (mask | 15 << 24) != 0 }

    /// Returns the link of a number; 0 = this node.
    @inline(__always)
    static func link(of number: UInt64) -> Int { Int(truncatingIfNeeded: (number & mask) >> shift) }

    /// Returns the owner's number of a socket or request of a link.
    static func number(_ number: UInt64, on link: Int) -> UInt64 { number & ~mask | UInt64(link) << shift }

    /// Returns the other node's own number.
    static func edgeNumber(_ number: UInt64) -> UInt64 { number & ~mask }
}

extension EdgeRequestHead {
    init(_ head: RequestHead) {
        self.init(
            method: head.method,
            path: head.path,
            query: head.query.map { Field($0.name, $0.value) },
            authorization: head.authorization,
            origin: head.origin,
            host: head.host,
            contentType: head.contentType,
            protocols: head.protocols,
            isTLS: head.isTLS,
            clientNetwork: ClientNetwork(high: head.clientNetwork.high, low: head.clientNetwork.low)
        )
    }
}

extension RequestHead {
    init(_ head: EdgeRequestHead) {
        self.init(
            method: head.method,
            path: head.path,
            query: head.query.map { ($0.name, $0.value) },
            authorization: head.authorization,
            origin: head.origin,
            host: head.host,
            contentType: head.contentType,
            protocols: head.protocols,
            isTLS: head.isTLS
        )
        clientNetwork = ClientNetwork(high: head.clientNetwork.high, low: head.clientNetwork.low)
    }
}

extension EdgeResponse {
    init(_ response: HTTPResponse) {
        self.init(
            status: UInt16(clamping: response.status),
            contentType: response.contentType,
            headers: response.headers.map { .init($0.name, $0.value) },
            body: response.body,
            problem: response.problem.map { .init(code: $0.code, message: $0.message) }
        )
    }
}

extension HTTPResponse {
    init(_ response: EdgeResponse) {
        self.init(
            status: Int(response.status),
            contentType: response.contentType,
            headers: response.headers.map { .init($0.name, $0.value) },
            body: response.body
        )
        problem = response.problem.map { .init(code: $0.code, message: $0.message) }
    }
}

extension Principal {
    /// Returns the principal with its moments counted by another clock, which is ahead by a duration.
    func shifted(by difference: Moment.Duration) -> Principal {
        guard difference != .milliseconds(0) else { return self }
        var principal = self
        principal.expiresAt = expiresAt.map { $0 + difference }
        principal.issuedAt = issuedAt.map { $0 + difference }
        return principal
    }
}
