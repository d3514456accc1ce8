/// All limits of the call core, with their reasons (protocol, section 8).
public enum Limits {
    /// The maximum length of an identifier in bytes (protocol, section 1).
    public static let identifierBytes = 128
    /// The characters of which an identifier consists, as errors name them.
    public static let identifierCharacters = "A–Z a–z 0–9 . _ @ : + | # ~ -"
    /// The form of an identifier, as errors name it.
    public static let identifierForm = "1 to \(identifierBytes) characters of \(identifierCharacters)"
    /// The maximum length in bytes of the `id` that a device gives a signal (protocol, section 3).
    public static let signalIDBytes = 64
    /// The number of entries, signals and the server's own entries together, at which a call's log takes no more
    /// signals except an `end`.
    ///
    /// A call with trickle ICE has some 40, so only a broken or hostile client reaches this limit.
    public static let logSignals = 512
    /// The maximum number of bytes of the signals in one call's log.
    ///
    /// With this limit, 50,000 live calls fit in memory even if many of them are abused.
    public static let logBytes = 512 * 1_024
    /// The maximum number of signals in a log before the answer, not counting the offer that begins the call,
    /// `ringing`, `answer` and `end`.
    ///
    /// Before the answer, each device of the callee that connects gets all these signals. A client gathers some 20
    /// candidates.
    public static let earlySignals = 64
    /// The maximum number of bytes of the signals that count towards ``earlySignals``.
    public static let earlyBytes = 64 * 1_024
    /// The maximum number of devices that take part in one call, on both sides together: a user may have 32 devices.
    public static let legs = 64
    /// How far `seq` advances for each crash of the server: more than a log can hold beyond its durable part.
    public static let restartGap: UInt64 = 1_024
}
