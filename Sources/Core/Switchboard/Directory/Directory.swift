import CallCore
import CallPorts

/// The devices, schedules, blocks, do-not-disturb settings and revocations of users, the epochs of callIds, and what the
/// call directory needs in memory.
struct Directory {
    private var devices: [UserID: [DeviceRecord]] = [:]
    /// The owner of each push token: one device of one user or, for a token that several users of one installation
    /// share, one of them.
    private var owners: [TokenKey: Owner] = [:]
    /// The further owners of shared push tokens.
    private var furtherOwners: [TokenKey: [Owner]] = [:]
    var schedules: Schedules
    private var blocked: [UserID: [UserID: Moment]] = [:]
    private var doNotDisturbUntil: [UserID: Moment]
    /// For each user, the moment up to which issued tokens are refused.
    ///
    /// An entry is never removed, because a token may be valid for any length of time.
    private var revocations: [UserID: Moment]
    /// The revocations whose moment is later than the server's current time, because the clock was set back.
    ///
    /// For these users, `revocations` has the time at which the server noticed this; the database keeps the original
    /// moment.
    var originalRevocations: [UserID: Moment] = [:]
    private var epochs: Epochs
    /// The epoch that was just read for an offer that is being handled.
    private var epochRead: (key: CallKey, epoch: UInt32)?
    /// Whether there were calls before this start, whose epochs only the store knows.
    let hasPast: Bool
    var numbers: NumberLists
    /// The pairs of users that have been in touch and so may see each other's presence.
    var contacts = Contacts()

    private struct Owner: Hashable {
        let user: UserID
        let device: DeviceID
    }

    /// A push token that is hashed by its bytes.
    ///
    /// `String` would first check whether the text must be normalized, which takes longer than the hash: too long at a
    /// start with a million devices.
    private struct TokenKey: Hashable {
        let text: String

        init(_ text: String) { self.text = text }

        static func == (a: Self, b: Self) -> Bool {
            let (a, b) = (a.text.utf8.span, b.text.utf8.span)
            guard a.count == b.count else { return false }
            for index in a.indices where a[index] != b[index] { return false }
            return true
        }

        func hash(into hasher: inout Hasher) {
            let bytes = text.utf8.span
            var word: UInt64 = 0
            for index in bytes.indices {
                word = word &<< 8 | UInt64(bytes[index])
                if index & 7 == 7 { hasher.combine(word) }
            }
            hasher.combine(word)
            hasher.combine(bytes.count)
        }
    }

    init(_ stored: StoredState, historyFor: Moment.Duration, at now: Moment) {
        schedules = Schedules(stored.schedules)
        doNotDisturbUntil = stored.doNotDisturb
        revocations = stored.revocations
        numbers = NumberLists(stored.numbers)
        epochs = Epochs(keptFor: historyFor, at: now)
        hasPast = stored.lastCallNumber > 0
        put(stored.devices)
        for block in stored.blocks { blocked[block.by, default: [:]][block.blocked] = block.at }
    }

    // MARK: Devices

    /// Returns a user's devices, in the order of their registration.
    func devices(of user: UserID) -> [DeviceRecord] { devices[user] ?? [] }

    func device(_ id: DeviceID, of user: UserID) -> DeviceRecord? { devices[user]?.first { $0.id == id } }

    /// Returns the devices that own a push token: none, one, or those of several users of one installation.
    func owners(ofToken token: String) -> [(user: UserID, device: DeviceID)] {
        let token = TokenKey(token)
        guard let first = owners[token] else { return [] }
        return ([first] + (furtherOwners[token] ?? [])).map { ($0.user, $0.device) }
    }

    /// Adds a device, or replaces the one with its id.
    mutating func put(_ device: DeviceRecord) {
        if let old = self.device(device.id, of: device.user) { forgetTokens(old) }
        if let index = devices[device.user]?.firstIndex(where: { $0.id == device.id }) {
            devices[device.user]?[index] = device
        } else {
            devices[device.user, default: []].append(device)
        }
        own(device)
    }

    /// Adds the devices that a start has read.
    ///
    /// A registration without a device id may add its token to the user's newest device without an id, and the first
    /// owner of a shared token is the device that registered it first. So the devices are added in the order of their
    /// registration.
    private mutating func put(_ stored: [DeviceRecord]) {
        devices.reserveCapacity(stored.count)
        owners.reserveCapacity(stored.count)
        let times = stored.map(\.createdAt)
        // The places are sorted, because a device's record is large.
        for place in stored.indices.sorted(by: { times[$0] < times[$1] }) {
            devices[stored[place].user, default: []].append(stored[place])
            own(stored[place])
        }
    }

    /// Records a device as an owner of its tokens.
    private mutating func own(_ device: DeviceRecord) {
        let owner = Owner(user: device.user, device: device.id)
        for token in device.routes.entries.map({ TokenKey($0.value.token) }) {
            guard let first = owners.updateValue(owner, forKey: token) else { continue }
            owners[token] = first
            furtherOwners[token, default: []].append(owner)
        }
    }

