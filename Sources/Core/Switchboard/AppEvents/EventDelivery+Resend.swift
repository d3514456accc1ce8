import CallCore
import CallPorts
import DequeModule

/// A step of what an operator has demanded.
enum ResendStep {
    /// To find a held event.
    case find(EventPosition)
    /// To read an event that is not held.
    case content(EventPosition)
    /// To find the first held events of calls; `isForParked`: those that wait for an attempt anyhow are left alone.
    case heads([CallNumber], isForParked: Bool)
    /// To read parked events after a position; only those that happened since a moment are sent again.
    case parked(since: Moment, after: EventPosition)
}

extension EventDelivery {
    /// The largest number of demands that wait.
    static let resendLimit = 64

    /// An operator demands that events are sent again; returns false if too many demands wait.
    mutating func resend(_ resend: EventDeliveries.Resend, at now: Moment) -> Bool {
        guard reads.resends.count < Self.resendLimit else { return false }
        startAgain(at: now)
        if down != nil { down?.nextProbe = now }
        switch resend {
        case .event(let position): reads.resends.append(.find(position))
        case .parked(let since): reads.resends.append(.parked(since: since, after: .start))
        }
        return true
    }

    func query(for step: ResendStep) -> StoreQuery {
        switch step {
        case .find(let position): held(.after(Self.before(position)), 1)
        case .content(let position): .events(EventRead(after: Self.before(position), upTo: position, count: 1))
        case .heads(let calls, _): held(.ofCalls(calls), calls.count)
        case .parked(_, let after): held(.parked(after: after), limits.portion)
        }
    }

    private static func before(_ position: EventPosition) -> EventPosition {
        EventPosition(rawValue: max(1, position.rawValue) - 1)
    }

    /// Takes held events that a demand has read.
    mutating func takeResent(_ rows: [HeldContent], _ step: ResendStep, _ read: HeldLane, _ turn: inout DeliveryTurn) {
        reads.resends.removeFirst()
        switch step {
        case .find(let position):
            guard let row = rows.first, row.held.position == position else {
                reads.resends.prepend(.content(position))
                return
            }
            if let call = row.held.call {
                reads.resends.prepend(.heads([call], isForParked: false))
            } else {
                resendHead(row, read, isForParked: false, &turn)
            }
        case .heads(_, let isForParked): for row in rows { resendHead(row, read, isForParked: isForParked, &turn) }
        case .parked(let since, _):
            if rows.count >= limits.portion, let last = rows.last {
                reads.resends.prepend(.parked(since: since, after: last.held.position))
            }
            var calls: [CallNumber] = []
            for row in rows where row.event.map({ $0.at >= since }) ?? false {
                guard let call = row.held.call else {
                    resendHead(row, read, isForParked: true, &turn)
                    continue
                }
                if !calls.contains(call) { calls.append(call) }
            }
            if !calls.isEmpty { reads.resends.prepend(.heads(calls, isForParked: true)) }
        case .content: break
        }
    }

    /// Takes an event that is not held: if it was delivered, it is sent again, in no order with others.
    mutating func takeResent(_ page: EventPage, _ step: ResendStep, _ turn: inout DeliveryTurn) {
        reads.resends.removeFirst()
        guard case .content(let position) = step, let event = page.events.first, event.position == position,
            position <= endpoint.settledUpTo
        else { return }
        let held = HeldEvent(
            url: endpoint.url,
            position: position,
            call: nil,
            state: .behind,
            attempts: 0,
            since: turn.now
        )
        retry(held, event, &turn)
    }

    /// Sends the first held event of a call now, or one that is about no call.
    private mutating func resendHead(
        _ row: HeldContent,
        _ read: HeldLane,
        isForParked: Bool,
        _ turn: inout DeliveryTurn
    ) {
        let position = row.held.position
        if let call = row.held.call, blocked[call]?.state == .next { return }
        guard retries[position] == nil else {
            if !isForParked, !flights.contains(where: { $0.place == .held && $0.position == position }) {
                retries.setAttempt(of: position, turn.now)
            }
            return
        }
        guard !read.written.contains(position), row.held.state == .parked || !isForParked else { return }
        guard let event = row.event else {
            lost(row.held, &turn)
            return
        }
        retry(row.held, event, &turn)
    }
}
