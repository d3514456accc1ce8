import CallCore

/// The calls that can still be fetched, indexed by callId, by user and by number.
struct CallTable: ~Copyable {
    private var byNumber: [CallNumber: Call] = [:]
    /// The newest call of each callId and pair of users.
    private var byKey: [CallKey: Call] = [:]
    /// The calls that a user may mean by a callId: more than one if the user has calls with several users under the
    /// same callId.
    private var named: [CallIDKey: [Call]] = [:]
    /// The live calls of each user, oldest first.
    private var live: [UserID: [Call]] = [:]

    /// The call that each offer began, by the offer's `id`, its device and its user.
    private var offers: [OfferKey: CallNumber] = [:]

    private struct OfferKey: Hashable {
        let user: UserID
        let device: DeviceID
        let id: SignalID
    }

    private struct CallIDKey: Hashable {
        let user: UserID
        let id: CallID
    }

    /// The ended calls that are read from the store when a client asks for them.
    var resting = RestingCalls()

    /// The ended calls with a device that has not yet been notified of the end.
    var endNotices = EndNotices()
    private(set) var lastNumber: Int64

    /// An empty table; `lastNumber` is the number of the newest call there ever was.
    init(lastNumber: Int64 = 0) { self.lastNumber = lastNumber }

    /// The number of live calls in each state.
    private(set) var liveCounts = LiveCallCounts()
    /// The number of calls in memory.
    var count: Int { byNumber.count }

    subscript(number: CallNumber) -> Call? { byNumber[number] }
    subscript(key: CallKey) -> Call? { byKey[key] }

    /// Returns the call that a user means by a callId; a call that is hidden from the user is not found.
    ///
    /// `peer`: The other user of the call, if the user names one.
    /// `device`: The user's device that means the call.
    /// `said`: The `id`, the type and the arrival of the signal that names the callId; `nil` for an offer or a request.
    @inline(__always)
    func find(
        _ id: CallID,
        for user: UserID,
        with peer: UserID? = nil,
        on device: DeviceIdentity? = nil,
        said: (name: SignalID?, kind: SignalKind, at: Moment)? = nil
    ) -> Call? {
        if let peer { return find(CallKey(id: id, pair: Pair(user, peer)), for: user) }
        guard let named = named[CallIDKey(user: user, id: id)] else { return live(of: user, withUUID: id) }
        // There is nearly always one call with the callId.
        guard named.count > 1 else {
            return named.first.flatMap { Self.visible($0, to: user) } ?? live(of: user, withUUID: id)
        }
        return Self.meant(among: named, by: user, device, said: said) ?? live(of: user, withUUID: id)
    }

    /// Returns the newest call of two users under a callId, even if it is hidden from `user`, or the one that has this
    /// `callUUID`.
    func newest(_ id: CallID, of user: UserID, with peer: UserID) -> Call? {
        byKey[CallKey(id: id, pair: Pair(user, peer))] ?? live(of: user, with: peer, withUUID: id)
    }

    /// Returns a user's call with a named peer: the newest, or the newest that is not hidden from the user.
    private func find(_ key: CallKey, for user: UserID) -> Call? {
        guard let newest = byKey[key] else { return live(of: user, with: key.pair.other(than: user), withUUID: key.id) }
        return Self.visible(newest, to: user)
            ?? named[CallIDKey(user: user, id: key.id)]?.last { $0.key == key && Self.visible($0, to: user) != nil }
            ?? live(of: user, with: key.pair.other(than: user), withUUID: key.id)
    }

    /// Chooses among several calls.
    ///
    /// It is static and not inlined, so that the look-up of a callId with only one call costs nothing for it.
    @inline(never)
    private static func meant(
        among named: [Call],
        by user: UserID,
        _ device: DeviceIdentity?,
        said: (name: SignalID?, kind: SignalKind, at: Moment)?
    ) -> Call? {
        let known = named.filter { visible($0, to: user) != nil }
        if let device, let said {
            let signal = said.name.map { ($0, said.kind) }
            return CallResolution.meant(by: user, device, signal: signal, among: known, at: said.at)
        }
        return CallResolution.meant(by: user, device, among: known)
    }

