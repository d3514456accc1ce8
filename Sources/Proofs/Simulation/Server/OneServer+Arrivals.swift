import CallCore
import CallPorts
import CallWire
import SeededRandom
import Switchboard

/// What reaches the server over sockets and by requests.
extension OneServer {
    func handle(_ event: Event) {
        switch event {
        case .serverTimer(let run): turns.timerFires(run)
        case .flush(let run): turns.flushIsDue(run)
        case .socketEstablished(let link): socketEstablished(link)
        case .up(let link, let frame): frameArrives(frame, on: link)
        case .pongUp(let link, let number): ponged(link, number)
        case .closeUp(let link): closed(link)
        case .request(let index): requestArrives(index)
        case .committed(let run): committed(run)
        case .storeReport(let run, let report):
            if run == turns.run, turns.switchboard != nil { turns.serve(.stored(report)) }
        case .pushArrives(let run, let push): pushArrives(push, run)
        case .pushResult(let run, let id, let result): turns.pushResult(run, id, result)
        case .deliveryArrives(let request, let run, _, _): deliveryArrives(request, run)
        case .deliveryResult(let run, let id, let result): deliveryEnds(run, id, result)
        case .feedRead(let id, let feed): readFeed(feed, as: id)
        case .resends(let resend): turns.resend(resend)
        case .question(let question, let run, _, _): questionArrives(question, run)
        case .decision(let run, let id, let answer): turns.decided(run, id, answer)
        case .crowd(let request): crowdArrives(request)
        case .crowdLooks(let id): backend?.decider?.look(id, run: turns.run, isStalled: turns.isStoreStalled)
        case .restart: start()
        default: break
        }
    }

    func connect(_ device: SimulatedDevice, attempt: UInt64) -> Connecting {
        guard now >= device.offlineUntil, turns.switchboard != nil else { return .refused(wait: 0) }
        network.open(device, attempt: attempt, run: turns.run)
        return .opens
    }

    /// Handles an upgrade that reaches the server.
    private func socketEstablished(_ index: Int) {
        let link = network.links[index]
        guard link.isOpenAtDevice, !link.isHalfOpen else { return }
        let device = network.device(of: index)
        guard turns.switchboard != nil, link.run == turns.run else {
            return after(network.latency(), .closeDown(link: index, code: 1006))
        }
        guard !device.hasExpiredToken else { return after(network.latency(), .closeDown(link: index, code: 4401)) }
        network.links[index].isOpenAtServer = true
        network.links[index].openedAt = now
        network.links[index].heardAt = now
        checker.visit("socket opens", by: device, at: now)
        log("\(device.id.text) opens socket \(index)")
        turns.serve(.opened(SocketID(rawValue: UInt64(index)), device.principal, device: device.id))
    }

    private func reachesServer(_ index: Int) -> Bool {
        let link = network.links[index]
        return link.isOpenAtServer && !link.isHalfOpen && link.run == turns.run && turns.switchboard != nil
    }

    private func frameArrives(_ frame: [UInt8], on index: Int) {
        guard reachesServer(index) else { return }
        let device = network.device(of: index)
        network.links[index].heardAt = now
        checker.confirm(index, by: device)
        log("\(device.id.text) → server: \(Ladder.text(frame, from: 0))")
        mix(frame)
        let isRepeatable = checker.noteSignal(frame, from: device)
        checker.endArrives(frame, from: device)
        // A signal with an `id` may arrive twice. Some frames are passed to the server again, which must change nothing
        // (I7).
        let comesTwice = isRepeatable && draws.network.percent(4)
        turns.serve(.received(SocketID(rawValue: UInt64(index)), frame), repeatable: comesTwice)
    }

    private func ponged(_ index: Int, _ number: UInt64) {
        guard reachesServer(index) else { return }
        network.links[index].heardAt = now
        checker.confirm(index, by: network.device(of: index))
        turns.serve(.ponged(SocketID(rawValue: UInt64(index)), number))
    }

    private func closed(_ index: Int) {
        guard turns.switchboard != nil, network.links[index].run == turns.run else { return }
        network.links[index].endAtServer(at: now)
        checker.visit("socket closes", by: network.device(of: index), at: now)
        turns.serve(.closed(SocketID(rawValue: UInt64(index))), repeatable: draws.network.percent(10))
    }

    func closeExpired(_ link: Int) { if network.links[link].isOpenAtServer { network.closes(link, code: 4401) } }

    private func requestArrives(_ index: Int) {
        guard !requests.isRegistrationOfEarlierRun(requests.all[index]) else { return }
        guard turns.switchboard != nil else { return requests.respond(index, status: 0, body: []) }
        do throws(WireError) {
            let (principal, asked) = try requests.read(index)
            let isRepeatable = requests.reached(index, asked)
            turns.serve(.requested(RequestID(rawValue: UInt64(index)), principal, asked), repeatable: isRepeatable)
        } catch {
            let reply = Reply(error)
            requests.respond(index, status: reply.status, body: reply.body)
        }
    }

    private func crowdArrives(_ request: CrowdRequest) {
        guard turns.switchboard != nil, let decider = backend?.decider,
            let (principal, asked) = decider.reached(request, run: turns.run)
        else { return }
        turns.serve(.requested(request.id, principal, asked))
    }
}
