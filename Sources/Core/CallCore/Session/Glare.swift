/// The rule for two users who call each other at the same time: exactly one of the two calls goes on.
public enum Glare {
    /// Returns which of two simultaneous calls goes on: the call whose callId comes first in byte order (protocol,
    /// section 7.2).
    ///
    /// The server and the clients use this same function, so that they agree without asking each other.
    public static func winner(_ a: CallID, _ b: CallID) -> CallID { b < a ? b : a }
}
