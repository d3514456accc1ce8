package import CallClient
package import CallCore
package import RinglineKit

/// A clock that the test sets, with a timer that the test lets fire.
@MainActor
package final class FakeClock: KitClock {
    package var now = Moment(milliseconds: 1_795_000_000_000)
    package var chance = 0.5
    private var due: (moment: Moment, work: @MainActor @Sendable () -> Void)?

    package init() {}

    package func wake(at moment: Moment?, _ work: @escaping @MainActor @Sendable () -> Void) {
        due = moment.map { ($0, work) }
    }

    /// The moment for which the timer is set.
    package var deadline: Moment? { due?.moment }

    /// Lets the time pass, and the timer fire as often as it is due.
    package func advance(by duration: Moment.Duration) {
        let end = now + duration
        while let due, due.moment <= end {
            now = max(now, due.moment)
            self.due = nil
            due.work()
        }
        now = end
    }
}

/// A store in memory.
@MainActor
package final class FakeStore: ValueStore {
    package var values: [String: String] = [:]

    package init() {}

    package subscript(name: String) -> String? {
        get { values[name] }
        set { values[name] = newValue }
    }
}

/// A token source that numbers its tokens, or fails.
@MainActor
package final class FakeTokens: TokenSource {
    package struct Failure: Error {
        package init() {}
    }

    package var count = 0
    package var isFailing = false
    /// The tokens that the kit said were refused.
    package var refused: [String] = []

    package init() {}

    package func token(refused: String?) async throws -> String {
        if let refused { self.refused.append(refused) }
        count += 1
        if isFailing { throw Failure() }
        return "token-\(count)"
    }
}

/// A media engine that makes short descriptions at once, and connects when both are there.
@MainActor
package final class FakeMedia: MediaEngine {
    package var events: (@MainActor @Sendable (MediaEvent) -> Void)?
    /// The outputs that the engine was handed, in order.
    package var did: [String] = []
    package var servers: [ICEServer] = []
    /// Whether descriptions are made when they are asked for, and media flows when both are there.
    package var isWorking = true
    private var local: Set<CallUUID> = []
    private var remote: Set<CallUUID> = []
    private let name: String
    private let later: (@escaping @MainActor () -> Void) -> Void

    /// Creates an engine whose events go through `later`.
    package init(_ name: String, later: @escaping (@escaping @MainActor () -> Void) -> Void) {
        self.name = name
        self.later = later
    }

    package func use(_ servers: [ICEServer]) {
        self.servers = servers
        did.append("servers")
    }
    package func makeOffer(_ call: CallUUID, round: UInt32, hasVideo: Bool, restartsICE: Bool) {
        did.append(restartsICE ? "restart" : "make offer")
        make(.offer, call, round)
    }
    package func makeAnswer(_ call: CallUUID, round: UInt32) {
        did.append("make answer")
        make(.answer, call, round)
    }
    package func setRemoteDescription(_ call: CallUUID, _ kind: CallClient.DescriptionKind, sdp: String) {
        did.append("set \(kind.rawValue)")
        remote.insert(call)
        connectIfReady(call)
    }
    package func addRemoteCandidate(_ call: CallUUID, _ candidate: String?) { did.append("add candidate") }
    package func rollback(_ call: CallUUID) { did.append("rollback") }
    package func setAudio(_ call: CallUUID, isOn: Bool) { did.append(isOn ? "audio on" : "audio off") }
    package func setHeld(_ call: CallUUID, _ isHeld: Bool) { did.append(isHeld ? "hold" : "resume") }
    package func setMuted(_ call: CallUUID, audio: Bool?, video: Bool?) { did.append("mute") }
    package func close(_ call: CallUUID) {
        did.append("close")
        local.remove(call)
        remote.remove(call)
    }

    private func make(_ kind: CallClient.DescriptionKind, _ call: CallUUID, _ round: UInt32) {
        guard isWorking else { return }
        let sdp = "v=0\r\ns=\(kind.rawValue) \(round) of \(name)\r\n"
        later { [self] in
            events?(.description(call, round: round, kind, sdp: sdp))
            events?(.candidate(call, round: round, #"{"candidate":"candidate:1 1 udp 1 192.0.2.1 5000 typ host"}"#))
            local.insert(call)
            connectIfReady(call)
        }
    }

    private func connectIfReady(_ call: CallUUID) {
        guard isWorking, local.contains(call), remote.contains(call) else { return }
        later { [self] in events?(.connected(call)) }
    }
}

/// A system that keeps the reports; the test plays the user.
@MainActor
package final class FakeSystem: CallSystem {
    package var events: (@MainActor @Sendable (CallSystemEvent) -> Void)?
    package let confirmsReports = false
    /// The reports, in order.
    package var did: [String] = []
    /// The call that was shown last.
    package var shown: CallUUID?
    /// Whether a request takes effect at once, as an event.
    package var performs = true

    package init() {}

    package func reportIncoming(_ call: CallUUID, _ peer: CallClient.DisplayedPeer) {
        shown = call
        did.append("incoming \(peer.name ?? peer.handle)")
    }
    package func reportConnecting(_ call: CallUUID, isOutgoing: Bool) {
        did.append("connecting\(isOutgoing ? " out" : "")")
    }
    package func reportConnected(_ call: CallUUID, isOutgoing: Bool) {
        did.append("connected\(isOutgoing ? " out" : "")")
    }
    package func reportEnded(_ call: CallUUID, _ end: ReportedEnd) { did.append("ended \(end.rawValue)") }
    package func update(_ call: CallUUID, _ peer: CallClient.DisplayedPeer) { did.append("update") }
    package func refuse(_ call: CallUUID, _ refusal: CallClient.Refusal) { did.append("refuse \(refusal)") }

    package func request(_ action: CallAction) {
        guard performs else { return }
        switch action {
        case .start(let call, let peer, let hasVideo, _):
            shown = call
            events?(.start(call, to: peer, hasVideo: hasVideo))
        case .answer(let call): events?(.input(.answer(call)))
        case .end(let call): events?(.input(.end(call)))
        case .setHeld(let call, let isHeld): events?(.input(.setHeld(call, isHeld)))
        case .setMuted(let call, let isMuted): events?(.input(.setMuted(call, audio: isMuted)))
        case .playDTMF(let call, let digits): events?(.input(.playDTMF(call, digits)))
        }
    }
}
