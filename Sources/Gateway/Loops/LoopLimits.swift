import CallPorts
/// The limits on the bytes in transit between the owner and a loop on another thread.
enum LoopLimits {
    /// The bytes that a loop has read and the owner has not taken yet.
    ///
    /// Above this limit the loop stops reading, and its clients have to send more slowly. Clients of the owner's own
    /// loop have to do so as well when the owner is busy.
    static let events = 8 << 20
    /// The bytes of the owner's commands that a loop has not carried out yet.
    ///
    /// When a frame would exceed this limit, the connection that it is for is closed like that of a slow reader. The
    /// owner never waits for a loop, because that loop may be waiting for the owner.
    static let commands = 64 << 20
    /// The bytes that each message counts in addition to its payload.
    static let overhead = 64
    /// The largest capacity, in bytes, that a loop's buffer for messages keeps for the next one.
    static let keptBuffer = 16_384
}
