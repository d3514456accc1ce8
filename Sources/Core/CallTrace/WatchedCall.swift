public import CallCore
public import CallPorts

/// The facts of a call that every frame about its timeline repeats.
public struct WatchedCall: Equatable, Sendable {
    /// The number in the database.
    public let number: CallNumber
    /// The callId.
    public let id: CallID
    /// The epoch.
    public let epoch: UInt32
    /// The user who calls.
    public let caller: UserID
    /// The user who is called.
    public let callee: UserID
    /// When the call began.
    public let startedAt: Moment

    /// The facts of a call with this record.
    public init(_ record: CallRecord) {
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
    public init(
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
