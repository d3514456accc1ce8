import CallCore
import CallPorts
import CallWire
import Testing

@testable import Nodes

@Suite("The sockets that an owner opens")
struct ConnectTests {
    private static let now = Moment(milliseconds: 1_000)

    private static func node(_ name: String) throws -> NodeID { try #require(NodeID(name)) }

    /// Returns an owner that serves, and the link that another node has opened.
    private func owner() throws -> (NodeMachine, LinkID) {
        var machine = NodeMachine(node: try Self.node("owner"), at: Self.now)
        let epoch = OwnerEpoch(rawValue: 1)
        let row = OwnerRow(epoch: .none, node: nil, address: "", lease: .milliseconds(0))
        _ = handled([.started, .rowRead(row), .claimed(epoch, others: [])], by: &machine)
        #expect(machine.tenure.isServing)
        let link = machine.nextLink()
        let hello = Hello(node: try Self.node("edge"), epoch: epoch, isOwner: false, challenge: [])
        _ = handled([.linkOpened(link, hello)], by: &machine)
        #expect(machine.linkCount == 1)
        return (machine, link)
    }

    private func handled(_ inputs: [NodeMachine.Input], by machine: inout NodeMachine) -> [NodeMachine.Effect] {
        var effects: [NodeMachine.Effect] = []
        for input in inputs { machine.handle(input, at: Self.now, into: &effects) }
        return effects
    }

    @Test("The connect of another node's user is counted, because that node has counted it among its own only")
    func otherNodes() throws {
        var (machine, link) = try owner()
        machine.clockLead = .seconds(5)
        let socket = SocketID(rawValue: 7)
        var user = Principal(user: try #require(UserID("11")), fingerprint: TokenFingerprint(rawValue: 1))
        user.issuedAt = Moment(milliseconds: 9_000)
        let effects = handled(
            [.frameReceived(link, .event(1, .opened(socket, user, device: nil)))],
            by: &machine
        )
        guard case .admit(let opened, let principal, let device, let number)? = effects.first else {
            Issue.record("\(effects)")
            return
        }
        #expect(opened == socket && device == nil && LinkNumber.range.contains(number))
        #expect(principal.issuedAt == Moment(milliseconds: 4_000), "by this node's clock")
        guard case .assignDevice(socket, link: number)? = effects.last else {
            Issue.record("\(effects)")
            return
        }
    }

    @Test("The numbers of another node's sockets and requests are the owner's at the owner, and its own on the link")
    func numbers() throws {
        let (socket, request) = (SocketID(rawValue: 0x7_0100_0002), RequestID(rawValue: 0x9_0000_0003))
        let head = RequestHead(path: "/")
        let events: [SocketEvent] = [
            .openedSocketIO(socket, head), .received(socket, [1]), .ponged(socket, 2), .signOfLife(socket),
            .tooSlow(socket), .closed(socket, code: 1001), .requested(request, head, body: [3]), .abandoned(request),
            .opened(socket, Principal(user: try #require(UserID("11")), fingerprint: .init(rawValue: 1)), device: nil),
        ]
        for event in events {
            #expect(event.over(0) == event)
            let owners = event.over(3)
            #expect(owners != event && owners.over(0) == owners)
            if let number = owners.socket { #expect(number == socket.over(3) && number.atEdge == socket) }
        }
        #expect(SocketEvent.abandoned(request).over(3) == .abandoned(request.over(3)))
        #expect(request.over(3).atEdge == request)
        let device = try #require(DeviceID("phone-1"))
        for command: SocketCommand in [
            .send(Frame("{}".utf8), socket, marks: []), .ping(socket, 1), .bind(socket, true), .assign(socket, device),
            .close(socket, code: 1000, reason: "", discardingQueue: true),
        ] {
            #expect(command.atEdge == command)
        }
        #expect(SocketCommand.ping(socket.over(3), 1).atEdge == .ping(socket, 1))
        #expect(SocketCommand.markAuthenticated(request.over(3)).atEdge == .markAuthenticated(request))
        #expect(
            SocketCommand.respond(request.over(3), Response(status: 204)).atEdge
                == .respond(request, .init(status: 204))
        )
    }
}
