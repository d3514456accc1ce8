public import CallCore

/// A port: gets the user's bearer tokens from your backend.
@MainActor
public protocol TokenSource: AnyObject {
    /// Returns a token that is valid now.
    ///
    /// The kit asks for one when it needs the first one, and when the server has refused the one that it had. If this
    /// throws, the kit asks again after a pause, and the app gets ``RinglineEvent/tokenMissing(_:)``.
    ///
    /// - Parameter refused: the token that the server no longer takes; `nil` = none was refused.
    /// - Returns: the JWT, without `Bearer`.
    /// - Throws: any error; the kit only passes its text on.
    func token(refused: String?) async throws -> String
}

/// A port: keeps a few short texts over launches.
///
/// It must be readable before the user unlocks the device for the first time after a restart, because a push may arrive
/// then. `UserDefaults` and most files are not; ``FileStore`` is.
@MainActor
public protocol ValueStore: AnyObject {
    /// The text kept under a name; `nil` = none.
    subscript(name: String) -> String? { get set }
}

/// A port: the device's clock and one timer.
///
/// ``DeviceClock`` is the real one; tests have one that they set.
@MainActor
public protocol KitClock: AnyObject {
    /// The time of the device's wall clock.
    var now: Moment { get }
    /// A random number, from 0 up to but not including 1.
    var chance: Double { get }
    /// Calls a function at a moment, once, in place of what an earlier call of this function asked for; `nil` = nothing.
    func wake(at moment: Moment?, _ work: @escaping @MainActor @Sendable () -> Void)
}