    /// Returns a user's live call by its `callUUID`, which a client may give in place of the callId.
    ///
    /// CallKit knows no other id. The function is not inlined, so that looking up a known callId costs no more than
    /// before.
    @inline(never)
    func live(of user: UserID, with peer: UserID? = nil, withUUID id: CallID) -> Call? {
        guard UUIDv5.isUUID(id.text) else { return nil }
        let uuid = id.folded
        return live(of: user).last { call in
            call.uuid == uuid && Self.visible(call, to: user) != nil && peer.map(call.key.pair.contains) ?? true
        }
    }

    /// Returns a user's calls under a callId, the newest with each peer, except those that are hidden from the user.
    func calls(named id: CallID, of user: UserID) -> [Call] {
        everything(named: id, of: user).filter { Self.visible($0, to: user) != nil }
    }

    /// Returns a user's calls under a callId as ``calls(named:of:)`` does, and also those that are hidden from the
    /// user.
    func everything(named id: CallID, of user: UserID) -> [Call] { named[CallIDKey(user: user, id: id)] ?? [] }

    /// Returns the call that a device began by the offer with this `id`.
    ///
    /// A resent offer may lack its callId: the client learns a generated callId only from the ack.
    func begun(by user: UserID, _ device: DeviceIdentity, offer id: SignalID) -> Call? {
        offers[OfferKey(user: user, device: device.id, id: id)].flatMap { byNumber[$0] }
    }

    /// Returns a user's live calls, oldest first, including those hidden from the user.
    func live(of user: UserID) -> [Call] { live[user] ?? [] }

    /// Returns the newest live call of a user with a peer; a call that is hidden from the user is not found.
    func live(of user: UserID, with peer: UserID) -> Call? {
        let own = live(of: user)
        func isSought(_ call: Call) -> Bool { call.key.pair.contains(peer) && call.side(of: user) != nil }
        // The caller of a scheduled call is a display name: a signal for the user of that name means another call.
        return own.last { $0.scheduled == nil && isSought($0) } ?? own.last(where: isSought)
    }

    /// Returns the calls that ring a user now.
    func ringing(_ user: UserID) -> [Call] {
        live(of: user).filter { call in
            guard case .ringing = call.session.phase else { return false }
            return call.callee == user && call.hidden == nil
        }
    }

    /// Visits every live call, in no defined order.
    func forEachLive(_ body: (Call) -> Void) {
        for call in byNumber.values where call.isLive { body(call) }
    }

    /// Returns the key of the offer that began a call.
    private func offerName(of call: Call) -> OfferKey? {
        guard case .signal(.offer, .caller, let device, let id?, _)? = call.session.log.first?.content else {
            return nil
        }
        return OfferKey(user: call.caller, device: device.id, id: id)
    }

    /// Records the offer that began a call, once the call's log contains it.
    mutating func recordFirstOffer(of call: Call) {
        if let name = offerName(of: call) { offers[name] = call.number }
    }

    /// Returns the number of a new call.
    mutating func makeNumber() -> CallNumber {
        lastNumber += 1
        return CallNumber(rawValue: lastNumber)
    }

    mutating func insert(_ call: Call) {
        byNumber[call.number] = call
        byKey[call.key] = call
        for user in call.users {
            list(call, for: user)
            if call.isLive { live[user, default: []].append(call) }
        }
        liveCounts.count(call)
    }

    /// Makes a call findable by its callId for a user; the call replaces the earlier call of the same two users.
    ///
    /// A call that is hidden from the user replaces only another hidden call: the user's late signals, and requests of
    /// a device that knows the visible call, must still find the visible call.
    private mutating func list(_ call: Call, for user: UserID) {
        let name = CallIDKey(user: user, id: call.key.id)
        // There is almost never another call with the callId.
        guard var known = named[name] else {
            named[name] = [call]
            return
        }
        let isShown = Self.visible(call, to: user) != nil
        let place = known.firstIndex { $0.key == call.key && (isShown || Self.visible($0, to: user) == nil) }
        if let place { known[place] = call } else { known.append(call) }
        if isShown { known.removeAll { $0.key == call.key && $0 !== call } }
        named[name] = known
    }

