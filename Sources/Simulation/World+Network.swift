import CallCore
import CallWire
import Switchboard

/// Simulates sockets.
///
/// Messages are delayed. They are lost when a socket breaks, and lost silently when it is half open. They keep their
/// order within one socket.
extension World {
    func latency() -> Int64 {
        if now < latencyUntil { return network.within(300...1_500) }
        return network.percent(90) ? network.within(5...80) : network.within(80...400)
    }

    func connect(_ handset: Handset) {
        guard handset.power == .foreground, !handset.isPoller, handset.link == nil, !handset.isConnecting else {
            return
        }
        handset.isConnecting = true
        guard now >= handset.offlineUntil, switchboard != nil else {
            handset.isConnecting = false
            handset.backoff = min(handset.backoff * 2, 4_000)
            after(handset.backoff + network.within(0...100), .connect(handset: handset.index))
            return
        }
        links.append(Link(handset: handset.index, instance: handset.instance, run: run, openedAt: now))
        handset.link = links.count - 1
        after(latency(), .opens(link: links.count - 1))
    }

    /// Handles an upgrade that reaches the server.
    func opens(_ index: Int) {
        let link = links[index]
        guard link.isOpenAtPhone, !link.isHalfOpen else { return }
        let handset = handsets[link.handset]
        guard switchboard != nil, link.run == run else {
            after(latency(), .closeDown(link: index, code: 1006))
            return
        }
        guard !handset.hasExpiredToken else {
            after(latency(), .closeDown(link: index, code: 4401))
            return
        }
        links[index].isOpenAtServer = true
        links[index].openedAt = now
        links[index].heardAt = now
        watch.visit("socket opens", by: handset, at: now)
        log("\(handset.device.text) opens socket \(index)")
        serve(.opened(SessionID(rawValue: UInt64(index)), handset.who, device: handset.device))
    }

    /// Handles a frame that the server writes to a socket.
    func sends(_ frame: [UInt8], on index: Int) {
        guard links[index].isOpenAtServer else { return }
        statistics.frames += 1
        let frame = lastFrame?.bytes == frame ? lastFrame ?? ReadFrame(frame) : ReadFrame(frame)
        lastFrame = frame
        watch.sent(frame, to: handsets[links[index].handset], on: index, at: now)
        guard !links[index].isHalfOpen else { return }
        var at = max(links[index].downUntil, now + latency())
        if let slow = links[index].slow, now < slow.until, !isHealed {
            // The wording of an error must not change the course of a world.
            let bytes = frame.bytes.count - Self.errorMessage(in: frame.bytes).count
            at += Int64(bytes) * 1_000 / slow.bytesPerSecond
            // What one user sends must not close another user's connection (I11).
            if (at - now) * slow.bytesPerSecond / 1_000 > 1 << 20 {
                fail("I11", "socket \(index) has too much to send")
            }
        }
        links[index].downUntil = at
        agenda.plan(.down(link: index, frame), at: at)
    }

    func pings(_ index: Int, _ number: UInt64) {
        guard links[index].isOpenAtServer else { return }
        links[index].pingedAt = now
        guard !links[index].isHalfOpen else { return }
        let at = max(links[index].downUntil, now + latency())
        links[index].downUntil = at
        agenda.plan(.pingDown(link: index, number: number), at: at)
    }

    func closes(_ index: Int, code: UInt16, isLost: Bool) {
        guard links[index].isOpenAtServer else { return }
        links[index].isOpenAtServer = false
        log("server closes socket \(index) of \(handsets[links[index].handset].device.text), \(code)")
        after(1, .closeUp(link: index))
        guard !links[index].isHalfOpen else { return }
        links[index].isClosing = true
        agenda.plan(.closeDown(link: index, code: code), at: max(links[index].downUntil, now + latency()))
    }

    /// Handles a frame that a device writes to its socket.
    func writes(_ frame: [UInt8], on index: Int) {
        guard links[index].isOpenAtPhone, !links[index].isHalfOpen else { return }
        let at = max(links[index].upUntil, now + latency())
        links[index].upUntil = at
        agenda.plan(.up(link: index, frame), at: at)
    }

    private func reachesServer(_ index: Int) -> Bool {
        links[index].isOpenAtServer && !links[index].isHalfOpen && links[index].run == run && switchboard != nil
    }

