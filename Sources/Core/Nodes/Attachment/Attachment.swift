package import CallCore
package import CallPorts

/// The tie of a node's sockets to the owner of the calls, who may change.
///
/// Each event that the node passes to the owner has a number. The owner confirms a number when all events up to it have
/// been handled and what they changed is durable. When the owner is lost, each socket is
///
/// - closed with 1001 if the owner had not confirmed its opening or one of its messages: nobody knows whether the message
///   had its effect, and the client sends it again, under the same `id`, on its next connection;
/// - closed with 1001 if only the owner had some of its state: a room, a watch, a Socket.IO session;
/// - otherwise kept, and *adopted* by the next owner: it gets no welcome, and live calls are replayed from behind what
///   was written to it.
///
/// Events that arrive without an owner wait for the next one. Requests that the lost owner had are answered with 503.
/// If no owner comes for ``NodeLimits/closingAfter``, all sockets are closed. A node that reads the calls it has
/// claimed puts that off, until ``NodeLimits/closingDespiteClaim`` at most.
///
/// When this node itself becomes the owner, its sockets are brought to it in the same way; then the attachment has
/// ended. The sockets of an owner that is deposed are closed.
package struct Attachment: Sendable {
    /// The ownership to which the sockets are attached; `nil` = there is none.
    package private(set) var epoch: OwnerEpoch?

    /// The newest ownership to which the sockets have been attached.
    private var newestEpoch = OwnerEpoch.none
    /// By the sockets' numbers: the compiler specializes no dictionary whose keys have a type of another module.
    private var sockets: [UInt64: AttachedSocket] = [:]
    /// The requests to which no owner has responded.
    private var requests: Set<RequestID> = []
    /// The number of the last event that was passed to an owner.
    ///
    /// It goes on counting with a new owner, so a confirmation that comes late from a lost link confirms nothing else.
    private var lastNumber: UInt64 = 0
    private var confirmed: UInt64 = 0
    /// The events that wait for an owner, in order.
    private var waiting = WaitingEvents()
    private var isRejectingInput = false
    private var isReady = false
    /// Since when there has been no owner; `nil` = there is one.
    private var ownerlessSince: Moment?
    /// When all sockets are closed for want of an owner; `nil` = there is an owner, or nothing to close.
    private var closingAt: Moment?

    /// Creates the attachment of a node that starts, without an owner.
    package init(at now: Moment) { ownerlessSince = now }

    /// The number of this node's sockets, including closed ones whose messages still wait.
    package var socketCount: Int { sockets.count }

    /// The open sockets that are told when to reconnect; a Socket.IO socket is not among them.
    ///
    /// - mayBeInCall: Whether the socket was written entries of a call. The call may have ended since: only the owner
    ///   knows the calls.
    /// - isWelcome: Whether the socket was sent `welcome`, which is the first message on each socket.
    package var socketsToDrain: [(id: SocketID, mayBeInCall: Bool, isWelcome: Bool)] {
        sockets.sorted { $0.key < $1.key }.compactMap { number, state in
            guard !state.isClosed, state.principal != nil else { return nil }
            return (SocketID(rawValue: number), !state.seen.isEmpty, state.isWelcome)
        }
    }

    /// The number of events that were passed to the owner and not confirmed.
    package var unconfirmedCount: UInt64 { lastNumber - confirmed }

    /// The bytes of the events that wait for an owner.
    package var bytesWaiting: Int { waiting.bytes }

    /// The number of sockets that were closed, and of requests that were refused, because their sender's share of what
    /// may wait for an owner was used up.
    package private(set) var refusedForShare: UInt64 = 0

    /// The next moment at which the node passes in ``Input/deadlineReached``; `nil` = none.
    package var deadline: Moment? {
        guard let since = ownerlessSince, isReady else { return closingAt }
        return min(since + NodeLimits.unreadyAfter, closingAt ?? since + NodeLimits.unreadyAfter)
    }

    /// Handles an input at a moment, and appends the effects.
    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch input {
        case .event(let event):
            guard note(event, at: now) else { return }
            if epoch != nil { pass(event, &effects) } else { wait(event, at: now, &effects) }
        case .attached(let epoch): attach(to: epoch, at: now, &effects)
        case .detached: detach(at: now, &effects)
        case .ownerComing: awaitOwner(at: now)
        case .confirmed(let epoch, let number):
            guard epoch == self.epoch else { return }
            guard number <= lastNumber else {
                effects.append(.endLink(.confirmedUnsent))
                return
            }
            confirmed = max(confirmed, number)
        case .command(let epoch, let command): carryOut(command, of: epoch, &effects)
        case .deadlineReached: reachDeadline(at: now, &effects)
        }
    }

    // MARK: Events

    /// Records an event of a socket; returns `false` if no owner needs it.
    private mutating func note(_ event: SocketEvent, at now: Moment) -> Bool {
        switch event {
        case .opened(let socket, let principal, let device):
            sockets[socket.rawValue] = AttachedSocket(principal: principal, device: device, openedAt: now)
        case .openedSocketIO(let socket, _):
            sockets[socket.rawValue] = AttachedSocket(principal: nil, device: nil, openedAt: now)
        case .received(let socket, _), .tooSlow(let socket):
            guard let place = sockets.index(forKey: socket.rawValue) else { return false }
            return !sockets.values[place].isClosed
        case .ponged(let socket, _), .signOfLife(let socket):
            // The next owner sends pings of its own.
            return epoch != nil && sockets.index(forKey: socket.rawValue) != nil
        case .closed(let socket, _):
            guard let state = sockets[socket.rawValue], !state.isClosed else { return false }
            if epoch != nil || (state.isKnownToOwner && state.waiting == 0) {
                sockets[socket.rawValue] = nil
                return epoch != nil
            }
            sockets[socket.rawValue]?.isClosed = true
        case .requested(let request, _, _): requests.insert(request)
        case .abandoned(let request):
            guard requests.contains(request) else { return false }
            // A request that waits is passed on with its end behind it.
            if epoch != nil { requests.remove(request) }
        }
        return true
    }

    private mutating func pass(_ event: SocketEvent, _ effects: inout [Effect]) {
        lastNumber += 1
        if event.needsConfirmation, let socket = event.socket, let place = sockets.index(forKey: socket.rawValue) {
            // In place, because a socket's state is large.
            sockets.values[place].newestNumber = lastNumber
            sockets.values[place].isKnownToOwner = true
        }
        effects.append(.pass(lastNumber, event))
    }

    private mutating func wait(_ event: SocketEvent, at now: Moment, _ effects: inout [Effect]) {
        closingAt = closingAt ?? now + NodeLimits.closingAfter
        let state = event.socket.flatMap { sockets[$0.rawValue] }
        guard waiting.admits(event, of: state) else { return refuse(event, &effects) }
        if let socket = event.socket {
            sockets[socket.rawValue]?.waiting += 1
            sockets[socket.rawValue]?.waitingBytes += event.size
        }
        waiting.append(event, of: state?.principal?.user)
        if waiting.bytes > NodeLimits.waitingEvents { rejectInput(true, &effects) }
    }

    /// Closes the socket of an event for which its sender's share has no room, or refuses the request.
    private mutating func refuse(_ event: SocketEvent, _ effects: inout [Effect]) {
        refusedForShare += 1
        if let socket = event.socket {
            if let state = sockets[socket.rawValue], state.waiting > 0 {
                waiting.remove(socket, of: state.principal?.user)
            }
            close(socket, &effects)
        } else if case .requested(let request, _, _) = event {
            requests.remove(request)
            effects.append(.refuse(request))
        }
    }

    private mutating func rejectInput(_ isRejecting: Bool, _ effects: inout [Effect]) {
        guard isRejectingInput != isRejecting else { return }
        isRejectingInput = isRejecting
        effects.append(.rejectInput(isRejecting))
    }

    // MARK: A change of the owner

    private mutating func attach(to epoch: OwnerEpoch, at now: Moment, _ effects: inout [Effect]) {
        guard epoch >= newestEpoch else {
            effects.append(.endLink(.olderEpoch))
            return
        }
        if self.epoch != nil { detach(at: now, &effects) }
        self.epoch = epoch
        newestEpoch = epoch
        ownerlessSince = nil
        closingAt = nil
        confirmed = lastNumber
        for (number, state) in sockets.sorted(by: { $0.key < $1.key }) where state.isKnownToOwner {
            guard let adopted = state.adopted(SocketID(rawValue: number), at: now) else { continue }
            effects.append(.adopt(adopted))
        }
        effects.append(.adoptionComplete)
        passWaiting(&effects)
        rejectInput(false, &effects)
        if !isReady {
            isReady = true
            effects.append(.ready(true))
        }
    }

    /// Passes the events that waited to the new owner.
    private mutating func passWaiting(_ effects: inout [Effect]) {
        for event in waiting.takeAll() {
            switch event {
            case .requested: break
            case .abandoned(let request): requests.remove(request)
            case .opened, .openedSocketIO, .received, .ponged, .signOfLife, .tooSlow, .closed:
                // The socket was closed by this node, and its client sends again what it had sent.
                guard let socket = event.socket, sockets[socket.rawValue] != nil else { continue }
            }
            pass(event, &effects)
            if case .closed(let socket, _) = event { sockets[socket.rawValue] = nil }
        }
        for number in sockets.keys {
            sockets[number]?.waiting = 0
            sockets[number]?.waitingBytes = 0
        }
    }

    private mutating func detach(at now: Moment, _ effects: inout [Effect]) {
        guard epoch != nil else { return }
        epoch = nil
        ownerlessSince = now
        closingAt = now + NodeLimits.closingAfter
        for (number, state) in sockets.sorted(by: { $0.key < $1.key }) {
            guard state.isBound || state.newestNumber > confirmed else {
                sockets[number]?.newestNumber = 0
                continue
            }
            close(SocketID(rawValue: number), &effects)
        }
        refuseRequests(&effects)
    }

    private mutating func close(_ socket: SocketID, _ effects: inout [Effect]) {
        let isClosed = sockets.removeValue(forKey: socket.rawValue)?.isClosed ?? true
        guard !isClosed else { return }
        effects.append(.carryOut(Self.closing(socket)))
    }

    private mutating func refuseRequests(_ effects: inout [Effect]) {
        for request in requests.sorted(by: { $0.rawValue < $1.rawValue }) {
            effects.append(.refuse(request))
        }
        requests = []
    }

    /// The command that closes a socket because its owner is gone.
    static func closing(_ socket: SocketID, discardingQueue: Bool = false) -> SocketCommand {
        .close(socket, code: 1001, reason: "the server is moving; reconnect", discardingQueue: discardingQueue)
    }

    // MARK: Commands

    private mutating func carryOut(_ command: SocketCommand, of epoch: OwnerEpoch, _ effects: inout [Effect]) {
        // Only the owner to which the sockets are attached is obeyed, also while an earlier one still sends.
        guard epoch == self.epoch else { return }
        switch command {
        case .send(_, let socket, let marks):
            guard let place = sockets.index(forKey: socket.rawValue) else { return }
            // In place, because a socket's state is large.
            sockets.values[place].isWelcome = true
            if !marks.isEmpty { sockets.values[place].note(marks) }
        // The end of a socket that is closed is reported as an event, as for every other socket.
        case .ping(let socket, _), .close(let socket, _, _, _):
            guard sockets.index(forKey: socket.rawValue) != nil else { return }
        case .bind(let socket, let isBound):
            // The session of a Socket.IO socket is always the owner's alone.
            guard let state = sockets[socket.rawValue], state.principal != nil else { return }
            sockets[socket.rawValue]?.isBound = isBound
            return
        case .assign(let socket, let device):
            sockets[socket.rawValue]?.assignedDevice = device
            return
        case .respond(let request, _): guard requests.remove(request) != nil else { return }
        case .markAuthenticated(let request): guard requests.contains(request) else { return }
        case .revoke: break
        }
        effects.append(.carryOut(command))
    }

    // MARK: Without an owner

    /// Puts off the closing of the sockets, because an owner is about to come; not for ever.
    private mutating func awaitOwner(at now: Moment) {
        guard let since = ownerlessSince, let due = closingAt else { return }
        let end = min(now + NodeLimits.closingAfter, since + NodeLimits.closingDespiteClaim)
        closingAt = max(due, end)
    }

    private mutating func reachDeadline(at now: Moment, _ effects: inout [Effect]) {
        guard let since = ownerlessSince else { return }
        if isReady, now - since >= NodeLimits.unreadyAfter {
            isReady = false
            effects.append(.ready(false))
        }
        guard let due = closingAt, due <= now else { return }
        closingAt = nil
        for number in sockets.keys.sorted() { close(SocketID(rawValue: number), &effects) }
        refuseRequests(&effects)
        waiting = WaitingEvents()
        rejectInput(false, &effects)
    }
}
