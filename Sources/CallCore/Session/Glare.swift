/// Two users who call each other at the same time: exactly one of the two calls goes on.
public enum Glare {
    /// Which of two crossing calls goes on: the one whose id's bytes come first (protocol, section 7).
    ///
    /// Server and clients decide by this one function, so that they agree without asking.
    public static func winner(_ a: CallID, _ b: CallID) -> CallID { b < a ? b : a }
}
