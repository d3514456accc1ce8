/// How to wait while another server still owns the database, or while the database does not respond.
///
/// In a rolling restart, the next server starts before the last one has released the database.
package struct OwnerWait: Sendable {
    /// The maximum time to wait for an owner that renews its lease, in milliseconds.
    ///
    /// A lease that nobody renews, as after a crash of its owner, is always waited for until it ends.
    package var milliseconds: Int64
    /// Called once, before the wait begins, with the machine of the server that owns the database
    /// (``StoreOptions/machine``).
    package var onWait: @Sendable (_ holder: String) -> Void
    /// Called during the wait; `true` ends the wait as if its time were over.
    package var isOver: @Sendable () -> Bool
    /// Called once if the database itself keeps the start waiting, with a sentence that says so: it waits for its
    /// standby, for instance.
    ///
    /// Such a wait has no limit; only ``isOver`` ends it.
    package var onDelay: @Sendable (_ reason: String) -> Void
    /// Called once if the lease cannot be renewed while the state is read, with a sentence that says why.
    ///
    /// Another server may claim the database when the lease has run out.
    package var onMissedRenewal: @Sendable (_ reason: String) -> Void

    /// Creates the rules from all their parts.
    ///
    /// By default, only a lease that nobody renews is waited for.
    package init(
        milliseconds: Int64 = 0,
        onWait: @escaping @Sendable (_ holder: String) -> Void = { _ in },
        isOver: @escaping @Sendable () -> Bool = { false },
        onDelay: @escaping @Sendable (_ reason: String) -> Void = { _ in },
        onMissedRenewal: @escaping @Sendable (_ reason: String) -> Void = { _ in }
    ) {
        self.milliseconds = milliseconds
        self.onWait = onWait
        self.isOver = isOver
        self.onDelay = onDelay
        self.onMissedRenewal = onMissedRenewal
    }
}
