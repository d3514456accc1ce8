package import CallPorts

/// The numbers of the sockets and requests of other nodes.
///
/// At the owner, the number of another node's socket is that node's own number with the number of the node's link, 1 to
/// 7, in bits 28 to 30. These bits are 0 in the numbers of a node's own sockets.
package enum LinkNumber {
    /// The numbers of the links that an owner can have at the same time.
    package static let range = 1...7

    @usableFromInline static let shift: UInt64 = 28
    @usableFromInline static let mask: UInt64 = 7 << 28

    /// Returns whether a number belongs to a socket or request of another loop or another node.
    @inlinable
    package static func isElsewhere(_ number: UInt64) -> Bool { number & (mask | 15 << 24) != 0 }

    /// Returns the link of a number; 0 = this node.
    @inlinable
    package static func link(of number: UInt64) -> Int { Int(truncatingIfNeeded: (number & mask) >> shift) }

    /// Returns the owner's number of a socket or request of a link.
    @inlinable
    package static func number(_ number: UInt64, on link: Int) -> UInt64 { number & ~mask | UInt64(link) << shift }

    /// Returns the other node's own number.
    @inlinable
    package static func edgeNumber(_ number: UInt64) -> UInt64 { number & ~mask }
}

extension SocketID {
    /// Returns the owner's number of a socket of a link.
    package func over(_ link: Int) -> SocketID { SocketID(rawValue: LinkNumber.number(rawValue, on: link)) }

    /// The number of the socket at its own node.
    package var atEdge: SocketID { SocketID(rawValue: LinkNumber.edgeNumber(rawValue)) }
}

extension RequestID {
    /// Returns the owner's number of a request of a link.
    package func over(_ link: Int) -> RequestID { RequestID(rawValue: LinkNumber.number(rawValue, on: link)) }

    /// The number of the request at its own node.
    package var atEdge: RequestID { RequestID(rawValue: LinkNumber.edgeNumber(rawValue)) }
}

extension SocketEvent {
    /// Returns the event with the owner's number of its socket or request; 0 = the link of this node's own.
    package func over(_ link: Int) -> SocketEvent {
        guard link != 0 else { return self }
        switch self {
        case .opened(let id, let principal, let device): return .opened(id.over(link), principal, device: device)
        case .openedSocketIO(let id, let head): return .openedSocketIO(id.over(link), head)
        case .received(let id, let bytes): return .received(id.over(link), bytes)
        case .ponged(let id, let number): return .ponged(id.over(link), number)
        case .signOfLife(let id): return .signOfLife(id.over(link))
        case .tooSlow(let id): return .tooSlow(id.over(link))
        case .closed(let id, let code): return .closed(id.over(link), code: code)
        case .requested(let id, let head, let body): return .requested(id.over(link), head, body: body)
        case .abandoned(let id): return .abandoned(id.over(link))
        }
    }
}

extension SocketCommand {
    /// The command with the number of its socket or request at its own node.
    package var atEdge: SocketCommand {
        switch self {
        case .send(let frame, let id, let marks): .send(frame, id.atEdge, marks: marks)
        case .ping(let id, let number): .ping(id.atEdge, number)
        case .close(let id, let code, let reason, let discardingQueue):
            .close(id.atEdge, code: code, reason: reason, discardingQueue: discardingQueue)
        case .bind(let id, let isBound): .bind(id.atEdge, isBound)
        case .assign(let id, let device): .assign(id.atEdge, device)
        case .respond(let id, let response): .respond(id.atEdge, response)
        case .markAuthenticated(let id): .markAuthenticated(id.atEdge)
        case .revoke: self
        }
    }
}
