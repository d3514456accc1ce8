import CallCore
import CallPorts
import SeededRandom
import Switchboard

/// What users do, and what goes wrong around them.
extension World {
    func perform(_ step: Step) {
        guard !isHealed else { return }
        switch step {
        case .call(let index, let peer, let id, let ring):
            let device = network.devices[index]
            if device.power != .foreground { apps.launch(device) }
            guard !device.isGone, device.core?.calls.contains(where: { $0.phase != .ended && $0.name.id == id }) != true
            else {
                return
            }
            statistics.attempts += 1
            let number = course.nextNumber()
            log("\(device.user.text) calls \(peer.text) on \(device.id.text): \(id.text)")
            apps.passToCore(device, .intent(.call(id, peer: peer, ringSeconds: ring, sdp: number)))
            let name = CallName(id: id, pair: Pair(device.user, peer), epoch: 0)
            if device.isPoller { users.planPoll(device, name, since: 0, after: 500) }
            for _ in 0..<draws.users.below(3) {
                users.later(0...1_500, device, .send(name, .ice, fields: users.candidateField()))
            }
            if draws.users.percent(20) { users.later(500...40_000, device, .end(name, reason: nil)) }
            if draws.users.percent(4) {
                users.later(300...5_000, device, .send(name, .offer, fields: users.descriptionField()))
            }
        case .hostile(let kind): users.injectFault(kind)
        case .block(let index, let user, let isBlocked):
            log("\(network.devices[index].user.text) \(isBlocked ? "blocks" : "unblocks") \(user.text)")
            users.requests.issue(
                .other(.blocks(isBlocked ? .block(user) : .unblock(user))),
                from: network.devices[index]
            )
        case .disturb(let index, let span):
            let until = span.map { Moment(milliseconds: now + $0) }
            log("\(network.devices[index].user.text) is not to be disturbed")
            users.requests.issue(.other(.blocks(.doNotDisturb(until: until))), from: network.devices[index])
        case .token(let index): apps.replaceToken(of: network.devices[index])
        case .logout(let index): apps.logOut(network.devices[index])
        case .launch(let index): apps.launch(network.devices[index])
        case .burst(let index, let id): users.burst(network.devices[index], id)
        case .outsiderCall: users.offerAsOutsider()
        case .oldEnd: users.repeatOldEnd()
        }
    }

    /// Injects a fault.
    func apply(_ fault: Faults) {
        guard !server.inject(fault), !isHealed else { return }
        switch fault {
        case .disconnects: if let link = draws.faults.pick(network.openLinks) { network.breakSocket(link) }
        case .halfOpen:
            if let link = draws.faults.pick(network.openLinks) {
                network.makeHalfOpen(link, deviceNoticesAfter: 4_000...25_000)
            }
        case .offline:
            guard let device = draws.faults.pick(network.devices) else { return }
            if draws.faults.percent(30) { return apps.changePath(device) }
            apps.goOffline(device, for: draws.faults.within(500...15_000))
        case .power:
            guard let device = draws.faults.pick(network.devices) else { return }
            switch draws.faults.below(4) {
            case 0: apps.suspend(device)
            case 1: apps.kill(device)
            default: if device.power != .foreground { apps.launch(device) }
            }
        case .delays: network.jumpLatency(for: draws.faults.within(500...3_000))
        case .bursts: if let link = draws.faults.pick(network.openLinks) { network.slowDown(link) }
        default: break
        }
    }

    /// Ends all faults: the network, the server, the store and the apps work from now on.
    func endFaults() {
        log("—— the network is whole ——")
        course.isHealed = true
        network.endLatency()
        server.endFaults()
        backend?.endFaults()
        for device in network.devices {
            device.offlineUntil = 0
            device.hasExpiredToken = false
            if device.power != .foreground { apps.launch(device) }
            if let link = device.link, network.links[link].isHalfOpen {
                network.links[link].neverCloses = false
                apps.closesAtDevice(link, code: 1006)
            }
        }
        after(30_000, .hangUpAll)
    }
}
