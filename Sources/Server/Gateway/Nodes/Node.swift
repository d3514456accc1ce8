import CallCore
import CallPorts
import CallWire
import Crypto
import LibWebSockets
import Nodes
import ServerLog
import Switchboard
import Threads

/// One node of several: the links, the register and the sockets around a `NodeMachine`, which decides everything.
///
/// It is confined to the loop's thread, except the register, which reports from its own threads.
final class Node {
    let configuration: NodeConfiguration
    /// The gateway whose node this is; it outlives the node.
    unowned let gateway: Gateway
    let server: Server

    var machine: NodeMachine
    /// The effects that are not carried out yet.
    private var effects = EffectQueue<NodeMachine.Effect>()
    private var timing = Timing()
    var links: LinkTable
    private var claim: Claim
    private var revocations = AskedRevocations()
    var farewell = Farewell()

    /// The timer for the next deadline.
    private struct Timing {
        var timer: LoopTimer?
        var at: Moment?
        /// Until when overdue deadlines wait, because the process stood still and first reads what has arrived meanwhile.
        var graceEnd: Moment?
    }

    /// The node's way to the ownership of the calls.
    private struct Claim {
        let register: any OwnershipRegister
        let senders: Senders
        let ports: Switchboard.Ports
        /// The store of the claim, until the node has taken it over.
        var store: ClaimedStore?
    }

    /// The revocations that this node's operator has asked for.
    private struct AskedRevocations {
        var completions: [RevocationID: @Sendable () -> Void] = [:]
        var last: UInt64 = 0
    }

    /// The notice to this node's clients that they must reconnect.
    struct Farewell {
        /// Whether the clients were told when to reconnect.
        var isSaid = false
        /// This node's own connections that the switchboard had when the node's ownership ended, and whether the user of
        /// each was in a call.
        var formerConnections: [(id: SocketID, isInCall: Bool)] = []
    }

    init(
        _ configuration: NodeConfiguration,
        of gateway: Gateway,
        on server: Server,
        register: any OwnershipRegister,
        secret: [UInt8],
        senders: Senders,
        ports: Switchboard.Ports
    ) {
        self.configuration = configuration
        self.gateway = gateway
        self.server = server
        claim = Claim(register: register, senders: senders, ports: ports)
        links = LinkTable(key: HMACSHA256.code(of: Array("ringline links".utf8), key: secret))
        machine = NodeMachine(node: configuration.id, at: gateway.now)
    }

    var now: Moment { gateway.now }
    var log: ServerLog { gateway.log }

    /// Whether this node decides: it is the owner, and has gathered the other nodes.
    var isServing: Bool { machine.tenure.isServing }

    /// How far the wall clock, by which moments are counted on links, is ahead of this server's clock.
    var clockLead: Moment.Duration { .milliseconds(gateway.configuration.clock.difference) }

    /// Begins to look for the owner; call it on the loop's thread.
    func start() {
        timing.timer = LoopTimer(on: server) { [unowned self] in timerDue() }
        handle(.started)
    }

    // MARK: Inputs

    func handle(_ input: NodeMachine.Input) {
        machine.clockLead = clockLead
        machine.handle(input, at: now, into: &effects.added)
        performEffects()
    }

    /// Returns why this node does not serve a node that connects; `nil` = the node may prove itself.
    func refusal(of peer: Hello) -> NodeFrame.LinkRefusal? {
        let refusal = machine.refusal(of: peer, at: now, into: &effects.added)
        performEffects()
        return refusal
    }

    /// Handles a report of the register.
    func handleOwnershipReport(_ report: OwnershipReport) {
        switch report {
        case .row(let row): handle(.rowRead(row))
        case .unreadable(let failure):
            log.debug("the database's record of the owner cannot be read", [.error(UntrustedText(failure.message))])
            handle(.rowRead(nil))
        case .loading: handle(.loading)
        case .claimed(let store):
            claim.store = store
            handle(.claimed(store.epoch, others: store.others))
        case .claimLost: handle(.claimLost)
        case .claimFailed(let failure):
            log.warning("this node could not claim the calls", [.error(UntrustedText(failure.message))])
            handle(.claimFailed)
        }
    }

    /// Passes a command of this node's operator to the owner, now or when there is one.
    func passToOwner(_ command: Switchboard.OperatorCommand, done: @escaping @Sendable () -> Void) {
        switch command {
        case .revoke(let user, let moment):
            revocations.last += 1
            let id = RevocationID(rawValue: revocations.last)
            revocations.completions[id] = done
            handle(.revocationAsked(user, upTo: moment, id))
        // Only the owner delivers events, and no frame between nodes tells it: the command waits for a run as the owner.
        case .resendEvents: break
        }
    }

    // MARK: Time

    private func timerDue() {
        let late = timing.at.map { now - $0 } ?? .milliseconds(0)
        timing.at = nil
        guard late < .milliseconds(500) || timing.graceEnd != nil else {
            // The process stood still. What has arrived meanwhile is read before any link counts as silent.
            timing.graceEnd = now + .milliseconds(10)
            return
        }
        timing.graceEnd = nil
        // A link that ends leaves the table, so the present one is gone through.
        let links = links
        links.forEach { $0.check(at: now) }
        handle(.deadlineReached)
    }

