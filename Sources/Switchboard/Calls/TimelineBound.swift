import CallCore

/// Keeps a call's timeline bounded, whatever devices do (I11).
///
/// An event that a device can repeat at will is written once for it in each phase; how often it came again is written when
/// the phase is over. A phase is a state of the call; while it rings, also a wave of pushes, so that it shows whether a
/// device came back.
struct TimelineBound {
    /// Events of one call: a call has some 10, a family's with 32 devices some 200.
    static let events = 512
    /// Events reserved for the end of the call and for the counts.
    private static let reserved = 64
    /// Devices whose repetitions are written one by one at the end of a phase.
    private static let countedDevices = 24
    /// The events that a device causes by connecting and asking, as often as it likes.
    private static let repeatable: Set<String> = ["delivered.socket", "probe", "probe.failed", "fetched"]

    /// Waves of pushes that are told apart.
    private static let waves = 4

    private struct Key: Hashable {
        let event: String
        let device: DeviceID
        let wave: Int
    }

    /// Something that came again in the phase that is over.
    struct Repetition: Equatable {
        let event: String
        let device: DeviceID
        let count: Int
    }

    private var phase = CallState.ringing
    private var wave = 0
    /// Whether a device got the offer since the last wave of pushes.
    private var hasDelivered = false
    private var repetitions: [Key: Int] = [:]
    /// How many events were written.
    private(set) var count = 0
    /// How many were left out, and not told of yet.
    private(set) var omitted = 0

    /// Takes note of the phase that the call is in: what came again in an earlier one.
    mutating func enter(_ phase: CallState) -> [Repetition] {
        guard phase != self.phase else { return [] }
        self.phase = phase
        let again = repetitions.filter { $0.value > 0 }.sorted {
            ($1.value, $0.key.device.text, $0.key.event) < ($0.value, $1.key.device.text, $1.key.event)
        }
        repetitions = [:]
        for (_, count) in again.dropFirst(Self.countedDevices) { omitted += count }
        return again.prefix(Self.countedDevices).map {
            Repetition(event: $0.key.event, device: $0.key.device, count: $0.value)
        }
    }

    /// Whether an event is to be written.
    mutating func admits(_ event: String, _ device: DeviceID?) -> Bool {
        if let device, Self.repeatable.contains(event) {
            let key = Key(event: event, device: device, wave: wave)
            if let count = repetitions[key] {
                repetitions[key] = count + 1
                return false
            }
            guard hasRoom else { return false }
            repetitions[key] = 0
            if event == "delivered.socket" { hasDelivered = true }
        } else {
            guard hasRoom else { return false }
            if event == "push.sent", hasDelivered, wave < Self.waves { (wave, hasDelivered) = (wave + 1, false) }
        }
        count += 1
        return true
    }

    /// Counts an event that is written in any case.
    mutating func wrote() { count += 1 }

    /// How many were left out since this was last asked.
    mutating func takeOmitted() -> Int {
        defer { omitted = 0 }
        return omitted
    }

    private var hasRoom: Bool {
        mutating get {
            guard count < Self.events - Self.reserved else {
                omitted += 1
                return false
            }
            return true
        }
    }
}
