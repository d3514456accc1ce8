import CallCore
import CallPorts
import Nodes
import SeededRandom
import Switchboard

/// Checks that concern several nodes (I15, I16, I21).
extension NodesServer {
    /// Checks that an owner serves (I16): some node has served within 5 s of the last change of a fault.
    func checkService() {
        after(500, .checkService)
        if !isHealed, draws.nodes.percent(5) { revokeTokens(at: nodes[draws.nodes.below(scenario.nodeCount)]) }
        if let owner, owner.isServing, !owner.isStopped, database.isReached(from: owner) {
            lastServed = now
            return
        }
        let canServe = nodes.contains { $0.isRunning && !$0.isEnding && !$0.isStopped && database.isReached(from: $0) }
        if !canServe { lastFault = now }
        guard now - max(lastServed, lastFault) > 5_500 else { return }
        fail("I16", "no node has served as the owner for \(now - max(lastServed, lastFault)) ms")
    }

    /// Lets the operator of a node revoke the tokens of a user.
    private func revokeTokens(at node: SimulatedNode) {
        guard node.isRunning, !node.isEnding, !node.isStopped, let user = UserID("r\(revocations.asked.count)") else {
            return
        }
        let id = RevocationID(rawValue: UInt64(revocations.asked.count))
        revocations.asked.append(.init(user: user, node: node.number, life: node.life))
        if node.isServing {
            // The same as `Gateway.carryOut` does for an operator of the owner.
            let moment = moment(of: node)
            let wall = moment + node.machine.clockLead
            decideRevocation(.init(user: user, moment: wall, asker: .operatorHere(id)), before: moment, at: node)
        } else {
            pass(.revocationAsked(user, upTo: moment(of: node), id), to: node)
        }
        endTurn(of: node)
    }

    /// Plans the checks of the devices that a ringing call was being offered to through a node that dies (I15).
    func noteDeath(of node: SimulatedNode) {
        for number in checker.live {
            guard let call = checker.calls[number], call.isRinging, call.record.hidden == nil else { continue }
            for (id, token) in call.targets {
                guard let device = network.devices.first(where: { $0.id == id && $0.token == token }),
                    node.sockets.contains(where: {
                        network.links[$0].device == device.index && network.links[$0].isOpenAtNode
                    }),
                    !isCared(call, id)
                else { continue }
                after(offerTime, .checkOffer(device: device.index, call.name.key, epoch: call.record.epoch, number))
            }
        }
    }

    /// How long after a node's death a device must have confirmed the call elsewhere, or have been pushed: the silence
    /// of a dead link, a probe, and two commits.
    private var offerTime: Int64 { NodeLimits.linkSilence.milliseconds + scenario.deliveryTime }

    /// Whether a device has confirmed a call or is pushed.
    private func isCared(_ call: InvariantChecker.CommittedCall, _ device: DeviceID) -> Bool {
        let target = checker.target(call.name, device)
        return checker.confirmed.contains(target) || checker.attempted.contains(target) || checker.isOrdered(target)
    }

    func checkOffer(_ device: SimulatedDevice, _ key: CallKey, _ epoch: UInt32, _ number: CallNumber) {
        guard !isHealed else { return }
        func again() { after(500, .checkOffer(device: device.index, key, epoch: epoch, number)) }
        // The time counts from when an owner serves and its database can be reached.
        guard let owner, owner.isServing, !owner.isStopped, !turns.isStoreStalled,
            now >= checker.serverSince + offerTime, now >= turns.storeRecoveredAt + offerTime
        else { return again() }
        guard let call = checker.calls[number], call.record.epoch == epoch, call.name.key == key,
            now >= call.begunAt + offerTime, call.isRinging, call.record.hidden == nil, !isCared(call, device.id),
            checker.silencedAt[call.record.callee].map({ $0 < now - 32_000 - scenario.longestLeap }) ?? true,
            !checker.wasRemoved(device.id, since: call),
            checker.devices[call.record.callee]?.contains(where: { $0.id == device.id && $0.has(device.token) })
                == true
        else { return }
        if network.isProbed(device) { return again() }
        fail("I15", "\(device.id.text) was being offered \(call.name) by a node that died, and got no push")
    }

    /// Checks at the end of a world that every node that serves clients refuses the tokens that were revoked, and that
    /// each revocation was reported to its operator.
    func checkEnd() {
        for node in nodes where node.isRunning && !node.isStopped && node.machine.notReadyReason == nil {
            for user in revocations.done.sorted(by: { $0.text < $1.text }) where node.revokedUsers[user] == nil {
                fail("I21", "\(node.name) does not know that the tokens of \(user.text) are revoked")
            }
        }
        for one in revocations.asked where nodes[one.node].life == one.life {
            guard !revocations.done.contains(one.user), nodes[one.node].machine.notReadyReason == nil else {
                continue
            }
            fail("I21", "the operator of node \(one.node) was not told that the tokens of \(one.user.text) are revoked")
        }
    }

    /// Checks that the owner replies to no request of a node that it has lost: another node may have the link's number.
    func checkLink(ofRequest index: Int, number: UInt64, at owner: SimulatedNode) {
        guard requests.all[index].link != owner.machine.link(of: number) else { return }
        fail("I13", "\(owner.name) replies to request \(index) of a node that it is not linked with any more")
    }

    /// Checks that an owner releases the calls to a node that can claim them at once: one that is linked (I16).
    func checkHeir(_ heir: NodeID?, of owner: SimulatedNode) {
        guard let heir, !owner.links.values.contains(where: { $0.0.ends[$0.1].peer?.node == heir }) else { return }
        fail("I16", "\(owner.name) releases the calls to \(heir.text), which it is not linked with")
    }
}
