/// The wire's limits, with their reasons (protocol, section 8).
public enum WireLimits {
    /// A frame's or body's size in bytes: room for the largest description with its escapes, and no more.
    public static let frameBytes = 65_536
    /// A session description's size in bytes, decoded: the largest browsers write are below 20 KiB.
    public static let sdpBytes = 48 * 1_024
    /// A candidate's size in bytes as written.
    public static let candidateBytes = 4 * 1_024
    /// The size in bytes of what `info` carries, as written.
    public static let infoBytes = 16 * 1_024
    /// How deep JSON may be nested, so that no message exhausts a stack: ours or a client's.
    public static let depth = 32
    /// A display name's length in characters; what is longer is cut (section 9).
    public static let displayNameCharacters = 256
    /// Digits in one `dtmf`.
    public static let digits = 128
    /// Calls named in one `sync`.
    public static let syncedCalls = 256
    /// For how long an offer may ask to ring, in seconds (section 3).
    public static let ringSeconds: ClosedRange<Int64> = 5...120
    /// Bytes left free in front of each outgoing frame for the transport's header (`LWS_PRE` is 16).
    public static let headroom = 16
}
