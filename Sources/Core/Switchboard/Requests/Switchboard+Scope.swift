import CallCore
import CallPorts
package import CallWire

/// The rights of a push's capability: to fetch the pushed call, to report that the device rings for it, to answer it with
/// its candidates, and to end it.
extension Switchboard {
    /// Returns a request restricted to a scope: the request then concerns the pushed call, never another call with that
    /// callId.
    func restricted(_ request: Request, to scope: CallScope?, of user: UserID) throws(WireError) -> Request {
        guard let scope else { return request }
        switch request {
        case .fetch(let id, var fetch):
            try checkScope(id, with: fetch.peer, against: scope, of: user)
            fetch.peer = scope.peer
            return .fetch(scope.call, fetch)
        case .end(let id, let peer, let device):
            try checkScope(id, with: peer, against: scope, of: user)
            return .end(scope.call, peer: peer, device: device)
        case .signal(var message) where Self.allowsScoped(message.signal):
            guard let id = message.callID else { throw Self.unknownCall }
            try checkScope(id, with: message.to, against: scope, of: user)
            if let room = message.room {
                // A malformed room and a room of other users are refused alike.
                guard case .pair(scope.peer)? = try? Room(room, for: user) else { throw Self.unknownCall }
            }
            guard message.epoch == nil || message.epoch == scope.epoch else { throw Self.callIDReused }
            message.callID = scope.call
            message.to = scope.peer
            message.epoch = scope.epoch
            return .signal(message)
        case .signal, .calls, .devices, .blocks, .numbers, .schedules, .credentials, .feed:
            throw WireError(
                .forbidden,
                "a push capability allows only GET, ringing, answer, ice, connected, confirm and end of its own call"
            )
        }
    }

    /// Whether a woken device may send a signal without a token: what it needs to take the call, to confirm it, or to
    /// leave it.
    private static func allowsScoped(_ signal: Signal) -> Bool {
        switch signal.content {
        case .ringing, .silenced, .answer, .ice, .connected, .confirm, .end: true
        case .offer, .update, .dtmf, .info: false
        }
    }

    private static let callIDReused = WireError(.callEnded, "the call has ended; its callId now names another call")

    private func checkScope(
        _ id: CallID,
        with peer: UserID?,
        against scope: CallScope,
        of user: UserID
    ) throws(WireError) {
        guard peer == nil || peer == scope.peer,
            let call = calls[CallKey(id: scope.call, pair: Pair(user, scope.peer))],
            id == scope.call || id.folded == call.uuid
        else { throw Self.unknownCall }
        // If the pushed call is of a later epoch than the server's, a crash lost it; a resend of its offer may restore
        // it.
        guard scope.epoch <= call.epoch else { throw Self.unknownCall }
        guard call.epoch == scope.epoch else { throw Self.callIDReused }
    }

    /// Returns the `end` signal that a `DELETE` request stands for.
    func end(of callID: CallID, with peer: UserID?, by principal: Principal) -> SignalMessage {
        var message = SignalMessage(endOf: callID)
        message.to = principal.scope?.peer ?? peer
        message.epoch = principal.scope?.epoch
        return message
    }

    /// The refusal of a service's request that means the user of its token: a service is no user.
    ///
    /// Otherwise a service would read and change the data of a user who happens to have the service's name.
    package static let refusedToServices = WireError(
        .forbidden,
        "a service token may send signals for the user in from (POST /api/calls/signal), read any call and timeline, "
            + "change schedules under /api/users/{userId} and the call directory, and log out the user in userId"
    )

    /// Returns the refusal of a service's request about a call of its token's user; `nil` if that user has such a call.
    func refusal(ofService principal: Principal, _ request: Request) -> WireError? {
        guard principal.isService else { return nil }
        let id: CallID
        let peer: UserID?
        switch request {
        case .fetch(let callID, let fetch): (id, peer) = (callID, fetch.peer)
        case .end(let callID, let other, _): (id, peer) = (callID, other)
        case .signal(let message):
            guard message.from == nil, message.signal.kind != .offer, let callID = message.callID else { return nil }
            (id, peer) = (callID, message.to)
        default: return nil
        }
        guard calls.find(id, for: principal.user, with: peer) == nil,
            awaited(id, for: principal.user, with: peer, besides: nil).isEmpty
        else { return nil }
        return Self.refusedToServices
    }

    /// Whether a user may see a stored call.
    ///
    /// A callee sees a call that is hidden from them, by a block or a taken callId, only in their history, as missed.
    static func concerns(_ record: CallRecord, _ principal: Principal) -> Bool {
        principal.isService || record.concerns(principal.user)
    }
}
