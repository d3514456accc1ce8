package import CallCore
package import CallPorts

/// The facts of a call that every frame about its timeline repeats.
package struct WatchedCall: Equatable, Sendable {
    /// The number in the database.
    package let number: CallNumber
    /// The callId.
    package let id: CallID
    /// The epoch.
    package let epoch: UInt32
    /// The user who calls.
    package let caller: UserID
    /// The user who is called.
    package let callee: UserID
    /// When the call began.
    package let startedAt: Moment

    /// The facts of a call with this record.
    package init(_ record: CallRecord) {
        self.init(
            number: record.number,
            id: record.id,
            epoch: record.epoch,
            caller: record.caller,
            callee: record.callee,
            startedAt: record.startedAt
        )
    }

    /// A call with these facts.
    package init(
        number: CallNumber,
        id: CallID,
        epoch: UInt32,
        caller: UserID,
        callee: UserID,
        startedAt: Moment
    ) {
        self.number = number
        self.id = id
        self.epoch = epoch
        self.caller = caller
        self.callee = callee
        self.startedAt = startedAt
    }
}
