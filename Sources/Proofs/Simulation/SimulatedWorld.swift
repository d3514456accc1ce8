import CallCore
import CallPorts
import CallWire
import SeededRandom
import Switchboard

/// A server, its store, Apple's push service, simulated devices and their users, in simulated time.
///
/// Every occurrence is an ``Event`` in one queue. All randomness comes from one seed, so that a world can be run
/// again.
final class SimulatedWorld {
    let seed: UInt64
    let callCount: Int
    let faults: Faults
    let isRecording: Bool
    /// Receives the inputs of every client core of this world.
    var coreTrace: CoreTrace?

    var now: Int64
    var events = EventQueue<Event>()
    /// One random stream per subject, so that leaving a fault out changes little else.
    var networkDraws: SeededGenerator
    var userDraws: SeededGenerator
    var faultDraws: SeededGenerator
    var apnsDraws: SeededGenerator
    var outsiderDraws: SeededGenerator
    var clientDraws: SeededGenerator
    let serverSeed: UInt64

    // The server's state.
    var switchboard: SwitchboardBox?
    /// A number that changes with each start and each stop of the server.
    var run = 0
    var store = ModelStore()
    var storeIsStalled = false
    /// The moment at which the store last recovered, in milliseconds.
    var storeRecoveredAt: Int64 = .min
    var timerAt: Int64?
    var outputs: [Switchboard.Output] = []
    var coreOutputs: [CoreOutput] = []
    var flushIsPlanned = false

    // The state of a server of several nodes.
    /// The number of nodes; 0 = the world has one server, which is no node.
    let nodeCount: Int
    var nodeDraws: SeededGenerator
    var simulatedNodes: [SimulatedNode] = []
    /// The node whose switchboard decides: no later claim was carried out.
    var owner: SimulatedNode?
    /// The owner's row in the database, without its lease.
    var row = OwnerRow(epoch: .none, node: nil, address: "", lease: .milliseconds(0))
    /// Until when the lease lasts while nobody renews it.
    var leaseUntil: Int64 = 0
    var isDatabaseAway = false
    var nodeLinks: [NodeLink] = []
    var nodeLinkCount = 0
    var nodeStores = 0
    /// The faults of the network between two nodes, by the nodes' numbers `low * 8 + high`.
    var pairFaults: [Int: PairFault] = [:]
    /// When a run of a node was last seen.
    var seenNodes: [NodeID: Int64] = [:]
    /// When a fault of a node, of the database or between nodes last began or ended.
    var lastNodeFault = startTime
    var revocations = NodeRevocations()
    /// When an owner last served.
    var lastServed = startTime

    /// How far the server's clock is ahead of `now`, in milliseconds; negative = behind.
    var serverAhead: Int64 = 0

    // The state of the simulated devices.
    var devices: [SimulatedDevice] = []
    var links: [Link] = []
    var requests: [Request] = []
    /// The frame that was sent last.
    ///
    /// The next frame is often the same one, for another device.
    var lastFrame: ParsedFrame?
    var script: [Step] = []
    var sdpCount = 0
    var signalsWithoutCore = 0
    var latencyUntil: Int64 = 0
    var isHealed = false
    var hasHungUp = false
    var suspects: [String] = []
    /// The callIds of all calls to or from the outsider.
    ///
    /// The outsider knows that these callIds exist.
    var outsidersNames: Set<CallID> = []
    /// The most recent ends that were acknowledged.
    var oldEnds: [OldEnd] = []

    var checker: InvariantChecker
    var statistics = Statistics()
    var violation: Violation?
    var ladder: [String] = []

    static let startTime: Int64 = 1_750_000_000_000

    init(seed: UInt64, calls: Int, faults: Faults, nodes: Int = 0, isRecording: Bool) {
        self.seed = seed
        callCount = calls
        // Servers of several nodes withhold their decisions.
        self.faults = nodes > 0 ? faults.union(.withholding) : faults
        nodeCount = nodes
        nodeDraws = SeededGenerator(seed: seed, stream: 8)
        self.isRecording = isRecording
        now = Self.startTime
        networkDraws = SeededGenerator(seed: seed, stream: 1)
        userDraws = SeededGenerator(seed: seed, stream: 2)
        faultDraws = SeededGenerator(seed: seed, stream: 3)
        apnsDraws = SeededGenerator(seed: seed, stream: 4)
        outsiderDraws = SeededGenerator(seed: seed, stream: 6)
        clientDraws = SeededGenerator(seed: seed, stream: 7)
        serverSeed = SeededGenerator(seed: seed, stream: 5).derivedSeed
        checker = InvariantChecker()
    }

