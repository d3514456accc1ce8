import CallCore
import CallPorts
import CallWire
import Cluster
import JSON
import SeededRandom
import Switchboard

/// Checks that concern several nodes (I13, I15, I16).
extension SimulatedWorld {
    // MARK: I16

    /// Checks that an owner serves (I16): some node has served within 5 s of the last change of a fault.
    func checkService() {
        after(500, .checkService)
        if !isHealed, nodeDraws.percent(5) { revokeTokens(at: simulatedNodes[nodeDraws.below(nodeCount)]) }
        if let owner, owner.isServing, !owner.isStopped, reachesDatabase(owner) {
            lastServed = now
            return
        }
        let canServe = simulatedNodes.contains { $0.isRunning && !$0.isEnding && !$0.isStopped && reachesDatabase($0) }
        if !canServe { lastNodeFault = now }
        guard now - max(lastServed, lastNodeFault) > 5_500 else { return }
        fail("I16", "no node has served as the owner for \(now - max(lastServed, lastNodeFault)) ms")
    }

    // MARK: I15

    /// Plans the checks of the devices that a ringing call was being offered to through a node that dies (I15).
    func noteDeath(of node: SimulatedNode) {
        for number in checker.live {
            guard let call = checker.calls[number], call.isRinging, call.record.hidden == nil else { continue }
            for (id, token) in call.targets {
                guard let device = devices.first(where: { $0.id == id && $0.token == token }),
                    node.sockets.contains(where: { links[$0].device == device.index && links[$0].isOpenAtNode }),
                    !isCared(call, id)
                else { continue }
                after(offerTime, .checkOffer(device: device.index, call.name.key, epoch: call.record.epoch, number))
            }
        }
    }

    /// How long after a node's death a device must have confirmed the call elsewhere, or have been pushed: the silence
    /// of a dead link, a probe, and two commits.
    private var offerTime: Int64 { ClusterLimits.linkSilence.milliseconds + deliveryTime }

    /// Whether a device has confirmed a call or is pushed.
    private func isCared(_ call: InvariantChecker.CommittedCall, _ device: DeviceID) -> Bool {
        let target = checker.target(call.name, device)
        return checker.confirmed.contains(target) || checker.attempted.contains(target) || checker.isOrdered(target)
    }

    func checkOffer(_ device: SimulatedDevice, _ key: CallKey, _ epoch: UInt32, _ number: CallNumber) {
        guard !isHealed else { return }
        func again() { after(500, .checkOffer(device: device.index, key, epoch: epoch, number)) }
        // The time counts from when an owner serves and its database can be reached.
        guard let owner, owner.isServing, !owner.isStopped, !storeIsStalled,
            now >= checker.serverSince + offerTime, now >= storeRecoveredAt + offerTime
        else { return again() }
        guard let call = checker.calls[number], call.record.epoch == epoch, call.name.key == key,
            now >= call.begunAt + offerTime, call.isRinging, call.record.hidden == nil, !isCared(call, device.id),
            checker.silencedAt[call.record.callee].map({ $0 < now - 32_000 - longestLeap }) ?? true,
            !checker.wasRemoved(device.id, since: call),
            checker.devices[call.record.callee]?.contains(where: { $0.id == device.id && $0.has(device.token) })
                == true
        else { return }
        if isProbed(device) { return again() }
        fail("I15", "\(device.id.text) was being offered \(call.name) by a node that died, and got no push")
    }

    // MARK: I13

    /// Checks that a node obeys no owner that is older than one of which it knows.
    func checkObeyed(_ epoch: OwnerEpoch, by node: SimulatedNode) {
        guard epoch < node.newestKnown else { return }
        fail("I13", "\(node.name) obeys owner \(epoch.rawValue) and knows of owner \(node.newestKnown.rawValue)")
    }

    /// Checks the response of a deposed owner to a request.
    func checkDeposed(_ reply: Reply, to index: Int, by owner: DeposedOwner) {
        guard let object = MessageReader.object(reply.body) else { return }
        let user = devices[requests[index].device].user
        switch requests[index].kind {
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
