import CallCore
import CallPorts
import CallWire
import Cluster
import Switchboard

/// An HTTP request of a simulated device.
struct Request {
    enum Kind {
        case signal(id: String, [UInt8], CallID)
        case end(id: String, CallID)
        case fetch(CallID, Switchboard.Fetch, number: UInt64)
        case other(Switchboard.Request)
        /// A real app's upload of its push tokens, or the removal of its row (`nil`).
        case device(UInt64, [UInt8]?)
        /// A request of an outsider, whose response must not reveal that the call exists.
        case probe(Switchboard.Request, CallID)
    }

    let device: Int
    let instance: Int
    let kind: Kind
    var isAtServer = false
    var run = 0
    /// Whether the response is lost in transit.
    var losesResponse = false
    /// The push's capability that the request carries instead of the token.
    var capability: String?
    /// Whether the device was notified of the result.
    var isOver = false
}

extension SimulatedWorld {
    func requests(_ kind: Request.Kind, from device: SimulatedDevice, capability: String? = nil) {
        let isLossy = faults.contains(.requests) && !isHealed
        var request = Request(device: device.index, instance: device.instance, kind: kind)
        request.capability = capability
        guard now >= device.offlineUntil else {
            guard device.isRealApp else { return }
            requests.append(request)
            after(networkDraws.within(1...500), .timeout(requests.count - 1))
            return
        }
        request.losesResponse = isLossy && networkDraws.percent(8)
        requests.append(request)
        let index = requests.count - 1
        if device.isRealApp { after(10_000, .timeout(index)) }
        // The registration of an earlier run of a real app reaches the server before that of this run.
        let isEarlier = if case .other(.devices(.register)) = kind { device.isRealApp } else { false }
        guard !isEarlier else { return after(latency(), .request(index)) }
        if !(isLossy && networkDraws.percent(8)) { after(latency() + requestDelay(), .request(index)) }
        // A registration that is sent a second time, after the app has registered something else, cannot be told from a
        // new one.
        if case .device = kind { return }
        guard isLossy, networkDraws.percent(6) else { return }
        // The client's HTTP library sends the request again, as it does when the first response does not come.
        requests.append(request)
        after(latency() + requestDelay(), .request(requests.count - 1))
    }

    /// Returns an extra delay, so that requests and socket messages overtake each other.
    private func requestDelay() -> Int64 {
        faults.contains(.delays) && !isHealed && networkDraws.percent(10)
            ? networkDraws.within(200...2_500) : networkDraws.within(0...40)
    }

    func requestArrives(_ index: Int) {
        guard !isRegistrationOfEarlierRun(requests[index]) else { return }
        guard !hasNodes else { return requestArrivesAtNode(index) }
        guard switchboard != nil else {
            after(latency(), .response(index, status: 0, body: []))
            return
        }
        requestReaches(index, as: RequestID(rawValue: UInt64(index)))
    }

    /// Returns whether a request is the registration of an app that was killed, and now runs again.
    ///
    /// Such a request has arrived before that of the new run, or never arrives: the system closed its connection, and
    /// no server can tell it from a newer one.
    ///
    /// `atOwner`: Whether the request waited at a node for an owner; then the registration before the app's first run
    /// counts as well.
    func isRegistrationOfEarlierRun(_ request: Request, atOwner: Bool = false) -> Bool {
        let device = devices[request.device]
        switch request.kind {
        case .device: break
        case .other(.devices(.register)) where atOwner && device.isRealApp: break
        case .other, .signal, .end, .fetch, .probe: return false
        }
        return request.instance != device.instance && device.power != .killed
    }

    /// Handles a request that reaches the server that decides.
    func requestReaches(_ index: Int, as id: RequestID) {
        guard let (principal, asked) = readRequest(index, as: id, at: owner) else { return }
        let device = devices[requests[index].device]
        requests[index].isAtServer = true
        requests[index].run = run
        var isRepeatable = false
        if case .signal(let message) = asked {
            checker.attempt(message, from: device, at: now)
            isRepeatable = message.id != nil && networkDraws.percent(4)
        }
        if case .end(let id, _, _) = asked {
            checker.attempt(SignalMessage(endOf: id), from: device, at: now, event: "DELETE")
        }
        if case .fetch(let id, _) = asked { checker.visit("fetch", id, by: device) }
        serve(.requested(id, principal, asked), repeatable: isRepeatable)
    }

