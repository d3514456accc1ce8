import CallCore
import CallPorts

/// The timeline of a call: everything that helps to explain why a device did not ring, and nothing else.
extension Switchboard {
    /// Adds an event to a call's timeline.
    mutating func note(_ call: Call, _ event: TimelineEvent, at now: Moment) {
        for again in call.timeline.enter(call.session.state) {
            write(.repeated(again.event, again.device, count: again.count), to: call, at: now)
        }
        let isLast = if case .ended = event { true } else { false }
        guard isLast || call.timeline.admits(event) else {
            metrics.limited[.timeline] += 1
            return
        }
        if isLast { tellOmitted(of: call, at: now) }
        trace(call, .event(event.name, event.device))
        write(event, to: call, isCounted: !isLast, at: now)
    }

    private mutating func write(_ event: TimelineEvent, to call: Call, isCounted: Bool = false, at now: Moment) {
        if !isCounted { call.timeline.wrote() }
        commits.append(.event(call.number, TimelineRecord(at: now, event: event)))
        countKeptEvent(event.byteCount, of: call, at: now)
    }

    /// Records how many events a full timeline has omitted.
    private mutating func tellOmitted(of call: Call, _ more: Int = 0, at now: Moment) {
        let count = call.timeline.takeOmitted() + more
        guard count > 0 else { return }
        write(.omitted(count: count), to: call, at: now)
    }

    /// Moves the log of a call that can no longer be fetched into its timeline, as far as there is room.
    mutating func keepSignals(of call: Call, at now: Moment) {
        let signals = call.session.log.compactMap { TimelineRecord($0) }
        let room = max(0, SwitchboardLimits.timelineEvents - 1 - call.timeline.count)
        for event in signals.prefix(room) { commits.append(.event(call.number, event)) }
        tellOmitted(of: call, signals.count - min(room, signals.count), at: now)
    }
}
