import CallCore
import CallPorts

/// Keeps a call's timeline bounded, whatever devices do (I11).
///
/// A phase is a state of the call, and is divided into waves. A push or a dead connection begins a new wave, if a
/// device has received or fetched the call since the last wave began.
///
/// An event that a device can repeat at will is written once per device and wave. So the timeline shows whether a
/// device has received or fetched the call again after a push. The number of the other repetitions is written at the
/// end of the phase.
struct TimelineBound {
    /// A repeatable event of a device that was written in this phase, and the number of its repetitions in the same
    /// wave.
    private struct Written {
        let event: TimelineEvent.Repeatable
        let wave: Int
        let device: DeviceID
        var repetitions = 0
    }

    /// The repetitions of an event in the phase that is over.
    struct Repetition: Equatable {
        let event: TimelineEvent.Repeatable
        let device: DeviceID
        let count: Int
    }

    init() {}

    /// The bound of an ended call with this number of events.
    init(holding count: Int) {
        phase = .ended
        self.count = count
    }

    private var phase = CallState.ringing
    private var wave = 0
    /// Whether a device has received or fetched the call since the last wave began.
    private var hasReached = false
    /// An array, because it holds few events: searching an array is faster than maintaining a dictionary.
    private var written: [Written] = []
    /// The number of events written.
    private(set) var count = 0
    /// The number of events left out and not reported yet.
    private(set) var omitted = 0

    /// Records the phase that the call is in; returns the repetitions in the phase that is over, or nothing if the
    /// phase is the same.
    mutating func enter(_ phase: CallState) -> [Repetition] {
        guard phase != self.phase else { return [] }
        self.phase = phase
        let again = written.filter { $0.repetitions > 0 }.sorted {
            ($1.repetitions, $0.device.text, $0.event.rawValue) < ($0.repetitions, $1.device.text, $1.event.rawValue)
        }
        written = []
        for repeated in again.dropFirst(SwitchboardLimits.countedDevices) { omitted += repeated.repetitions }
        return again.prefix(SwitchboardLimits.countedDevices).map {
            Repetition(event: $0.event, device: $0.device, count: $0.repetitions)
        }
    }

    /// Does the same as ``admits(_:)``; returns `nil`, and counts nothing, if the call has entered another phase.
    mutating func admits(_ event: TimelineEvent, in phase: CallState) -> Bool? {
        phase == self.phase ? admits(event) : nil
    }

    /// Returns whether to write an event, and counts the event as written, repeated or omitted.
    mutating func admits(_ event: TimelineEvent) -> Bool {
        if let (repeatable, device) = event.repeatable {
            let index = written.firstIndex { $0.event == repeatable && $0.wave == wave && $0.device == device }
            if let index {
                written[index].repetitions += 1
                return false
            }
            guard hasRoom else { return false }
            written.append(Written(event: repeatable, wave: wave, device: device))
            if repeatable == .delivered || repeatable == .fetched { hasReached = true }
            if repeatable == .probeFailed { beginWave() }
        } else {
            guard hasRoom else { return false }
            if case .pushSent = event { beginWave() }
        }
        count += 1
        return true
    }

    /// Begins a wave, if a device has received or fetched the call in the present one and another wave is allowed.
    private mutating func beginWave() {
        if hasReached, wave < SwitchboardLimits.timelineWaves { (wave, hasReached) = (wave + 1, false) }
    }

    /// Counts an event that is written regardless of the bound.
    mutating func countWritten() { count += 1 }

    /// Returns and clears the number of events left out.
    mutating func takeOmitted() -> Int {
        defer { omitted = 0 }
        return omitted
    }

    private var hasRoom: Bool {
        mutating get {
            guard count < SwitchboardLimits.timelineEvents - SwitchboardLimits.reservedEvents else {
                omitted += 1
                return false
            }
            return true
        }
    }
}

extension TimelineEvent {
    /// The repeatable event and its device; `nil` for an event that no device can repeat at will.
    fileprivate var repeatable: (Repeatable, DeviceID)? {
        switch self {
        case .delivered(let device): (.delivered, device)
        case .probe(let device): (.probe, device)
        case .probeFailed(let device): (.probeFailed, device)
        case .fetched(let device): (.fetched, device)
        case .signal, .scheduled, .blocked, .numberBlocked, .doNotDisturb, .callIDTaken, .decided, .tooManyCallers,
            .noDevice, .silenced, .pushSent, .pushResult, .pushCancelled, .pushLowered, .tokensRevoked, .restarted,
            .takenOver,
            .ringRefused, .ringSkipped, .repeated, .omitted, .ended, .other:
            nil
        }
    }
}
