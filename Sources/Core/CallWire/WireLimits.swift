import JSON

/// The limits of the wire, with their reasons (protocol, section 8).
public enum WireLimits {
    /// The maximum size of a frame or body in bytes.
    ///
    /// It leaves room for the largest allowed description with its JSON escapes, and no more.
    public static let frameBytes = 65_536
    /// The maximum size of a decoded session description in bytes.
    ///
    /// The largest descriptions that browsers write are below 20 KiB.
    public static let sdpBytes = 48 * 1_024
    /// The maximum size of a candidate in bytes, as it is written in the frame.
    public static let candidateBytes = 4 * 1_024
    /// The maximum size of the `data` of an `info` in bytes, as it is written in the frame.
    public static let infoBytes = 16 * 1_024
    /// The maximum nesting depth of JSON, so that no message exhausts a stack, in the server or in a client.
    public static let depth = JSONLimits.depth
    /// The maximum length of a display name in characters; longer names are cut (protocol, section 3.4).
    public static let displayNameCharacters = 256
    /// The maximum length in bytes of a caller's handle; a push leaves out a longer one.
    public static let handleBytes = 256
    /// The maximum number of digits in one `dtmf`.
    public static let digits = 128
    /// The maximum number of calls in one `sync`.
    public static let syncedCalls = 256
    /// The largest id that is written as a number: JavaScript rounds larger numbers, and so would mean another user.
    public static let largestNumber: Int64 = (1 << 53) - 1
    /// The range of ring times that an offer may ask for, in seconds (protocol, section 3.2).
    public static let ringSeconds: ClosedRange<Int64> = 5...120
}
