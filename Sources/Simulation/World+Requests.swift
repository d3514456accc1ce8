import CallCore
import CallPorts
import CallWire
import Switchboard

/// An HTTP request of a simulated device.
struct Request {
    enum What {
        case signal(id: String, [UInt8], CallID)
        case end(id: String, CallID)
        case fetch(CallID, Switchboard.Fetch, number: UInt64)
        case other(Switchboard.Request)
        /// A request of an outsider, whose response must not reveal that the call exists.
        case probe(Switchboard.Request, CallID)
    }

    let handset: Int
    let instance: Int
    let what: What
    var isAtServer = false
    var run = 0
    /// Whether the response is lost in transit.
    var losesResponse = false
    /// The push's capability that the request carries instead of the token.
    var capability: String?
    /// Whether the device was notified of the result.
    var isOver = false
}

extension World {
    func requests(_ what: Request.What, from handset: Handset, capability: String? = nil) {
        let isLossy = faults.contains(.requests) && !isHealed
        var request = Request(handset: handset.index, instance: handset.instance, what: what)
        request.capability = capability
        guard now >= handset.offlineUntil else {
            guard handset.isRealApp else { return }
            requests.append(request)
            after(network.within(1...500), .timeout(requests.count - 1))
            return
        }
        request.losesResponse = isLossy && network.percent(8)
        requests.append(request)
        let index = requests.count - 1
        if handset.isRealApp { after(10_000, .timeout(index)) }
        if !(isLossy && network.percent(8)) { after(latency() + requestDelay(), .request(index)) }
        guard isLossy, network.percent(6) else { return }
        // The client's HTTP library sends the request again, as it does when the first response does not come.
        requests.append(request)
        after(latency() + requestDelay(), .request(requests.count - 1))
    }

    /// Returns an extra delay, with which requests and socket messages overtake each other.
    private func requestDelay() -> Int64 {
        faults.contains(.delays) && !isHealed && network.percent(10)
            ? network.within(200...2_500) : network.within(0...40)
    }

    func requestArrives(_ index: Int) {
        guard switchboard != nil else {
            after(latency(), .response(index, status: 0, body: []))
            return
        }
        let request = requests[index]
        let handset = handsets[request.handset]
        guard let who = bearer(of: request, from: handset) else {
            let reply = Reply(WireError(.tokenExpired, "the token has expired"))
            after(latency(), .response(index, status: reply.status, body: reply.body))
            return
        }
        guard let asked = understood(request, from: handset, as: index) else { return }
        requests[index].isAtServer = true
        requests[index].run = run
        var isRepeatable = false
        if case .signal(let message) = asked {
            watch.attempt(message, from: handset, at: now)
            isRepeatable = message.id != nil && network.percent(4)
        }
        if case .end(let id, _, _) = asked {
            watch.attempt(SignalMessage(endOf: id), from: handset, at: now, event: "DELETE")
        }
        if case .fetch(let id, _) = asked { watch.visit("fetch", id, by: handset) }
        serve(.requested(RequestID(rawValue: UInt64(index)), who, asked), repeatable: isRepeatable)
    }

    /// Returns the bearer of a request's token or of its push capability.
    private func bearer(of request: Request, from handset: Handset) -> Who? {
        if let capability = request.capability { return Capabilities().who(capability, at: moment.milliseconds) }
        return handset.hasExpiredToken ? nil : handset.who
    }

    private func understood(_ request: Request, from handset: Handset, as index: Int) -> Switchboard.Request? {
        switch request.what {
        case .signal(_, let body, let callID):
            log("\(handset.device.text) ⇒ server: POST \(Ladder.text(body, from: 0))")
            mix(body)
            do throws(WireError) {
                return .signal(try SignalMessage(body: body, callIDInPath: callID, ringFor: .seconds(45)))
            } catch {
                let reply = Reply(error)
                after(latency(), .response(index, status: reply.status, body: reply.body))
                return nil
            }
        case .end(_, let id):
            log("\(handset.device.text) ⇒ server: DELETE \(id.text)")
            return .end(id, device: handset.device)
        case .fetch(let id, let fetch, _):
            log("\(handset.device.text) ⇒ server: GET \(id.text) since \(fetch.since?.seq ?? 0)")
            return .fetch(id, fetch)
        case .other(let asked), .probe(let asked, _): return asked
        }
    }

    func replies(_ id: RequestID, _ reply: Reply) {
        let index = Int(id.rawValue)
        guard requests[index].isAtServer else { return }
        requests[index].isAtServer = false
        mix(reply.body)
        if case .probe(_, let name) = requests[index].what {
            if !outsidersNames.contains(name) { watch.probed(reply, name) }
            return
        }
        if case .fetch(let name, _, _) = requests[index].what {
            watch.fetched(reply, name, by: handsets[requests[index].handset])
        }
        if case .signal(let signal, _, _) = requests[index].what {
            watch.checkAck(reply, of: signal, to: handsets[requests[index].handset])
        }
        guard !requests[index].losesResponse else { return }
        after(latency(), .response(index, status: reply.status, body: reply.body))
    }

    func responseArrives(_ index: Int, status: Int, _ body: [UInt8]) {
        let request = requests[index]
        let handset = handsets[request.handset]
        guard handset.instance == request.instance, handset.power == .foreground, now >= handset.offlineUntil else {
            return
        }
        log("server ⇒ \(handset.device.text): \(status) \(Ladder.text(body, from: 0))")
        requests[index].isOver = true
        switch request.what {
        case .signal(let id, _, _), .end(let id, _):
            tell(handset, .response(id: id, status: status, body: body))
        case .fetch(let id, let fetch, let number):
            if handset.isRealApp || status == 200 || status == 404 {
                tell(handset, .fetched(id, number: number, status: status, body: body))
            }
            pollAgain(handset, id, fetch, status: status, body)
        case .other, .probe: break
        }
    }

    /// Handles a request without a response; an app that is suspended is notified when it runs again.
    func timesOut(_ index: Int) {
        let request = requests[index]
        let handset = handsets[request.handset]
        guard !request.isOver, handset.instance == request.instance else { return }
        guard handset.power == .foreground else {
            after(2_000, .timeout(index))
            return
        }
        requests[index].isOver = true
        switch request.what {
        case .signal(let id, _, _), .end(let id, _): tell(handset, .response(id: id, status: 0, body: []))
        case .fetch(let id, _, let number): tell(handset, .fetched(id, number: number, status: 0, body: []))
        case .other, .probe: break
        }
    }

    /// Expires a device's bearer token: the server refuses it until the device gets another one.
    func tokenExpires(_ handset: Handset) {
        guard handset.isRealApp, handset.power == .foreground, !isHealed else { return }
        log("the token of \(handset.device.text) expires")
        handset.hasExpiredToken = true
        guard let link = handset.link, links[link].isOpenAtServer else { return }
        closes(link, code: 4401, isLost: false)
    }
}
