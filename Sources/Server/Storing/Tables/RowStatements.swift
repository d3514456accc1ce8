import CallCore
package import CallPorts

/// The statements of the changes that write one row, or one value of `meta`.
package final class RowStatements: Sendable {
    /// The statements of the tables.
    package let devices, schedules, blocks, doNotDisturb, revocations: TableStatements
    /// Writes the counters of the call directory, of which the versions never go back.
    package let countNumbers: SQLText
    private let forgetUncleanStarts, beginForgetting: SQLText

    /// The statements in a dialect.
    package init(_ dialect: Dialect) {
        devices = TableStatements(of: Tables.devices, dialect)
        schedules = TableStatements(of: Tables.schedules, dialect)
        blocks = TableStatements(of: Tables.blocks, dialect)
        doNotDisturb = TableStatements(of: Tables.doNotDisturb, dialect)
        revocations = TableStatements(of: Tables.revocations, dialect)
        // The counter becomes 1, not 0: the present start counts as unclean until the server stops in good order.
        forgetUncleanStarts = dialect.statement(
            "forget unclean starts",
            "UPDATE meta SET value = 1 WHERE name = 'crashes'"
        )
        beginForgetting = dialect.statement(
            "begin forgetting",
            """
            INSERT INTO meta (name, value) VALUES ('forgetting_before', $1)
            ON CONFLICT (name) DO UPDATE SET value = \(dialect.greatest)(meta.value, excluded.value)
            """
        )
        countNumbers = dialect.statement(
            "count numbers",
            """
            INSERT INTO meta (name, value)
            VALUES ('directory_version', $1), ('directory_oldest', $2), ('directory_numbers', $3)
            ON CONFLICT (name) DO UPDATE SET value = CASE WHEN meta.name = 'directory_numbers' THEN excluded.value
                ELSE \(dialect.greatest)(meta.value, excluded.value) END
            """
        )
    }

    /// Returns the statement of a change and its values; `nil` for a change that each store writes by hand.
    package func statement(for change: Change) -> (text: SQLText, values: [SQLValue])? {
        switch change {
        case .device(let device): (devices.write, Tables.devices.values(device))
        case .deviceRemoved(let user, let id): (devices.remove, [.word(user.text), .word(id.text)])
        case .schedule(let schedule): (schedules.write, Tables.schedules.values(schedule))
        case .scheduleRemoved(let user, let id): (schedules.remove, [.word(user.text), .word(id.text)])
        case .blocked(let user, let by, let at):
            (blocks.write, Tables.blocks.values(BlockRecord(by: by, blocked: user, at: at)))
        case .unblocked(let user, let by): (blocks.remove, [.word(by.text), .word(user.text)])
        case .doNotDisturb(let user, .some(let until)):
            (doNotDisturb.write, Tables.doNotDisturb.values(UserMoment(user, until)))
        case .doNotDisturb(let user, .none): (doNotDisturb.remove, [.word(user.text)])
        case .revoked(let user, let before): (revocations.write, Tables.revocations.values(UserMoment(user, before)))
        case .historyForgotten(let moment): (beginForgetting, [.integer(moment.milliseconds)])
        case .uncleanStartsForgotten: (forgetUncleanStarts, [])
        case .call, .entry, .event, .logForgotten, .numbers, .removalsForgotten, .appEvent, .eventEndpoint,
            .eventEndpointRemoved, .eventHeld, .eventReleased, .eventsForgotten:
            nil
        }
    }
}
