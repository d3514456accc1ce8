import CallCore
import CallPorts
import CallWire
import Nodes
import SeededRandom
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
    /// The owner's link over which the request came; `nil` = over none, because the owner has the request itself.
    var link: LinkID?
    /// Whether the response is lost in transit.
    var losesResponse = false
    /// The push's capability that the request carries instead of the token.
    var capability: String?
    /// Whether the device was notified of the result.
    var isOver = false
}

/// The HTTP requests of the devices, on their way to the server and back.
final class Requests: Part {
    private let network: Network
    var all: [Request] = []
    /// The callIds of all calls to or from the outsider.
    ///
    /// The outsider knows that these callIds exist.
    var outsidersNames: Set<CallID> = []

    init(_ course: Course, _ network: Network) {
        self.network = network
        super.init(course)
    }

    func issue(_ kind: Request.Kind, from device: SimulatedDevice, capability: String? = nil) {
        guard device.makesRequests else { return }
        let isLossy = faults.contains(.requests) && !isHealed
        var request = Request(device: device.index, instance: device.instance, kind: kind)
        request.capability = capability
        guard now >= device.offlineUntil else {
            guard device.isRealApp else { return }
            all.append(request)
            after(draws.network.within(1...500), .timeout(all.count - 1))
            return
        }
        request.losesResponse = isLossy && draws.network.percent(8)
        all.append(request)
        let index = all.count - 1
        if device.isRealApp { after(10_000, .timeout(index)) }
        // The registration of an earlier run of a real app reaches the server before that of this run.
        let isEarlier = if case .other(.devices(.register)) = kind { device.isRealApp } else { false }
        guard !isEarlier else { return after(network.latency(), .request(index)) }
        if !(isLossy && draws.network.percent(8)) { after(network.latency() + requestDelay(), .request(index)) }
        // A registration that is sent a second time, after the app has registered something else, cannot be told from a
        // new one.
        if case .device = kind { return }
        guard isLossy, draws.network.percent(6) else { return }
        // The client's HTTP library sends the request again, as it does when the first response does not come.
        all.append(request)
        after(network.latency() + requestDelay(), .request(all.count - 1))
    }

    /// Returns an extra delay, so that requests and socket messages overtake each other.
    private func requestDelay() -> Int64 {
        faults.contains(.delays) && !isHealed && draws.network.percent(10)
            ? draws.network.within(200...2_500) : draws.network.within(0...40)
    }

    /// Returns whether a request is the registration of an app that was killed, and now runs again.
    ///
    /// Such a request has arrived before that of the new run, or never arrives: the system closed its connection, and
    /// no server can tell it from a newer one.
    ///
    /// `atOwner`: Whether the request waited at a node for an owner; then the registration before the app's first run
    /// counts as well.
    func isRegistrationOfEarlierRun(_ request: Request, atOwner: Bool = false) -> Bool {
        let device = network.devices[request.device]
        switch request.kind {
        case .device: break
        case .other(.devices(.register)) where atOwner && device.isRealApp: break
        case .other, .signal, .end, .fetch, .probe: return false
        }
        return request.instance != device.instance && device.power != .killed
    }

    /// Returns the device that has sent a request.
    func device(of index: Int) -> SimulatedDevice { network.devices[all[index].device] }

    /// Reads the bearer and the content of a request.
    func read(_ index: Int) throws(WireError) -> (principal: Principal, asked: Switchboard.Request) {
        let request = all[index]
        let device = device(of: index)
        guard let principal = bearer(of: request, from: device) else {
            throw WireError(.tokenExpired, "the token has expired")
        }
        return (principal, try parse(request, from: device))
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

    /// Notes that a request has reached the server that decides, and returns whether it may be passed in again.
    func reached(_ index: Int, _ asked: Switchboard.Request) -> Bool {
        let device = device(of: index)
        all[index].isAtServer = true
        switch asked {
        case .signal(let message):
            checker.attempt(message, from: device, at: now)
            checker.endArrives(message, from: device.user, device.id)
            return message.id != nil && draws.network.percent(4)
        case .end(let id, _, _):
            let message = SignalMessage(endOf: id)
            checker.attempt(message, from: device, at: now, event: "DELETE")
            checker.endArrives(message, from: device.user, device.id)
        case .fetch(let id, _): checker.visit("fetch", id, by: device)
        default: break
        }
        return false
    }

    /// Checks the response of the server that decides; returns whether the request still was at the server.
    func checkReply(_ reply: Reply, to index: Int) -> Bool {
        guard all[index].isAtServer else { return false }
        all[index].isAtServer = false
        mix(reply.body)
        let device = device(of: index)
        switch all[index].kind {
        case .probe(_, let name): if !outsidersNames.contains(name) { checker.checkProbe(reply, name) }
        case .fetch(let name, _, _):
            checker.fetched(reply, name, by: device)
            if faults.contains(.withholding) { checker.checkDurable(reply, of: name, to: device.user) }
        case .signal(let signal, _, _):
            checker.checkAck(reply, of: signal, to: device)
            checker.checkDecided(reply, to: device.user)
        case .end, .other, .device: break
        }
        return true
    }

    /// Sends a response over the network.
    func respond(_ index: Int, status: Int, body: [UInt8]) {
        after(network.latency(), .response(index, status: status, body: body))
    }

    /// Ends the requests that the server was handling: their clients get no response.
    func dropAll() {
        for index in all.indices where all[index].isAtServer {
            all[index].isAtServer = false
            after(draws.network.within(1...300), .response(index, status: 0, body: []))
        }
    }
}
