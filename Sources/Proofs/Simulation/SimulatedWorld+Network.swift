import CallCore
import CallWire
import Switchboard

/// Simulates sockets.
///
/// Messages are delayed. They are lost when their socket breaks, and lost silently when their socket is half open. They
/// keep their order within one socket.
extension SimulatedWorld {
    func latency() -> Int64 {
        if now < latencyUntil { return networkDraws.within(300...1_500) }
        return networkDraws.percent(90) ? networkDraws.within(5...80) : networkDraws.within(80...400)
    }

    func connect(_ device: SimulatedDevice) {
        guard device.power == .foreground, !device.isPoller, device.link == nil, !device.isConnecting else {
            return
        }
        guard !device.isRealApp else { return passToCore(device, .wantsConnection) }
        guard !hasNodes else { return connectToNode(device, attempt: 0) }
        device.isConnecting = true
        guard now >= device.offlineUntil, switchboard != nil else {
            device.isConnecting = false
            device.backoff = min(device.backoff * 2, 4_000)
            after(device.backoff + networkDraws.within(0...100), .connect(device: device.index))
            return
        }
        links.append(Link(device: device.index, instance: device.instance, run: run, openedAt: now))
        device.link = links.count - 1
        after(latency(), .socketEstablished(link: links.count - 1))
    }

    /// Handles an upgrade that reaches the server.
    func socketEstablished(_ index: Int) {
        let link = links[index]
        guard link.isOpenAtDevice, !link.isHalfOpen else { return }
        guard !hasNodes else { return arrives(on: index, .socketOpened(index)) }
        let device = devices[link.device]
        guard switchboard != nil, link.run == run else {
            after(latency(), .closeDown(link: index, code: 1006))
            return
        }
        guard !device.hasExpiredToken else {
            after(latency(), .closeDown(link: index, code: 4401))
            return
        }
        links[index].isOpenAtServer = true
        links[index].openedAt = now
        links[index].heardAt = now
        checker.visit("socket opens", by: device, at: now)
        log("\(device.id.text) opens socket \(index)")
        serve(.opened(ConnectionID(rawValue: UInt64(index)), device.principal, device: device.id))
    }

    /// Handles a frame that the server writes to a socket.
    func sends(_ frame: [UInt8], on index: Int) {
        guard links[index].isOpenAtServer else { return }
        statistics.frames += 1
        let frame = parsed(frame)
        checker.sent(frame, to: devices[links[index].device], on: index, at: now)
        if faults.contains(.withholding) { checker.checkDurable(frame, to: devices[links[index].device].user) }
        writesDown(frame, on: index)
    }

    /// Returns a frame as its readers need it.
    func parsed(_ frame: [UInt8]) -> ParsedFrame {
        let frame = lastFrame?.bytes == frame ? lastFrame ?? ParsedFrame(frame) : ParsedFrame(frame)
        lastFrame = frame
        return frame
    }

    /// Sends a frame over the network to the device of a socket.
    func writesDown(_ frame: ParsedFrame, on index: Int) {
        guard !links[index].isHalfOpen else { return }
        var at = max(links[index].downUntil, now + latency())
        if let slow = links[index].slow, now < slow.until, !isHealed {
            // The wording of an error must not change the course of a world.
            let bytes = frame.bytes.count - Self.errorMessage(in: frame.bytes).count
            at += Int64(bytes) * 1_000 / slow.bytesPerSecond
            // One user's frames must not close another user's connection (I11).
            if (at - now) * slow.bytesPerSecond / 1_000 > 1 << 20 {
                fail("I11", "more than 1 MiB wait on socket \(index)")
            }
        }
        links[index].downUntil = at
        events.plan(.down(link: index, frame), at: at)
    }

    func pings(_ index: Int, _ number: UInt64) {
        guard links[index].isOpenAtServer else { return }
        links[index].pingedAt = now
        guard !links[index].isHalfOpen else { return }
        let at = max(links[index].downUntil, now + latency())
        links[index].downUntil = at
        events.plan(.pingDown(link: index, number: number), at: at)
    }

    func closes(_ index: Int, code: UInt16) {
        guard links[index].isOpenAtServer else { return }
        links[index].endAtServer(at: now)
        log("server closes socket \(index) of \(devices[links[index].device].id.text), \(code)")
        after(1, .closeUp(link: index))
        guard !links[index].isHalfOpen else { return }
        links[index].isClosing = true
        events.plan(.closeDown(link: index, code: code), at: max(links[index].downUntil, now + latency()))
    }

