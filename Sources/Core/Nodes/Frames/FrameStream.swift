/// Divides the bytes of a link into frames.
///
/// After an error the stream gives the same error for ever: the place where the next frame begins is unknown.
package struct FrameStream: Sendable {
    /// Whether the other side has proved itself; a side that has not is allowed only small frames.
    ///
    /// It may change while bytes wait: each length is compared when ``next()`` comes to it.
    package var isProven = false

    /// The version of the protocol that both sides speak; a handshake has the same form in all versions.
    package var version = Hello.currentVersion

    private var bytes: [UInt8] = []
    private var position = 0
    private var error: NodeFrameError?

    /// Creates a stream of a side that has not proved itself.
    package init() {}

    /// The largest frame, in bytes, of a side that has not proved itself: a hello with the longest node id.
    static let unprovenBytes = 256

    /// Adds bytes that arrived; those of an `UnsafeRawBufferPointer` are copied at once.
    package mutating func append(_ more: some Collection<UInt8>) {
        guard error == nil else { return }
        bytes.append(contentsOf: more)
    }

    /// Returns the next frame, or `nil` if its end has not arrived.
    package mutating func next() throws(NodeFrameError) -> NodeFrame? {
        if let error { throw error }
        do throws(NodeFrameError) {
            return try nextFrame()
        } catch {
            self.error = error
            bytes = []
            position = 0
            throw error
        }
    }

    private mutating func nextFrame() throws(NodeFrameError) -> NodeFrame? {
        guard bytes.count - position >= 4 else {
            compact()
            return nil
        }
        var length = 0
        for byte in bytes[position..<position + 4] { length = length << 8 | Int(byte) }
        // The length is checked before its bytes arrive: nobody can make a node keep more than one largest frame.
        guard length <= (isProven ? NodeLimits.frameBytes : Self.unprovenBytes) else {
            throw NodeFrameError("frame.length", .tooLong)
        }
        guard bytes.count - position - 4 >= length else {
            compact()
            return nil
        }
        let start = position + 4
        position = start + length
        return try NodeFrame(decoding: bytes[start..<position], version: version)
    }

    /// Removes the frames that were read; done once for all of them.
    private mutating func compact() {
        guard position > 0 else { return }
        bytes.removeSubrange(..<position)
        position = 0
    }
}
