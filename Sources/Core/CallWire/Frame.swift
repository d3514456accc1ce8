/// One outgoing message with free bytes in front of it, into which the transport writes its own header.
///
/// So the message is encoded once, and the same bytes go to all of its receivers.
public struct Frame: Sendable, Hashable {
    /// The number of free bytes in front of the message.
    ///
    /// libwebsockets needs at least `LWS_PRE` such bytes: 16 in version 4.1.6. The module `LibWebSockets` compares the
    /// two numbers when the server starts.
    @inlinable public static var headroom: Int { 16 }

    /// The free bytes, of any value, and then the message in UTF-8.
    public let bytes: [UInt8]

    /// Creates a frame of bytes that already begin with the free bytes.
    @inlinable
    public init(withHeadroom bytes: [UInt8]) { self.bytes = bytes }

    /// Creates a frame with a copy of a message.
    @inlinable
    public init(_ message: some Collection<UInt8>) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.headroom + message.count)
        bytes.append(contentsOf: repeatElement(0, count: Self.headroom))
        bytes.append(contentsOf: message)
        self.bytes = bytes
    }

    /// The message, without the free bytes in front of it.
    @inlinable public var message: ArraySlice<UInt8> { bytes[Self.headroom...] }
}