    func arrives(_ frame: [UInt8], on index: Int) {
        guard reachesServer(index) else { return }
        links[index].heardAt = now
        watch.confirm(index, by: handsets[links[index].handset])
        let handset = handsets[links[index].handset]
        log("\(handset.device.text) → server: \(Ladder.text(frame, from: 0))")
        mix(frame)
        let expected = watch.expectation(of: frame, from: handset)
        // A frame with an `id` may arrive twice. Some frames are passed to the server again, which must change nothing
        // (I7).
        serve(.received(SessionID(rawValue: UInt64(index)), frame), repeatable: expected && network.percent(4))
    }

    func ponged(_ index: Int, _ number: UInt64) {
        guard reachesServer(index) else { return }
        links[index].heardAt = now
        watch.confirm(index, by: handsets[links[index].handset])
        serve(.ponged(SessionID(rawValue: UInt64(index)), number))
    }

    func pinged(_ index: Int, _ number: UInt64) {
        guard links[index].isOpenAtPhone, !links[index].isHalfOpen else { return }
        handsets[links[index].handset].heardAt = now
        let at = max(links[index].upUntil, now + latency())
        links[index].upUntil = at
        agenda.plan(.pongUp(link: index, number: number), at: at)
    }

    func closesAtServer(_ index: Int) {
        guard switchboard != nil, links[index].run == run else { return }
        links[index].isOpenAtServer = false
        watch.visit("socket closes", by: handsets[links[index].handset], at: now)
        serve(.closed(SessionID(rawValue: UInt64(index))), repeatable: network.percent(10))
    }

    func closesAtPhone(_ index: Int, code: UInt16) {
        guard links[index].isOpenAtPhone else { return }
        links[index].isOpenAtPhone = false
        let handset = handsets[links[index].handset]
        guard handset.link == index else { return }
        handset.link = nil
        handset.isConnecting = false
        log("\(handset.device.text) loses its socket, \(code)")
        if code == 4401 { tell(handset, .tokenExpired) }
        tell(handset, .disconnected)
        // The device has no newer socket than this one, so it connects again.
        let pause = max(handset.backoff + network.within(0...200), handset.returnsAt - now)
        after(pause, .connect(handset: handset.index))
    }

    func phoneReceives(_ frame: ReadFrame, on index: Int) {
        let link = links[index]
        guard link.isOpenAtPhone, !link.isHalfOpen else { return }
        let handset = handsets[link.handset]
        guard handset.link == index, handset.instance == link.instance else { return }
        handset.heardAt = now
        mix(frame.bytes)
        log("server → \(handset.device.text): \(Ladder.text(frame.bytes, from: Frame.headroom))")
        watch.shown(frame, to: handset)
        if let pause = Reading.pause(in: frame) { handset.returnsAt = now + pause }
        if let seq = frame.seq, frame.type != "ack", case .call(let name) = frame.place(for: handset.user) {
            handset.lastShown[name] = (seq, now)
        }
        if handset.isConnecting {
            // The first frame is `welcome`.
            handset.isConnecting = false
            handset.backoff = 200
            tell(handset, .connected)
        }
        tell(handset, .frame(frame))
    }

    /// Breaks a socket: what is in transit is lost, and each end notices it at its own time.
    func breaks(_ index: Int) {
        guard links[index].isOpenAtPhone, !links[index].isHalfOpen else { return }
        links[index].isHalfOpen = true
        log("socket \(index) of \(handsets[links[index].handset].device.text) breaks")
        after(chaos.within(0...1_500), .closeUp(link: index))
        after(chaos.within(0...1_500), .closeDown(link: index, code: 1006))
    }

    /// Makes a socket die silently.
    ///
    /// The device notices after a while that nothing arrives any more.
    func goesHalfOpen(_ index: Int, phoneNoticesAfter: ClosedRange<Int64>) {
        guard links[index].isOpenAtPhone, !links[index].isHalfOpen else { return }
        links[index].isHalfOpen = true
        log("socket \(index) of \(handsets[links[index].handset].device.text) goes half open")
        after(chaos.within(phoneNoticesAfter), .closeDown(link: index, code: 1006))
    }
}
