/// What to do while another server still holds the data folder: in a rolling restart the next one is there already when
/// the last one lets go of it.
public struct Patience: Sendable {
    /// How long to wait, in milliseconds; 0 = not at all.
    public var milliseconds: Int64
    /// Told once, before the wait begins, which process holds the folder; `nil` when that is not known.
    public var waits: @Sendable (_ holder: Int?) -> Void
    /// Asked while waiting; `true` ends the wait as if its time were over.
    public var isOver: @Sendable () -> Bool

    /// A patience of all its parts; by default there is none.
    public init(
        milliseconds: Int64 = 0,
        waits: @escaping @Sendable (_ holder: Int?) -> Void = { _ in },
        isOver: @escaping @Sendable () -> Bool = { false }
    ) {
        self.milliseconds = milliseconds
        self.waits = waits
        self.isOver = isOver
    }
}
