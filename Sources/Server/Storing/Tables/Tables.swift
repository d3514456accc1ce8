package import CallCore
package import CallPorts

/// The tables whose rows are written one by one and seldom.
///
/// Calls, entries and events are written all the time and many at once, and so by hand in each store.
package enum Tables {
    /// The blocks: a user's row for each user that they block.
    package static let blocks = RecordTable<BlockRecord>(
        "block",
        key: 2,
        [
            .word("by", { $0.by.text }),
            .word("blocked", { $0.blocked.text }),
            .integer("at", { $0.at.milliseconds }, { $0.at = $1.moment($2) }),
        ]
    ) { row in
        guard let by = row.value(0, UserID.init), let blocked = row.value(1, UserID.init) else { return nil }
        return BlockRecord(by: by, blocked: blocked, at: Moment(milliseconds: 0))
    }

    /// The ends of users' do-not-disturb.
    package static let doNotDisturb = RecordTable<UserMoment>(
        "do_not_disturb",
        key: 1,
        [
            .word("user", { $0.user.text }),
            .integer("until", { $0.at.milliseconds }, { $0.at = $1.moment($2, in: StorableRange.untils) }),
        ],
        make: UserMoment.init
    )

    /// The revocations: a user's tokens that were issued up to the moment are refused.
    package static let revocations = RecordTable<UserMoment>(
        "revocation",
        key: 1,
        [
            .word("user", { $0.user.text }),
            .integer("before", { $0.at.milliseconds }, { $0.at = $1.moment($2) }),
        ],
        make: UserMoment.init
    )
}

/// A moment that is stored for a user.
package struct UserMoment: Equatable, Sendable {
    /// The user.
    package var user: UserID
    /// The moment.
    package var at: Moment

    /// A moment of a user.
    package init(_ user: UserID, _ at: Moment) {
        self.user = user
        self.at = at
    }

    fileprivate init?(_ row: CheckedRow) {
        guard let user = row.value(0, UserID.init) else { return nil }
        self.init(user, Moment(milliseconds: 0))
    }
}
