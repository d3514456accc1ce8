/// What may be on its way between the owner's loop and a further one, with the reason.
enum LoopLimits {
    /// Bytes of what a loop has read and the owner has not taken yet: above it the loop reads no more, so that its peers'
    /// sending slows down as it would if the owner read by itself.
    static let news = 8 << 20
    /// Bytes that the owner has for a loop that has not taken them yet.
    ///
    /// Above it a frame counts as one too many for its peer, which is closed as a slow reader is. The owner never waits for
    /// a loop, which may be waiting for it.
    static let orders = 64 << 20
    /// What a message counts besides its bytes.
    static let overhead = 64
}
