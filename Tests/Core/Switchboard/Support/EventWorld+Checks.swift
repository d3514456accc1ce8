import CallCore
import CallPorts

@testable import Switchboard

extension EventWorld {
    /// Checks a request that is sent now.
    func checkSend(_ event: AppEvent, _ url: String) throws {
        let name = "\(event.position.rawValue) (call \(event.call?.rawValue ?? 0), \(event.number)) to \(url)"
        guard let endpoint = endpoints[url] else { throw Broken(description: "\(url) is not configured") }
        let underWay = requests.filter { $0.request.url == url }
        guard underWay.count < EventDelivery.requestsAtOnce else { throw Broken(description: "too many at once") }
        guard deliveries.figures.contains(where: { $0.url == url && !$0.isStopped }) else {
            throw Broken(description: "\(name) is sent although the endpoint has stopped")
        }
        let isHeld = store.rows.held[url]?[event.position] != nil
        let settled = store.rows.endpoints[url]?.settledUpTo ?? .start
        guard isHeld || event.position > settled || event.position <= store.rows.forgottenUpTo else {
            throw Broken(description: "\(name) is sent, and would be lost in a crash")
        }
        // One that is repeated after a crash, behind a held one of its call, may have lost its moment.
        let isRepeated = resent.contains(event.position) || endpoint.accepted.contains(event.position)
        if let moment = endpoint.notBefore[event.position], moment > now, !isRepeated {
            throw Broken(description: "\(name) is sent before its Retry-After")
        }
        guard let call = event.call, !resent.contains(event.position) else { return }
        guard !underWay.contains(where: { $0.event.call == call && !resent.contains($0.event.position) }) else {
            throw Broken(description: "\(name) is sent beside another event of its call")
        }
        for earlier in positions[call] ?? [] where earlier < event.position {
            guard earlier > endpoint.begin ?? .start, earlier > store.rows.forgottenUpTo else { continue }
            guard endpoint.accepted.contains(earlier) else {
                throw Broken(description: "\(name) is sent before \(earlier.rawValue) of its call")
            }
        }
    }

    /// Checks that what is durable loses no event.
    func checkSettled() throws {
        let rows = store.durable
        for url in urls {
            guard let row = rows.endpoints[url], let endpoint = endpoints[url] else { continue }
            for position in events.keys {
                guard position > endpoint.begin ?? .start, position > rows.forgottenUpTo, position <= row.settledUpTo,
                    !endpoint.accepted.contains(position), rows.held[url]?[position] == nil
                else { continue }
                throw Broken(description: "\(position.rawValue) is settled at \(url), and neither delivered nor held")
            }
        }
    }

    /// Checks that memory is bounded.
    func checkMemory() throws {
        for delivery in deliveries.deliveries {
            let reads = delivery.reads
            guard delivery.window.count <= limits.window + limits.page,
                delivery.window.lines.count <= delivery.window.count,
                delivery.retries.count <= limits.retries,
                delivery.blocked.count <= limits.calls + 3 * limits.retries + limits.asked + limits.portion,
                delivery.failing.count <= delivery.window.lines.count,
                reads.asks.count <= limits.window + limits.searched + limits.asked,
                reads.page.map({ $0.ahead.count <= limits.window }) ?? true,
                delivery.flights.count <= EventDelivery.requestsAtOnce
            else {
                let counts = [
                    delivery.window.count, delivery.retries.count, delivery.blocked.count, reads.asks.count,
                    reads.nexts.count, reads.parks.count,
                ]
                throw Broken(description: "memory is not bounded: \(counts)")
            }
        }
    }

    /// The events that an endpoint has not accepted, without those that are parked, or wait behind a parked one.
    func missing(_ url: String) -> [EventPosition] {
        guard let endpoint = endpoints[url] else { return [] }
        var parked: Set<CallNumber> = []
        return events.keys.sorted().filter { position in
            guard position > endpoint.begin ?? .start, position > store.durable.forgottenUpTo,
                let event = events[position]
            else { return false }
            let state = store.durable.held[url]?[position]?.state
            if state == .parked {
                if let call = event.call { parked.insert(call) }
                return false
            }
            if state == .behind, let call = event.call, parked.contains(call) { return false }
            return !endpoint.accepted.contains(position)
        }
    }

    /// Tells of events what is known of them.
    func told(_ positions: [EventPosition], _ url: String) -> String {
        let lines = positions.prefix(5).map { position in
            let held = store.durable.held[url]?[position].map { "\($0.state)" } ?? "not held"
            let call = events[position]?.call
            let rows = store.durable.held[url]?.values.filter { $0.call == call } ?? []
            let first = rows.map(\.position.rawValue).min() ?? 0
            return "\(position.rawValue) of call \(call?.rawValue ?? 0): \(held); the call's first is \(first)"
        }
        let figures = deliveries.figures.filter { $0.url == url }
        return "\(positions.count) at \(now)\n\(lines.joined(separator: "\n"))\n\(figures)"
    }
}
