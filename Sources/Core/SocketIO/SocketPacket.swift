import CallWire
import JSON

/// The reason why a client's packet is refused before it reaches the switchboard.
package enum PacketRefusal: String, Sendable, CaseIterable {
    /// The packet is for a namespace other than the default one.
    case namespace
    /// The packet is binary, or announces binary attachments.
    case binary
    /// The bytes are not a packet.
    case syntax
    /// The packet is an event of a client that has not joined.
    case notJoined = "not_joined"
    /// The packet is a CONNECT without a valid token.
    case token
}

/// One Socket.IO packet, as it is encoded in an Engine.IO message (Socket.IO protocol, "Packet encoding").
package struct SocketPacket: Equatable, Sendable {
    /// The packet's type.
    package enum Kind: UInt8, Sendable {
        /// A client asks to enter a namespace, or the server admits the client.
        case connect = 0x30
        /// The client leaves a namespace, or the server disconnects it.
        case disconnect
        /// An event with its arguments.
        case event
        /// The acknowledgement of an event.
        case ack
        /// The server refuses a CONNECT. In the version that goes with Engine.IO 3, this packet is called ERROR.
        case connectError
        /// An event with binary attachments.
        case binaryEvent
        /// An acknowledgement with binary attachments.
        case binaryAck
    }

    /// The packet's type.
    package var kind: Kind
    /// The namespace without the part after `?`.
    ///
    /// `/` is the default namespace.
    package var namespace: String
    /// The number of an event whose sender wants an ack; in the ack, the number of that event.
    package var number: UInt64?
    /// The JSON at the end of the packet; may be empty.
    package var data: [UInt8]

    /// Creates a packet from its parts.
    package init(_ kind: Kind, namespace: String = "/", number: UInt64? = nil, data: [UInt8] = []) {
        self.kind = kind
        self.namespace = namespace
        self.number = number
        self.data = data
    }

    /// Reads a packet from the data of an Engine.IO message.
    ///
    /// The attachment count of a binary packet is skipped, because such a packet is refused anyway.
    package init(_ message: [UInt8]) throws(EngineFault) {
        guard let digit = message.first, let kind = Kind(rawValue: digit) else { throw .syntax }
        var rest = message[1...]
        if kind == .binaryEvent || kind == .binaryAck {
            guard let dash = rest.firstIndex(of: UInt8(ascii: "-")) else { throw .syntax }
            rest = rest[(dash + 1)...]
        }
        var namespace = "/"
        if rest.first == UInt8(ascii: "/") {
            let end = rest.firstIndex(of: UInt8(ascii: ",")) ?? rest.endIndex
            namespace = String(decoding: rest[..<end].prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
            rest = rest[min(end + 1, rest.endIndex)...]
        }
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        guard digits.count <= 15 else { throw .syntax }
        let number = digits.isEmpty ? nil : digits.reduce(UInt64(0)) { $0 * 10 + UInt64($1 - 0x30) }
        self.init(kind, namespace: namespace, number: number, data: Array(rest.dropFirst(digits.count)))
    }

    /// Returns the Engine.IO packet that carries this packet: `4`, the type, the namespace and number if needed, the
    /// data.
    ///
    /// `headroom`: The number of bytes to leave free in front.
    package func text(headroom: Int = 0) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: headroom)
        bytes.reserveCapacity(headroom + data.count + 32)
        bytes.append(EnginePacket.Kind.message.rawValue)
        bytes.append(kind.rawValue)
        if namespace != "/" { bytes.append(contentsOf: "\(namespace),".utf8) }
        if let number { bytes.append(contentsOf: String(number).utf8) }
        bytes.append(contentsOf: data)
        return bytes
    }

    /// Returns an event with one argument, an object with the members that `body` writes.
    static func event(_ name: String, _ body: (inout JSONWriter) -> Void) -> SocketPacket {
        var json = JSONWriter(capacity: 512)
        json.beginArray()
        json.plain(name)
        json.beginObject()
        body(&json)
        json.endObject()
        json.endArray()
        return SocketPacket(.event, data: json.bytes)
    }

    /// Returns the ack of an event, with one argument: an object with the members that `body` writes.
    static func ack(_ number: UInt64, _ body: (inout JSONWriter) -> Void) -> SocketPacket {
        var json = JSONWriter()
        json.beginArray()
        json.beginObject()
        body(&json)
        json.endObject()
        json.endArray()
        return SocketPacket(.ack, number: number, data: json.bytes)
    }
}
