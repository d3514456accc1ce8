import CallClient
import CallCore
import CallPorts
import CallWire
import SeededRandom
import Switchboard

/// The sockets, requests and pushes of the devices, as their apps see them.
extension Apps {
    /// Connects a model client, or tells a real app that it wants a connection.
    func connect(_ device: SimulatedDevice) {
        guard device.power == .foreground, !device.isPoller, device.link == nil, !device.isConnecting else { return }
        guard !device.isRealApp else { return passToCore(device, .wantsConnection) }
        switch server.connect(device, attempt: 0) {
        case .opens, .silent: break
        case .refused(let wait):
            device.backoff = min(device.backoff * 2, 4_000)
            after(device.backoff + wait + draws.network.within(0...100), .connect(device: device.index))
        }
    }

    /// Opens a socket, as the app asks.
    func openSocket(of device: SimulatedDevice, attempt: UInt64) {
        guard device.power == .foreground, device.link == nil, !device.isConnecting else {
            return fail("I17", "\(device.id.text) opens a second socket")
        }
        if now < device.mayReconnectAt {
            fail("I17", "\(device.id.text) connects \(device.mayReconnectAt - now) ms before the server wants it to")
        }
        device.mayReconnectAt = 0
        device.linkEndedAt = now
        // There is no network, or nobody listens.
        if case .refused = server.connect(device, attempt: attempt) {
            after(draws.network.within(1...100), device, .attemptFails(attempt))
        }
    }

    func attemptFailed(_ device: SimulatedDevice, _ attempt: UInt64) {
        guard device.power == .foreground else { return }
        device.linkEndedAt = now
        passToCore(device, .attemptClosed(attempt))
    }

    /// Drops the socket that the app has given up.
    ///
    /// The app's close may reach the server, or get lost.
    func giveUpSocket(of device: SimulatedDevice, attempt: UInt64) {
        device.linkEndedAt = now
        guard let link = device.link, network.links[link].attempt == attempt else { return }
        log("\(device.id.text) gives up socket \(link)")
        device.link = nil
        device.isConnecting = false
        if draws.faults.percent(50) { network.breakSocket(link) }
        network.links[link].isHalfOpen = true
        network.links[link].isOpenAtDevice = false
    }

    /// Changes a device's path to the network: its socket is dead, and no close will say so.
    func changePath(_ device: SimulatedDevice) {
        guard device.isRealApp, device.power == .foreground, !isHealed, now >= device.offlineUntil else { return }
        log("\(device.id.text) changes its path to the network")
        let old = device.link
        if let old {
            let isNoticed = !network.links[old].isHalfOpen && draws.faults.percent(50)
            if isNoticed { after(draws.faults.within(0...1_500), .closeUp(link: old)) }
            network.links[old].isHalfOpen = true
            network.links[old].neverCloses = true
        }
        passToCore(device, .pathChanged)
        if let old, device.link == old { fail("I17", "\(device.id.text) waits for the close of a dead socket") }
    }

    func closesAtDevice(_ index: Int, code: UInt16) {
        guard network.links[index].isOpenAtDevice, !network.links[index].neverCloses else { return }
        network.links[index].isOpenAtDevice = false
        let device = network.devices[network.links[index].device]
        guard device.link == index else { return }
        device.link = nil
        device.isConnecting = false
        log("\(device.id.text) loses its socket, \(code)")
        if code == 4401 { passToCore(device, .tokenExpired) }
        guard !device.isRealApp else {
            device.linkEndedAt = now
            return passToCore(device, .attemptClosed(network.links[index].attempt))
        }
        passToCore(device, .disconnected)
        if device.hasAssignedID { return leave(device) }
        // The device has no newer socket than this one, so it connects again.
        let pause = max(device.backoff + draws.network.within(0...200), device.mayReconnectAt - now)
        after(pause, .connect(device: device.index))
    }

    func deviceReceives(_ frame: ParsedFrame, on index: Int) {
        let link = network.links[index]
        guard link.isOpenAtDevice, !link.isHalfOpen else { return }
        let device = network.devices[link.device]
        guard device.link == index, device.instance == link.instance else { return }
        device.heardAt = now
        mix(frame.bytes)
        log("server → \(device.id.text): \(Ladder.text(frame.bytes, from: Frame.headroom))")
        checker.shown(frame, to: device)
        if let pause = MessageReader.pause(in: frame) { device.mayReconnectAt = now + pause }
        if let seq = frame.seq, frame.type != "ack", case .call(let name) = frame.place(for: device.user) {
            device.lastShown[name] = (seq, now)
        }
        if device.isConnecting {
            // The first frame is `welcome`.
            device.isConnecting = false
            device.backoff = 200
            if device.isUnnamed { learnID(of: device, from: frame) }
            passToCore(device, device.isRealApp ? .attemptOpened(link.attempt) : .connected)
        }
        passToCore(device, .frame(frame))
    }