    /// Returns the bearer and the content of a request, or refuses it.
    ///
    /// `node`: The owner that reads it; `nil` = the server, which is no node.
    func readRequest(
        _ index: Int,
        as id: RequestID,
        at node: SimulatedNode?
    ) -> (principal: Principal, asked: Switchboard.Request)? {
        let request = requests[index]
        let device = devices[request.device]
        func refuse(_ error: WireError) {
            let reply = Reply(error)
            if let node { return sendReply(reply, to: id, from: node) }
            after(latency(), .response(index, status: reply.status, body: reply.body))
        }
        guard let principal = bearer(of: request, from: device) else {
            refuse(WireError(.tokenExpired, "the token has expired"))
            return nil
        }
        do throws(WireError) { return (principal, try parse(request, from: device)) } catch {
            refuse(error)
            return nil
        }
    }

    /// Returns the bearer of a request's token or push capability; `nil` if it has expired.
    private func bearer(of request: Request, from device: SimulatedDevice) -> Principal? {
        if let capability = request.capability { return Capabilities().principal(capability, at: moment.milliseconds) }
        return device.hasExpiredToken ? nil : device.principal
    }

    private func parse(_ request: Request, from device: SimulatedDevice) throws(WireError) -> Switchboard.Request {
        switch request.kind {
        case .signal(_, let body, let callID):
            log("\(device.id.text) ⇒ server: POST \(Ladder.text(body, from: 0))")
            mix(body)
            return .signal(try SignalMessage(body: body, callIDInPath: callID, ringTimeout: .seconds(45)))
        case .end(_, let id):
            log("\(device.id.text) ⇒ server: DELETE \(id.text)")
            return .end(id, device: device.id)
        case .fetch(let id, let fetch, _):
            log("\(device.id.text) ⇒ server: GET \(id.text) since \(fetch.since?.seq ?? 0)")
            return .fetch(id, fetch)
        case .device(_, let body?):
            log("\(device.id.text) ⇒ server: PUT \(Ladder.text(body, from: 0))")
            return .devices(.register(try DeviceRegistration(body: body, device: nil)))
        case .device(_, nil):
            log("\(device.id.text) ⇒ server: DELETE \(device.id.text)")
            return .devices(.remove(device.id))
        case .other(let asked), .probe(let asked, _): return asked
        }
    }

    func replies(_ id: RequestID, _ reply: Reply) {
        let index = Int(LinkNumber.edgeNumber(id.rawValue))
        guard requests[index].isAtServer else { return }
        requests[index].isAtServer = false
        mix(reply.body)
        if let owner { sendReply(reply, to: id, from: owner) }
        if case .probe(_, let name) = requests[index].kind {
            if !outsidersNames.contains(name) { checker.checkProbe(reply, name) }
            return
        }
        if case .fetch(let name, _, _) = requests[index].kind {
            checker.fetched(reply, name, by: devices[requests[index].device])
            if faults.contains(.withholding) {
                checker.checkDurable(reply, of: name, to: devices[requests[index].device].user)
            }
        }
        if case .signal(let signal, _, _) = requests[index].kind {
            checker.checkAck(reply, of: signal, to: devices[requests[index].device])
        }
        guard !hasNodes, !requests[index].losesResponse else { return }
        after(latency(), .response(index, status: reply.status, body: reply.body))
    }

    func responseArrives(_ index: Int, status: Int, _ body: [UInt8]) {
        let request = requests[index]
        let device = devices[request.device]
        guard device.instance == request.instance, device.power == .foreground, now >= device.offlineUntil else {
            return
        }
        log("server ⇒ \(device.id.text): \(status) \(Ladder.text(body, from: 0))")
        requests[index].isOver = true
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
        let request = requests[index]
        let device = devices[request.device]
        guard !request.isOver, device.instance == request.instance else { return }
        guard device.power == .foreground else {
            after(2_000, .timeout(index))
            return
        }
        requests[index].isOver = true
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
        if hasNodes { return closeSocket(link, code: 4401, at: simulatedNodes[links[link].node]) }
        if links[link].isOpenAtServer { closes(link, code: 4401) }
    }
}
