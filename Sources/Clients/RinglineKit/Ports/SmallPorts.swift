public import CallCore

/// A port: gets the user's bearer tokens from your backend.
@MainActor
public protocol TokenSource: AnyObject {
    /// Returns a token that is valid now.
    ///
    /// The kit calls this when it needs the first token, and when the server has refused the last one. If this throws, the
    /// app gets ``RinglineEvent/tokenMissing(_:)``, and the kit calls it again after a pause of 2 s, doubling to 300 s.
    ///
    /// - Parameter refused: the token that the server has refused; `nil` = it has refused none. Returning it counts as a
    ///   failure.
    /// - Returns: the JWT, without `Bearer`.
    /// - Throws: any error; the kit only passes its text on.
    func token(refused: String?) async throws -> String
}

/// A port: keeps a few short texts over launches.
///
/// It must be readable before the device is first unlocked after a restart, because a push may arrive in that time.
/// `UserDefaults` and most files are not readable then; ``FileStore`` is.
@MainActor
public protocol ValueStore: AnyObject {
    /// The text kept under a name; `nil` = none.
    subscript(name: String) -> String? { get set }
}

/// A port: the device's clock and one timer.
///
/// ``DeviceClock`` is the real one; tests use a clock that they set themselves.
@MainActor
public protocol KitClock: AnyObject {
    /// The time of the device's wall clock.
    var now: Moment { get }
    /// A random number from 0 up to but not including 1, a new one at each access.
    ///
    /// It is the jitter of the pauses between two attempts to connect.
    var chance: Double { get }
    /// Sets the timer, in place of an earlier setting: calls a function once, at a moment of ``now``.
    ///
    /// - Parameters:
    ///   - moment: when to call; at once if it has passed, and never if it is `nil`.
    ///   - work: the function, which is called after this one has returned.
    func wake(at moment: Moment?, _ work: @escaping @MainActor @Sendable () -> Void)
}