    /// Handles a frame that a device writes to its socket.
    func writes(_ frame: [UInt8], on index: Int) {
        guard links[index].isOpenAtDevice, !links[index].isHalfOpen else { return }
        let at = max(links[index].upUntil, now + latency())
        links[index].upUntil = at
        events.plan(.up(link: index, frame), at: at)
    }

    private func reachesServer(_ index: Int) -> Bool {
        links[index].isOpenAtServer && !links[index].isHalfOpen && links[index].run == run && switchboard != nil
    }

    func frameArrives(_ frame: [UInt8], on index: Int) {
        if hasNodes {
            if !links[index].isHalfOpen, links[index].isOpenAtNode { arrives(on: index, .socketReceived(index, frame)) }
            return
        }
        guard reachesServer(index) else { return }
        links[index].heardAt = now
        checker.confirm(index, by: devices[links[index].device])
        let device = devices[links[index].device]
        log("\(device.id.text) → server: \(Ladder.text(frame, from: 0))")
        mix(frame)
        let isRepeatable = checker.noteSignal(frame, from: device)
        // A signal with an `id` may arrive twice. Some frames are passed to the server again, which must change nothing
        // (I7).
        let comesTwice = isRepeatable && networkDraws.percent(4)
        serve(.received(ConnectionID(rawValue: UInt64(index)), frame), repeatable: comesTwice)
    }

    func ponged(_ index: Int, _ number: UInt64) {
        if hasNodes {
            if !links[index].isHalfOpen, links[index].isOpenAtNode { arrives(on: index, .socketPonged(index, number)) }
            return
        }
        guard reachesServer(index) else { return }
        links[index].heardAt = now
        checker.confirm(index, by: devices[links[index].device])
        serve(.ponged(ConnectionID(rawValue: UInt64(index)), number))
    }

    func pinged(_ index: Int, _ number: UInt64) {
        guard links[index].isOpenAtDevice, !links[index].isHalfOpen else { return }
        devices[links[index].device].heardAt = now
        let at = max(links[index].upUntil, now + latency())
        links[index].upUntil = at
        events.plan(.pongUp(link: index, number: number), at: at)
    }

    func closesAtServer(_ index: Int) {
        guard !hasNodes else { return arrives(on: index, .socketClosed(index)) }
        guard switchboard != nil, links[index].run == run else { return }
        links[index].endAtServer(at: now)
        checker.visit("socket closes", by: devices[links[index].device], at: now)
        serve(.closed(ConnectionID(rawValue: UInt64(index))), repeatable: networkDraws.percent(10))
    }

    func closesAtDevice(_ index: Int, code: UInt16) {
        guard links[index].isOpenAtDevice, !links[index].neverCloses else { return }
        links[index].isOpenAtDevice = false
        let device = devices[links[index].device]
        guard device.link == index else { return }
        device.link = nil
        device.isConnecting = false
        log("\(device.id.text) loses its socket, \(code)")
        if code == 4401 { passToCore(device, .tokenExpired) }
        guard !device.isRealApp else {
            device.linkEndedAt = now
            return passToCore(device, .attemptClosed(links[index].attempt))
        }
        passToCore(device, .disconnected)
        // The device has no newer socket than this one, so it connects again.
        let pause = max(device.backoff + networkDraws.within(0...200), device.mayReconnectAt - now)
        after(pause, .connect(device: device.index))
    }

    func deviceReceives(_ frame: ParsedFrame, on index: Int) {
        let link = links[index]
        guard link.isOpenAtDevice, !link.isHalfOpen else { return }
        let device = devices[link.device]
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
            passToCore(device, device.isRealApp ? .attemptOpened(link.attempt) : .connected)
        }
        passToCore(device, .frame(frame))
    }

    /// Breaks a socket: what is in transit is lost, and each end notices it at its own time.
    func breakSocket(_ index: Int) {
        guard links[index].isOpenAtDevice, !links[index].isHalfOpen else { return }
        links[index].isHalfOpen = true
        log("socket \(index) of \(devices[links[index].device].id.text) breaks")
        after(faultDraws.within(0...1_500), .closeUp(link: index))
        after(faultDraws.within(0...1_500), .closeDown(link: index, code: 1006))
    }

    /// Makes a socket die silently.
    ///
    /// The device notices after a while that nothing arrives any more.
    func makeHalfOpen(_ index: Int, deviceNoticesAfter: ClosedRange<Int64>) {
        guard links[index].isOpenAtDevice, !links[index].isHalfOpen else { return }
        links[index].isHalfOpen = true
        log("socket \(index) of \(devices[links[index].device].id.text) goes half open")
        after(faultDraws.within(deviceNoticesAfter), .closeDown(link: index, code: 1006))
    }
}
