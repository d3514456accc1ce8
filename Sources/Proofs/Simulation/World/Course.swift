import CallCore
import CallPorts
import SeededRandom

/// The course of a world: its time, its random draws, and the record of what has happened and what was broken.
///
/// Every occurrence is an ``Event`` in one queue. All randomness comes from one seed, so that a world can be run again.
final class Course {
    let scenario: Scenario
    var now: Int64
    private var events = EventQueue<Event>()
    var draws: Draws
    /// Whether all faults are over.
    var isHealed = false
    /// How far the server's clock is ahead of `now`, in milliseconds; negative = behind.
    var serverAhead: Int64 = 0
    private var lastNumber = 0

    var checker = InvariantChecker()
    var statistics = Statistics()
    private(set) var violation: Violation?
    private(set) var ladder: [String] = []

    static let startTime: Int64 = 1_750_000_000_000

    init(_ scenario: Scenario) {
        self.scenario = scenario
        now = Self.startTime
        draws = Draws(seed: scenario.seed)
    }

    /// Plans an event at a moment; one of the past happens next.
    func plan(_ event: Event, at moment: Int64) { events.plan(event, at: moment) }

    /// Moves on to the next event, and returns it; `nil` = there is none, or the world is over.
    func next() -> Event? {
        guard violation == nil, let next = events.takeNext() else { return nil }
        now = max(now, next.at)
        statistics.steps += 1
        if case .finish = next.event { return nil }
        return next.event
    }

    /// Notes what the checker has found in the last event, and ends a world that comes to no rest.
    func check() {
        if let found = checker.violation, violation == nil { fail(found.invariant, found.message) }
        if statistics.steps > 400_000 { fail("I11", "the world is not at rest after 400,000 steps") }
    }

    /// Returns the next number for a description, a candidate or a message, which is unique in the world.
    func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    func fail(_ invariant: String, _ message: String) {
        guard violation == nil else { return }
        log("\(invariant) BROKEN: \(message)")
        violation = Violation(invariant: invariant, message: message, scenario)
        violation?.foundAfterCalls = checker.begun
        violation?.ladder = ladder
    }

    func log(_ text: @autoclosure () -> String) {
        guard scenario.isRecording else { return }
        ladder.append(Ladder.line(text(), at: now - Self.startTime))
    }

    /// Mixes a frame or a body into the trace, without the message of an error.
    ///
    /// A message is for people: no client may depend on it, so that its wording may change while the trace stays.
    func mix(_ bytes: [UInt8]) {
        var hash = statistics.trace
        let message = Self.errorMessage(in: bytes)
        for part in [bytes.startIndex..<message.lowerBound, message.upperBound..<bytes.endIndex] {
            for index in part { hash = (hash ^ UInt64(bytes[index])) &* 0x100_0000_01b3 }
        }
        statistics.trace = hash
    }

    /// Returns the range of the message in an error frame or in the body of a refused request; empty for others.
    static func errorMessage(in bytes: [UInt8]) -> Range<Int> {
        guard let start = bytes.firstIndex(of: UInt8(ascii: "{")) else { return 0..<0 }
        guard errorBeginnings.contains(where: { bytes[start...].starts(with: $0) }) else { return 0..<0 }
        let name = messageName
        guard let place = (start..<bytes.count).first(where: { bytes[$0...].starts(with: name) }) else { return 0..<0 }
        let first = place + name.count
        var end = first
        while end < bytes.count, bytes[end] != UInt8(ascii: "\"") { end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1 }
        return first..<min(end, bytes.count)
    }

    private static let errorBeginnings = [Array(#"{"type":"error","#.utf8), Array(#"{"type":"about:blank","#.utf8)]
    private static let messageName = Array(#""message":""#.utf8)
}

/// A part of a world: it owns its state, and shares the course.
///
/// Parts call each other only downwards, in the order in which ``World`` makes them; what concerns a part further up
/// becomes an event.
class Part {
    let course: Course

    init(_ course: Course) { self.course = course }

    final var now: Int64 { course.now }
    final var scenario: Scenario { course.scenario }
    final var faults: Faults { course.scenario.faults }
    final var isHealed: Bool { course.isHealed }
    /// The time of the server's clock.
    final var moment: Moment { Moment(milliseconds: now + course.serverAhead) }

    final var draws: Draws {
        get { course.draws }
        _modify { yield &course.draws }
    }
    final var checker: InvariantChecker {
        _read { yield course.checker }
        _modify { yield &course.checker }
    }
    final var statistics: Statistics {
        get { course.statistics }
        _modify { yield &course.statistics }
    }

    final func after(_ milliseconds: Int64, _ event: Event) { course.plan(event, at: now + milliseconds) }
    final func plan(_ event: Event, at moment: Int64) { course.plan(event, at: moment) }
    final func fail(_ invariant: String, _ message: String) { course.fail(invariant, message) }
    final func log(_ text: @autoclosure () -> String) { course.log(text()) }
    final func mix(_ bytes: [UInt8]) { course.mix(bytes) }
}