    /// Runs the world to its end, or to the first broken invariant.
    func live() {
        makeDevices()
        start()
        plan()
        while violation == nil, let next = events.takeNext() {
            now = max(now, next.at)
            statistics.steps += 1
            if case .finish = next.event { break }
            handle(next.event)
            if let found = checker.violation, violation == nil { fail(found.invariant, found.message) }
            if statistics.steps > 400_000 { fail("I11", "the world is not at rest after 400,000 steps") }
        }
        statistics.worlds = 1
        statistics.milliseconds = now - Self.startTime
        statistics.calls = checker.begun
        mix(UInt64(truncatingIfNeeded: now))
        mix(UInt64(statistics.steps))
    }

    func fail(_ invariant: String, _ message: String) {
        guard violation == nil else { return }
        log("\(invariant) BROKEN: \(message)")
        violation = Violation(invariant: invariant, message: message, seed: seed, calls: callCount, faults: faults)
        violation?.nodes = nodeCount
        violation?.foundAfterCalls = checker.begun
        violation?.ladder = ladder
    }

    func log(_ text: @autoclosure () -> String) {
        guard isRecording else { return }
        ladder.append(Ladder.line(text(), at: now - Self.startTime))
    }

    func mix(_ number: UInt64) { statistics.mix(number) }

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

    func after(_ milliseconds: Int64, _ event: Event) { events.plan(event, at: now + milliseconds) }

    /// The time of the server's clock.
    var moment: Moment { Moment(milliseconds: now + serverAhead) }

    private func handle(_ event: Event) {
        switch event {
        case .serverTimer(let run): timerFires(run)
        case .flush(let run): flush(run)
        case .socketEstablished(let link): socketEstablished(link)
        case .up(let link, let frame): frameArrives(frame, on: link)
        case .down(let link, let frame): deviceReceives(frame, on: link)
        case .pingDown(let link, let number): pinged(link, number)
        case .pongUp(let link, let number): ponged(link, number)
        case .closeUp(let link): closesAtServer(link)
        case .closeDown(let link, let code): closesAtDevice(link, code: code)
        case .request(let index): requestArrives(index)
        case .response(let index, let status, let body): responseArrives(index, status: status, body)
        case .committed(let run): committed(run)
        case .storeReport(let run, let report): if run == self.run, switchboard != nil { serve(.stored(report)) }
        case .timeout(let index): timesOut(index)
        case .tokenRenewed(let index, let instance):
            if devices[index].instance == instance { renewed(devices[index]) }
        case .tokenExpires(let index): tokenExpires(devices[index])
        case .pushArrives(let run, let push): pushArrives(push, run)
        case .pushResult(let run, let id, let result): pushResult(run, id, result)
        case .pushDelivered(let device, let payload): pushDelivered(payload, to: devices[device])
        case .coreDeadline(let device): wake(devices[device])
        case .connect(let device): connect(devices[device])
        case .attemptFails(let device, let instance, let attempt):
            if devices[device].instance == instance { attemptFailed(devices[device], attempt) }
        case .pathChanges(let device, let instance):
            if devices[device].instance == instance { changePath(devices[device]) }
        case .tokenArrives(let device, let instance):
            if devices[device].instance == instance { learnToken(devices[device]) }
        case .login(let device, let instance):
            if devices[device].instance == instance { passToCore(devices[device], .login(true)) }
        case .poll(let device, let instance, let name, let since, let number):
            pollIsDue(devices[device], instance, name, since: since, number)
        case .intent(let device, let instance, let intent): carryOut(intent, devices[device], instance)
        case .script(let index): perform(script[index])
        case .chaos(let fault): apply(fault)
        case .restart: start()
        case .node(let node, let life, let event): passToNode(event, at: node, life: life)
        case .database(let request, let node, let life): answer(request, of: node, life: life)
        case .nodeLink(let link, let end): deliver(link, to: end)
        case .nodeFault(let fault): continueFault(fault)
        case .checkOffer(let device, let key, let epoch, let number): checkOffer(devices[device], key, epoch, number)
        case .checkService: checkService()
        case .audit:
            audit()
            after(3_000, .audit)
        case .checkDelivery(let key, let epoch, let number): checkDelivery(key, epoch, number)
        case .checkRing(let device, let instance, let name, let ring): checkRing(devices[device], instance, name, ring)
        case .settle: endFaults()
        case .hangUpAll: hangUpAll()
        case .finish: break
        }
    }

    /// Wakes the server at its deadline, unless another run of it has planned the timer.
    private func timerFires(_ run: Int) {
        timerAt = nil
        guard run == self.run, ownerDecides else { return }
        serve(.deadlineReached)
    }

    /// Ends the turn of a run of the server, if that run still goes on.
    private func flush(_ run: Int) {
        guard run == self.run else { return }
        flushIsPlanned = false
        guard owner.map({ !$0.isStopped }) ?? true else { return }
        flush()
        if let owner { endTurn(of: owner) }
    }
}
