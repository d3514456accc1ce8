/// The limits on the bytes in transit between the owner's loop and a further one, each with its reason.
enum LoopLimits {
    /// The bytes that a further loop has read and the owner has not taken yet.
    ///
    /// Above this limit the loop stops reading. So its clients' sending slows down, as it would if the owner itself
    /// read.
    static let news = 8 << 20
    /// The bytes of the owner's orders that a further loop has not carried out yet.
    ///
    /// Above this limit a frame overflows its connection, which is closed like that of a slow reader. The owner never
    /// waits for a further loop, because that loop may be waiting for the owner.
    static let orders = 64 << 20
    /// The bytes that each message counts besides its payload.
    static let overhead = 64
}
