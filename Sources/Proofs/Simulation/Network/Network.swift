import CallCore
import CallWire
import SeededRandom
import Switchboard

/// The devices of a world, and the sockets between them and the server.
///
/// Messages are delayed. They are lost when their socket breaks, and lost silently when their socket is half open. They
/// keep their order within one socket.
final class Network: Part {
    var devices: [SimulatedDevice] = []
    var links: [Link] = []
    /// Until when messages take long.
    private var latencyUntil: Int64 = 0
    /// The frame that was sent last.
    ///
    /// The next frame is often the same one, for another device.
    private var lastFrame: ParsedFrame?

    /// The device at the other end of a socket.
    func device(of index: Int) -> SimulatedDevice { devices[links[index].device] }

    /// The sockets that devices use or open.
    var openLinks: [Int] { devices.compactMap(\.link) }

    /// Opens a socket of a device, which reaches the server after a while.
    ///
    /// `attempt`: The number of a real app's attempt to connect; 0 for a model client. `run`: The server's present run.
    /// Returns the number of the socket.
    @discardableResult
    func open(_ device: SimulatedDevice, attempt: UInt64, run: Int) -> Int {
        device.isConnecting = true
        links.append(Link(device: device.index, instance: device.instance, run: run, openedAt: now))
        links[links.count - 1].attempt = attempt
        device.link = links.count - 1
        after(latency(), .socketEstablished(link: links.count - 1))
        return links.count - 1
    }

    func latency() -> Int64 {
        if now < latencyUntil { return draws.network.within(300...1_500) }
        return draws.network.percent(90) ? draws.network.within(5...80) : draws.network.within(80...400)
    }

    func jumpLatency(for milliseconds: Int64) { latencyUntil = now + milliseconds }

    func endLatency() { latencyUntil = 0 }

    /// Handles a frame that the server writes to a socket.
    func sends(_ frame: [UInt8], on index: Int) {
        guard links[index].isOpenAtServer else { return }
        statistics.frames += 1
        let frame = parsed(frame)
        checker.sent(frame, to: device(of: index), on: index, at: now)
        if faults.contains(.withholding) { checker.checkDurable(frame, to: device(of: index).user) }
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
            let bytes = frame.bytes.count - Course.errorMessage(in: frame.bytes).count
            at += Int64(bytes) * 1_000 / slow.bytesPerSecond
            // One user's frames must not close another user's connection (I11).
            if (at - now) * slow.bytesPerSecond / 1_000 > 1 << 20 {
                fail("I11", "more than 1 MiB wait on socket \(index)")
            }
        }
        links[index].downUntil = at
        plan(.down(link: index, frame), at: at)
    }

    func pings(_ index: Int, _ number: UInt64) {
        guard links[index].isOpenAtServer else { return }
        links[index].pingedAt = now
        pingDown(index, number)
    }

    /// Sends a ping over the network to the device of a socket.
    func pingDown(_ index: Int, _ number: UInt64) {
        guard !links[index].isHalfOpen else { return }
        let at = max(links[index].downUntil, now + latency())
        links[index].downUntil = at
        plan(.pingDown(link: index, number: number), at: at)
    }

    func closes(_ index: Int, code: UInt16) {
        guard links[index].isOpenAtServer else { return }
        links[index].endAtServer(at: now)
        log("server closes socket \(index) of \(device(of: index).id.text), \(code)")
        after(1, .closeUp(link: index))
        guard !links[index].isHalfOpen else { return }
        closeDown(index, code: code)
    }

    /// Sends a close over the network to the device of a socket, behind everything that was sent before.
    func closeDown(_ index: Int, code: UInt16) {
        links[index].isClosing = true
        plan(.closeDown(link: index, code: code), at: max(links[index].downUntil, now + latency()))
    }

    /// Handles a frame that a device writes to its socket.
    func writes(_ frame: [UInt8], on index: Int) {
        guard links[index].isOpenAtDevice, !links[index].isHalfOpen else { return }
        let at = max(links[index].upUntil, now + latency())
        links[index].upUntil = at
        plan(.up(link: index, frame), at: at)
    }

    func pinged(_ index: Int, _ number: UInt64) {
        guard links[index].isOpenAtDevice, !links[index].isHalfOpen else { return }
        device(of: index).heardAt = now
        let at = max(links[index].upUntil, now + latency())
        links[index].upUntil = at
        plan(.pongUp(link: index, number: number), at: at)
    }

    /// Breaks a socket: what is in transit is lost, and each end notices it at its own time.
    func breakSocket(_ index: Int) {
        guard links[index].isOpenAtDevice, !links[index].isHalfOpen else { return }
        links[index].isHalfOpen = true
        log("socket \(index) of \(device(of: index).id.text) breaks")
        after(draws.faults.within(0...1_500), .closeUp(link: index))
        after(draws.faults.within(0...1_500), .closeDown(link: index, code: 1006))
    }

    /// Makes a socket die silently.
    ///
    /// The device notices after a while that nothing arrives any more.
    func makeHalfOpen(_ index: Int, deviceNoticesAfter: ClosedRange<Int64>) {
        guard links[index].isOpenAtDevice, !links[index].isHalfOpen else { return }
        links[index].isHalfOpen = true
        log("socket \(index) of \(device(of: index).id.text) goes half open")
        after(draws.faults.within(deviceNoticesAfter), .closeDown(link: index, code: 1006))
    }

    /// Makes a connection slow for a while.
    func slowDown(_ index: Int) {
        let bytesPerSecond = draws.faults.within(20_000...80_000)
        links[index].slow = (now + draws.faults.within(1_000...8_000), bytesPerSecond)
        log("socket \(index) of \(device(of: index).id.text) takes \(bytesPerSecond) bytes a second")
    }

    /// Whether the server may still find out that a device is not reached over its sockets, and push to it.
    ///
    /// A socket is still being probed if it was just opened, or if a long replay is in progress. When it has ended, a
    /// server that withholds its decisions orders the push after two commits.
    func isProbed(_ device: SimulatedDevice) -> Bool {
        links.contains {
            guard $0.device == device.index else { return false }
            return $0.isOpenAtServer
                ? now < max($0.openedAt, $0.pingedAt, $0.adoptedAt) + scenario.deliveryTime
                : $0.endedAtServer > 0 && now < $0.endedAtServer + scenario.commitTime
        }
    }
}
