import CallPorts

/// The limits on the bytes in transit between the gateway and a loop on another thread, and on the message buffer of
/// the loop on the gateway's thread.
enum LoopLimits {
    /// The bytes that a loop has read and the gateway has not taken yet.
    ///
    /// Above this limit the loop stops reading, so its clients have to send more slowly. A busy gateway slows the clients
    /// of its own loop in the same way.
    static let events = 8 << 20
    /// The bytes of the gateway's commands that a loop has not carried out yet.
    ///
    /// If a frame would exceed this limit, its connection is closed with 4408, as if the client read too slowly. The
    /// gateway does not wait instead, because the loop may itself be waiting for the gateway.
    static let commands = 64 << 20
    /// The bytes that are counted for each event or command in addition to its payload.
    static let overhead = 64
    /// The largest capacity, in bytes, that the message buffer of the loop on the gateway's thread keeps for the next
    /// message.
    static let keptBuffer = 16_384
}
