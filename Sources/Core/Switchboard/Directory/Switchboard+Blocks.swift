package import CallCore
import CallPorts
import CallWire

extension Switchboard {
    /// A request about who may ring the user, and when (protocol, section 5).
    package enum BlockRequest: Sendable {
        /// Return the users and the phone numbers that the user blocks.
        case list
        /// Block a user.
        case block(UserID)
        /// Remove the block of a user.
        case unblock(UserID)
        /// Block a phone number.
        case blockNumber(PhoneNumber)
        /// Remove the block of a phone number.
        case unblockNumber(PhoneNumber)
        /// Set do-not-disturb until a moment, or end it (`nil`).
        case doNotDisturb(until: Moment?)

        /// The request's name in the log.
        var name: LogWord {
            switch self {
            case .list: "blocks"
            case .block: "block"
            case .unblock: "unblock"
            case .blockNumber: "block_number"
            case .unblockNumber: "unblock_number"
            case .doNotDisturb: "do_not_disturb"
            }
        }
    }
}

/// Blocks of users and phone numbers, and do-not-disturb, as users read and change them.
extension Switchboard {
    mutating func blocks(_ asked: BlockRequest, by principal: Principal, as id: RequestID) {
        switch asked {
        case .list:
            let users = directory.blocks(of: principal.user).map(\.blocked)
            let numbers = directory.numbers.blocked(by: principal.user).sorted()
            let body = BlockBody.list(users, numbers, asIntegers: principal.userIsInteger)
            turn.out.append(.reply(id, Reply(body: body)))
        case .block(let user): block(user, by: principal, as: id)
        case .unblock(let user): unblock(user, by: principal, as: id)
        case .blockNumber(let number): block(number, by: principal, as: id)
        case .unblockNumber(let number): unblock(number, by: principal, as: id)
        case .doNotDisturb(let until): doNotDisturb(until, by: principal, as: id)
        }
    }

    // MARK: Users

    private mutating func block(_ user: UserID, by principal: Principal, as id: RequestID) {
        guard user != principal.user else {
            refuse(id, .invalid(.userId, "must be another user"))
            return
        }
        let own = directory.blocks(of: principal.user)
        if !own.contains(where: { $0.blocked == user }) {
            guard own.count < policy.blocksPerUser else {
                refuse(id, exceeded(.blocks, "at most \(policy.blocksPerUser) users can be blocked"))
                return
            }
            directory.block(user, by: principal.user, at: turn.now)
            commits.append(.blocked(user, by: principal.user, at: turn.now))
            turn.out.append(.audit(.blocked(user, by: principal.user)))
            sendPresenceAfterBlock(by: principal.user, of: user, isHidden: true)
        }
        sendWhenDurable(.reply(id, Reply(body: BlockBody.one(user, asInteger: principal.userIsInteger))))
    }

    private mutating func unblock(_ user: UserID, by principal: Principal, as id: RequestID) {
        if directory.unblock(user, by: principal.user) {
            commits.append(.unblocked(user, by: principal.user))
            turn.out.append(.audit(.unblocked(user, by: principal.user)))
            sendPresenceAfterBlock(by: principal.user, of: user, isHidden: false)
        }
        sendWhenDurable(.reply(id, Reply(body: AcceptedBody.ok)))
    }

    private mutating func doNotDisturb(_ until: Moment?, by principal: Principal, as id: RequestID) {
        directory.doNotDisturb(principal.user, until: until)
        commits.append(.doNotDisturb(principal.user, until: until))
        if directory.hasDoNotDisturb(principal.user, at: turn.date) {
            for call in calls.ringing(principal.user) where isSilencedByDoNotDisturb(call) {
                cancelPushesForDoNotDisturb(call)
            }
        }
        sendWhenDurable(.reply(id, Reply(body: AcceptedBody.doNotDisturb(until: until))))
    }

    // MARK: Phone numbers

    private mutating func block(_ number: PhoneNumber, by principal: Principal, as id: RequestID) {
        let own = directory.numbers.blocked(by: principal.user)
        if !own.contains(number) {
            guard own.count < policy.blockedNumbersPerUser else {
                refuse(id, exceeded(.blocks, "at most \(policy.blockedNumbersPerUser) numbers can be blocked"))
                return
            }
            guard limits.numberBlocks.admit(principal.user, at: turn.now) else {
                refuse(id, exceeded(.blocks, "too many numbers were blocked and unblocked"))
                return
            }
            if let change = directory.numbers.block(number, by: principal.user) { commits.append(.numbers(change)) }
            turn.out.append(.audit(.numberBlocked(by: principal.user)))
        }
        sendWhenDurable(.reply(id, Reply(body: BlockBody.one(number))))
    }

    private mutating func unblock(_ number: PhoneNumber, by principal: Principal, as id: RequestID) {
        if let change = directory.numbers.unblock(number, by: principal.user, at: turn.now) {
            commits.append(.numbers(change))
            turn.out.append(.audit(.numberUnblocked(by: principal.user)))
        }
        sendWhenDurable(.reply(id, Reply(body: AcceptedBody.ok)))
    }

    /// Whether a callee blocks the number by which an offer shows its caller.
    func isNumberBlocked(in offer: SignalMessage, of caller: UserID, by callee: UserID) -> Bool {
        guard directory.numbers.hasBlocked(callee) else { return false }
        return isAnyBlocked(offer.relayed.phoneNumbers(of: caller), by: callee)
    }

    /// Whether a user blocks one of these numbers.
    func isAnyBlocked(_ numbers: [PhoneNumber], by user: UserID) -> Bool {
        let blocked = directory.numbers.blocked(by: user)
        return numbers.contains { blocked.contains($0) }
    }
}
