/// How to wait while another server still holds the data folder.
///
/// In a rolling restart, the next server starts before the last one has released the folder.
package struct LockWait: Sendable {
    /// The maximum time to wait, in milliseconds; 0 means not to wait.
    package var milliseconds: Int64
    /// Called once, before the wait begins, with the process that holds the folder; `nil` if that is unknown.
    package var waits: @Sendable (_ holder: Int?) -> Void
    /// Called during the wait; `true` ends the wait as if its time were over.
    package var isOver: @Sendable () -> Bool

    /// Creates the rules from all their parts.
    ///
    /// By default there is no wait.
    package init(
        milliseconds: Int64 = 0,
        waits: @escaping @Sendable (_ holder: Int?) -> Void = { _ in },
        isOver: @escaping @Sendable () -> Bool = { false }
    ) {
        self.milliseconds = milliseconds
        self.waits = waits
        self.isOver = isOver
    }
}
