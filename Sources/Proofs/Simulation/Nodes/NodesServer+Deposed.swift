import CallCore
import CallPorts
import CallWire
import JSON
import Nodes
import Switchboard

/// Checks of owners that are deposed (I12, I13).
extension NodesServer {
    /// Checks that a node obeys no owner that is older than one of which it knows.
    func checkObeyed(_ epoch: OwnerEpoch, by node: SimulatedNode) {
        guard epoch < node.newestKnown else { return }
        fail("I13", "\(node.name) obeys owner \(epoch.rawValue) and knows of owner \(node.newestKnown.rawValue)")
    }

    /// Checks the response of a deposed owner to a request.
    func checkDeposed(_ reply: Reply, to index: Int, by owner: DeposedOwner) {
        guard let object = MessageReader.object(reply.body) else { return }
        let user = network.devices[requests.all[index].device].user
        switch requests.all[index].kind {
        case .signal(let id, _, _), .end(let id, _):
            guard reply.status == 200, let seq = object.number(of: .seq), seq > 0,
                let call = object.text(of: .callId).flatMap({ CallID($0) }),
                let epoch = object.number(of: .epoch).map({ UInt32(truncatingIfNeeded: $0) }),
                !owner.durability.isDurable(UInt64(seq), of: call, epoch: epoch)
            else { return }
            fail("I13", "a deposed owner acknowledges \(id) of \(call.text) as \(seq), to a request")
        case .fetch(let id, _, _):
            guard reply.status == 200, let room = object.text(of: .room),
                let epoch = object.number(of: .epoch).map({ UInt32(truncatingIfNeeded: $0) }),
                let peer = MessageReader.peer(inRoom: room, of: user)
            else { return }
            let name = CallName(id: id, pair: Pair(user, peer), epoch: epoch)
            for element in object.elements(of: .signals) {
                guard let entry = MessageReader.object(element), let seq = entry.number(of: .seq),
                    UInt64(seq) > owner.withheld[name] ?? .max
                else { continue }
                fail("I12", "a deposed owner shows \(seq) of \(name) to a request")
            }
        case .device, .other, .probe: break
        }
    }
}