    @discardableResult
    mutating func remove(_ id: DeviceID, of user: UserID) -> Bool {
        guard let old = device(id, of: user) else { return false }
        forgetTokens(old)
        devices[user]?.removeAll { $0.id == id }
        if devices[user]?.isEmpty == true { devices[user] = nil }
        return true
    }

    private mutating func forgetTokens(_ device: DeviceRecord) {
        let owner = Owner(user: device.user, device: device.id)
        for token in device.routes.entries.map({ TokenKey($0.value.token) }) {
            var further = furtherOwners.removeValue(forKey: token) ?? []
            if owners[token] == owner {
                owners[token] = further.isEmpty ? nil : further.removeFirst()
            } else {
                further.removeAll { $0 == owner }
            }
            if !further.isEmpty { furtherOwners[token] = further }
        }
    }

    // MARK: Blocks and do-not-disturb

    /// Returns the users that a user blocks, and since when, in the order of ids.
    func blocks(of user: UserID) -> [BlockRecord] {
        (blocked[user] ?? [:]).map { BlockRecord(by: user, blocked: $0.key, at: $0.value) }.sorted {
            $0.blocked < $1.blocked
        }
    }

    mutating func block(_ user: UserID, by blocker: UserID, at now: Moment) {
        blocked[blocker, default: [:]][user] = now
    }

    mutating func unblock(_ user: UserID, by blocker: UserID) -> Bool {
        guard blocked[blocker]?.removeValue(forKey: user) != nil else { return false }
        if blocked[blocker]?.isEmpty == true { blocked[blocker] = nil }
        return true
    }

    /// Whether `blocker` has blocked a user.
    func isBlocked(_ user: UserID, by blocker: UserID) -> Bool { blocked[blocker]?[user] != nil }

    mutating func doNotDisturb(_ user: UserID, until: Moment?) { doNotDisturbUntil[user] = until }

    /// Returns why a call from `caller` is hidden from `callee`; `nil` = the call is shown.
    func reasonToHide(_ caller: UserID, from callee: UserID, at date: Moment) -> CallRecord.Hidden? {
        if blocked[callee]?[caller] != nil { return .block }
        return hasDoNotDisturb(callee, at: date) ? .doNotDisturb : nil
    }

    /// Whether a user has set do-not-disturb, and the end of do-not-disturb has not come yet.
    func hasDoNotDisturb(_ user: UserID, at date: Moment) -> Bool {
        doNotDisturbUntil[user].map { date < $0 } ?? false
    }

    // MARK: Revocations

    /// Returns the moment up to which tokens issued to a user are refused; `nil` = the user's tokens were never
    /// revoked.
    func revocation(of user: UserID) -> Moment? { revocations[user] }

    /// Returns the users whose tokens are refused up to a moment that is later than `moment`.
    func usersRevoked(after moment: Moment) -> [UserID] {
        revocations.filter { moment < $0.value }.keys.sorted()
    }

    mutating func revoke(_ user: UserID, before moment: Moment) { revocations[user] = moment }

    // MARK: Epochs

    /// Returns the epoch of the next call under a callId, and records it.
    ///
    /// Only callIds that are not UUIDs are remembered longer than their calls: no client uses a UUID again so much
    /// later.
    mutating func nextEpoch(of key: CallKey, after current: UInt32?, at now: Moment) -> UInt32 {
        guard !UUIDv5.isUUID(key.id.text) else { return (current ?? 0) + 1 }
        let stored = epochRead.flatMap { $0.key == key ? $0.epoch : nil }
        let epoch = max(current ?? 0, epochs[key] ?? stored ?? 0) + 1
        epochs.use(epoch, of: key, at: now)
        return epoch
    }

    /// Whether the epoch of the next call under a callId is known without asking the store.
    func knowsEpoch(of key: CallKey) -> Bool {
        !mayHaveStoredEpoch(of: key.id) || epochs[key] != nil || epochRead?.key == key
    }

    /// Whether the store may have an epoch of a callId that is not remembered here.
    func mayHaveStoredEpoch(of id: CallID) -> Bool { hasPast && !UUIDv5.isUUID(id.text) }

    /// Records the newest epoch of a callId that was read from the store; `nil` = it is no longer needed.
    mutating func setEpochRead(_ epoch: UInt32?, of key: CallKey) { epochRead = epoch.map { (key, $0) } }

    /// Records the end of a call: its callId, unless it is a UUID, is remembered as long as the history has the call.
    mutating func ended(_ key: CallKey, epoch: UInt32, at now: Moment) {
        if !UUIDv5.isUUID(key.id.text) { epochs.use(max(epoch, epochs[key] ?? 0), of: key, at: now) }
    }

    /// Forgets the epochs of callIds that the history no longer contains.
    mutating func forgetEpochs(at now: Moment) { epochs.forgetOld(at: now) }

    /// The number of epochs that are remembered.
    var epochCount: Int { epochs.count }
}
