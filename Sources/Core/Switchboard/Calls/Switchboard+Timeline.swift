import CallCore
import CallPorts

/// The timeline of a call: everything that helps to explain why a device did not ring, and nothing else.
extension Switchboard {
    /// Adds an event to a call's timeline, if the timeline's bound admits it.
    ///
    /// The end of the call is always added.
    mutating func note(_ call: Call, _ event: TimelineEvent) {
        let state = call.session.state
        let isLast = if case .ended = event { true } else { false }
        // Nearly all events are of the same phase as the event before.
        var isAdmitted = isLast ? nil : call.timeline.admits(event, in: state)
        if isAdmitted == nil {
            for again in call.timeline.enter(state) {
                write(.repeated(again.event, again.device, count: again.count), to: call)
            }
            isAdmitted = isLast || call.timeline.admits(event)
        }
        guard isAdmitted == true else {
            metrics.limited[.timeline] += 1
            return
        }
        if isLast { tellOmitted(of: call) }
        trace(call, .event(event.name, event.device))
        write(event, to: call, isCounted: !isLast)
    }

    /// Writes an event to a call's timeline, without asking whether there is room.
    ///
    /// It is inlined, because a function call would cost 120 more instructions for each event.
    @inline(__always)
    private mutating func write(_ event: TimelineEvent, to call: Call, isCounted: Bool = false) {
        if !isCounted { call.timeline.countWritten() }
        let record = TimelineRecord(at: turn.now, event: event)
        commits.append(.event(call.number, record))
        // The verdict, which needs the course, is on calls that nobody answered.
        if appEvents.areWanted, let events = call.events, !events.has(.callAnswered) { call.course.append(record) }
        if !connections.timelineWatchers.isEmpty { report(record, of: call, from: .timeline) }
        countStoredEvent(event.byteCount, of: call)
    }

    /// Writes how many events a full timeline has omitted, with `more` added to that number.
    private mutating func tellOmitted(of call: Call, _ more: Int = 0) {
        let count = call.timeline.takeOmitted() + more
        guard count > 0 else { return }
        write(.omitted(count: count), to: call)
    }

    /// Adds the signals in the log of a call that can no longer be fetched to its timeline, as far as there is room.
    mutating func keepSignals(of call: Call) {
        let signals = call.session.log.compactMap { TimelineRecord($0) }
        let room = max(0, SwitchboardLimits.timelineEvents - 1 - call.timeline.count)
        for event in signals.prefix(room) {
            commits.append(.event(call.number, event))
            if !connections.timelineWatchers.isEmpty { report(event, of: call, from: .forgottenLog) }
        }
        tellOmitted(of: call, signals.count - min(room, signals.count))
    }

    /// Adds the signals from the log of a call that can still be fetched; an older call's timeline already contains its
    /// signals.
    func withSignals(_ events: [TimelineRecord], of record: CallRecord) -> [TimelineRecord] {
        guard let call = calls[record.number] else { return events }
        let all = call.session.log.compactMap { TimelineRecord($0) } + events
        return all.indices.sorted { (all[$0].at, $0) < (all[$1].at, $1) }.map { all[$0] }
    }
}