    func pushDelivered(_ payload: [UInt8], to device: SimulatedDevice) {
        // A device without network gets no push: the push expires immediately, so APNs does not store it.
        guard now >= device.offlineUntil else { return }
        log("APNs ~ \(device.id.text): push \(Ladder.text(payload, from: 0))")
        mix(payload)
        if device.power != .foreground { launch(device) }
        passToCore(device, .push(payload))
    }

    func responseArrives(_ index: Int, status: Int, _ body: [UInt8]) {
        let request = requests.all[index]
        let device = network.devices[request.device]
        guard device.instance == request.instance, device.power == .foreground, now >= device.offlineUntil else {
            return
        }
        log("server ⇒ \(device.id.text): \(status) \(Ladder.text(body, from: 0))")
        requests.all[index].isOver = true
        switch request.kind {
        case .signal(let id, _, _), .end(let id, _):
            passToCore(device, .response(id: id, status: status, body: body))
        case .fetch(let id, let fetch, let number):
            if device.isRealApp || status == 200 || status == 404 {
                passToCore(device, .fetched(id, number: number, status: status, body: body))
            }
            pollAgain(device, id, fetch, status: status, body)
        case .device(let number, _): passToCore(device, .registered(number, status: status, body: body))
        case .other, .probe: break
        }
    }

    /// Handles a request without a response; an app that is suspended is notified when it runs again.
    func timesOut(_ index: Int) {
        let request = requests.all[index]
        let device = network.devices[request.device]
        guard !request.isOver, device.instance == request.instance else { return }
        guard device.power == .foreground else {
            after(2_000, .timeout(index))
            return
        }
        requests.all[index].isOver = true
        switch request.kind {
        case .signal(let id, _, _), .end(let id, _): passToCore(device, .response(id: id, status: 0, body: []))
        case .fetch(let id, _, let number): passToCore(device, .fetched(id, number: number, status: 0, body: []))
        case .device(let number, _): passToCore(device, .registered(number, status: 0, body: []))
        case .other, .probe: break
        }
    }

    /// Expires a device's bearer token: the server refuses it until the device gets another one.
    func tokenExpires(_ device: SimulatedDevice) {
        guard device.isRealApp, device.power == .foreground, !isHealed else { return }
        log("the token of \(device.id.text) expires")
        device.hasExpiredToken = true
        guard let link = device.link else { return }
        server.closeExpired(link)
    }

    /// Sends the next poll for a live call of a device that polls instead of using a socket.
    func poll(_ device: SimulatedDevice, _ name: CallName, since: UInt64) {
        guard device.power == .foreground, device.isPoller,
            device.core?.calls.contains(where: { $0.name.key == name.key && $0.phase != .ended }) ?? false
        else { return }
        let cursor = ClientMessage.Cursor(epoch: name.epoch == 0 ? nil : name.epoch, seq: since)
        // If other calls may have the same callId, the poll names the peer. Without the peer it could get such a call,
        // after the end of the device's own call or while that call goes on.
        let peer = !faults.isDisjoint(with: [.outsiders, .sharedNames]) ? name.pair.other(than: device.user) : nil
        requests.issue(
            .fetch(name.id, .init(peer: peer, since: cursor, wait: .seconds(8), device: device.id), number: 0),
            from: device
        )
        // Plans a poll in case the request or its response is lost. A response makes this plan void.
        users.planPoll(device, name, since: since, after: 11_000)
    }

    private func pollAgain(
        _ device: SimulatedDevice,
        _ id: CallID,
        _ fetch: Switchboard.Fetch,
        status: Int,
        _ body: [UInt8]
    ) {
        guard device.isPoller, let core = device.core,
            let call = core.calls.last(where: { $0.name.id == id && $0.phase != .ended })
        else { return }
        let object = MessageReader.object(body)
        // A cursor in the log of an earlier call under the callId does not apply to this call.
        let isOfIt = object?.number(of: .epoch).map { UInt32(truncatingIfNeeded: $0) == call.name.epoch } ?? false
        let next = isOfIt ? object?.number(of: Key.next).map { UInt64($0) } ?? 0 : 0
        users.planPoll(
            device,
            call.name,
            since: next,
            after: fetch.wait.milliseconds > 0 && status == 200 ? 100 : 1_500
        )
    }
}