    /// Makes an earlier call findable again for a user, unless that user can find a newer call of the same two users
    /// under the same callId.
    private mutating func listAgain(_ call: Call, for user: UserID) {
        guard Self.visible(call, to: user) != nil else { return }
        let name = CallIDKey(user: user, id: call.key.id)
        var known = named[name] ?? []
        let isKnown = { (other: Call) in other.key == call.key && Self.visible(other, to: user) != nil }
        guard !known.contains(where: { isKnown($0) && $0.number > call.number }) else { return }
        known.removeAll(where: isKnown)
        named[name] = known + [call]
    }

    /// Whether at least one of its two users can find a call by its callId.
    private func isListed(_ call: Call) -> Bool {
        [call.caller, call.callee].contains { user in
            named[CallIDKey(user: user, id: call.key.id)]?.contains { $0 === call } ?? false
        }
    }

    /// Records that a call has ended; returns `false` if it was recorded before.
    @discardableResult
    mutating func ended(_ call: Call) -> Bool {
        guard removeLive(call, of: call.owner) else { return false }
        if call.callee != call.owner { _ = removeLive(call, of: call.callee) }
        liveCounts.remove(call)
        return true
    }

    /// Counts a live call in the state to which it has changed.
    mutating func stateChanged(of call: Call) { liveCounts.count(call) }

    /// Removes a call from a user's live calls; returns whether it was one of them.
    private mutating func removeLive(_ call: Call, of user: UserID) -> Bool {
        // One look-up serves the search and the removal.
        guard let place = live.index(forKey: user), let index = live.values[place].firstIndex(where: { $0 === call })
        else { return false }
        if live.values[place].count == 1 { live.remove(at: place) } else { live.values[place].remove(at: index) }
        return true
    }

    /// Removes a call that can no longer be fetched.
    mutating func remove(_ call: Call) {
        ended(call)
        byNumber[call.number] = nil
        if let name = offerName(of: call), offers[name] == call.number { offers[name] = nil }
        // A newer epoch may have taken the callId.
        if byKey[call.key] === call { byKey[call.key] = nil }
        for user in call.users {
            let name = CallIDKey(user: user, id: call.key.id)
            named[name]?.removeAll { $0 === call }
            if named[name]?.isEmpty == true { named[name] = nil }
        }
    }

    /// Whether a call can still be fetched.
    private func isKept(_ number: CallNumber) -> Bool { byNumber[number] != nil || resting[number] != nil }

    /// Forgets the notices of calls that can no longer be fetched.
    mutating func forgetEndNotices() {
        guard !endNotices.isEmpty else { return }
        var notices = EndNotices()
        swap(&notices, &endNotices)
        notices.keep { isKept($0) }
        endNotices = notices
    }

    /// Puts a call to rest: keeps only what is needed to find it again.
    mutating func rest(_ call: Call, expiresAt: Moment) {
        let name = offerName(of: call)
        let ended = RestingCall(
            call,
            expiresAt: expiresAt,
            isNewest: byKey[call.key] === call,
            isNamed: isListed(call),
            offer: name.flatMap { offers[$0] == call.number ? $0.hashValue : nil }
        )
        remove(call)
        resting.insert(call.number, ended)
    }

    /// Adds a call that was loaded from rest.
    ///
    /// `isNewest`: Whether it was the newest call of its callId and its two users when it was put to rest.
    /// `isNamed`: Whether it could be found by its callId when it was put to rest.
    mutating func load(_ call: Call, isNewest: Bool, isNamed: Bool) {
        byNumber[call.number] = call
        if let name = offerName(of: call), offers[name].map({ $0 < call.number }) ?? true { offers[name] = call.number }
        if isNewest, byKey[call.key] == nil {
            insert(call)
        } else if isNamed {
            for user in call.users { listAgain(call, for: user) }
        }
    }

    /// Returns the calls at rest that a device may have begun by the offer with this `id`.
    func callsAtRest(begunBy user: UserID, _ device: DeviceIdentity, offer id: SignalID) -> [CallNumber] {
        guard !resting.isEmpty else { return [] }
        let known = resting.named(OfferKey(user: user, device: device.id, id: id).hashValue)
        return known + resting.named(RestingCalls.anyOffer(of: user)).filter { !known.contains($0) }
    }

    private static func visible(_ call: Call, to user: UserID) -> Call? {
        call.side(of: user) == nil ? nil : call
    }
}
