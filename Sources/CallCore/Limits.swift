/// Every limit of the call core, with its reason (protocol, section 8).
public enum Limits {
    /// An identifier's length in bytes (section 1).
    public static let identifierBytes = 128
    /// The length in bytes of the `id` that a device gives a signal (section 3).
    public static let signalIDBytes = 64
    /// Signals in one call's log: a call with trickle ICE has some 40, so only a broken or hostile client meets this.
    public static let logSignals = 512
    /// Bytes in one call's log, so that 50,000 live calls fit in memory even when many are abused.
    public static let logBytes = 512 * 1_024
    /// Signals in a log before the answer, besides the offer that begins the call, `ringing` and `answer`.
    ///
    /// The call is not accepted yet, and each device that connects gets all of it; a client gathers some 20 candidates.
    public static let earlySignals = 64
    /// Bytes of those.
    public static let earlyBytes = 64 * 1_024
    /// Devices that take part in one call: every device a user may have on each side.
    public static let legs = 64
    /// How far `seq` is advanced after a restart: more than a log can hold beyond what was durable.
    public static let restartGap: UInt64 = 1_024
}