    /// Closes the register, after the last turn.
    func closeRegister() { claim.register.close() }

    /// Ends a turn of the loop: confirms what is durable, writes to all links, and sets the timer.
    func endTurn() {
        machine.confirmEvents(hasChanges: gateway.switchboard?.hasChanges == true, into: &effects.added)
        performEffects()
        flushLinks()
        var next = machine.deadline
        if let due = links.deadline { next = next.map { min($0, due) } ?? due }
        if let graceEnd = timing.graceEnd { next = next.map { max($0, graceEnd) } }
        guard next != timing.at else { return }
        timing.at = next
        timing.timer?.set(afterMilliseconds: next.map { UInt64(max(1, ($0 - now).milliseconds)) })
    }

    /// Writes to all links.
    func flushLinks() {
        let links = links
        links.forEach { $0.flush() }
    }

    // MARK: Effects

    private func performEffects() {
        guard effects.begin() else { return }
        while let effect = effects.next() { perform(effect) }
        effects.end()
    }

    private func perform(_ effect: NodeMachine.Effect) {
        switch effect {
        case .readRow: claim.register.read()
        case .claim(let epoch, let known): claim.register.claim(after: epoch, above: known)
        case .giveBack(let epoch, let heir): giveBack(epoch, to: heir)
        case .connect(let link, let address): connect(link, to: address)
        case .send(let link, let frame): sendNodeFrame(frame, over: link)
        case .close(let link): close(link)
        case .closeAfterWriting(let link): links.byID.removeValue(forKey: link)?.closeAfterWriting()
        case .refuse(let link, let refusal): links.byID[link]?.refuse(refusal)
        case .beginOwnership:
            guard let claimed = claim.store else { return }
            claim.store = nil
            gateway.beginDeciding(with: claimed.store, claimed.state, claim.senders, claim.ports)
        case .serve: gateway.passesEventsOn = false
        case .endOwnership(let epoch, let heir):
            gateway.endOwnership(releasingTo: heir)
            // The store has reported its last commits to the loop, where this comes after them.
            gateway.post { $0.node?.handle(.released(epoch)) }
        case .dropCalls: dropCalls()
        case .decide(let event, let link): gateway.decide(event.over(link))
        case .admit(let socket, let principal, let device, let link):
            gateway.admit(socket.over(link), principal, device: device)
        case .adopt(let socket, let link): gateway.adopt(socket, over: link)
        case .assignDevice(let socket, let link): assignDevice(to: socket, over: link)
        case .sendRevocations(let link):
            for (user, moment) in gateway.router.revocations.all {
                sendNodeFrame(.command(.revoke(user, upTo: moment + clockLead)), over: link)
            }
        case .revoke(let revocation, let moment):
            gateway.decide(.revoke(revocation.user, before: moment)) { [weak gateway] in
                gateway?.post { $0.node?.handle(.revocationDurable(revocation)) }
            }
        case .carryOut(let command): gateway.carryOutOwnerCommand(command)
        case .refuseRequest(let request): refuse(request)
        case .closeOwnSockets(let sockets): closeOwnSockets(sockets)
        case .beginAnew: gateway.endForNewRun()
        case .revocationDone(let id): revocations.completions.removeValue(forKey: id)?()
        case .note(let note): log(note)
        }
    }

    /// Gives back the store of a claim that was never used.
    ///
    /// The end of the store takes seconds if the database does not respond, so this thread does not wait for it.
    private func giveBack(_ epoch: OwnerEpoch, to heir: NodeID?) {
        guard let claimed = claim.store else { return }
        claim.store = nil
        claim.register.giveBack(claimed.store, to: heir) { [weak gateway] in
            gateway?.post { $0.node?.handle(.released(epoch)) }
        }
    }

    private func dropCalls() {
        farewell.formerConnections = (gateway.switchboard?.connectionsToDrain() ?? []).compactMap { connection in
            guard LinkNumber.link(of: connection.id.rawValue) == 0 else { return nil }
            return (connection.id, connection.isInCall)
        }
        gateway.dropCalls()
    }

    // MARK: Figures

    var figures: MetricsPage.NodeFigures {
        MetricsPage.NodeFigures(
            isOwner: machine.tenure.ownEpoch != nil,
            isReady: gateway.notReadyReason == nil,
            epoch: machine.tenure.newestEpoch.rawValue,
            takeovers: machine.takeovers,
            links: machine.linkCount,
            unconfirmedEvents: isServing ? 0 : Int(clamping: machine.attachment.unconfirmedCount),
            waitingRefused: machine.waitingRefused,
            waitingBytes: isServing ? 0 : machine.attachment.bytesWaiting
        )
    }
}

extension NodeID {
    /// The id as the log shows it; another node has chosen it.
    var logged: UntrustedText { UntrustedText(text) }
}
