import CallWire

/// Why a client's packet is refused before the switchboard sees it.
public enum PacketRefusal: String, Sendable, CaseIterable {
    /// It is of another namespace than the default one.
    case namespace
    /// It is binary, or announces what is.
    case binary
    /// It is no packet.
    case syntax
    /// It is an event of a client that has not joined.
    case stranger
    /// It is a CONNECT without a token that is good.
    case token
}

/// One Socket.IO packet, as it stands in an Engine.IO message (Socket.IO protocol, "Packet encoding").
public struct SocketPacket: Equatable, Sendable {
    /// What it is for.
    public enum Kind: UInt8, Sendable {
        /// A client comes into a namespace, or is let in.
        case connect = 0x30
        /// It leaves, or is sent away.
        case disconnect
        /// Something happened.
        case event
        /// The answer to an event.
        case ack
        /// It is not let in; in the version that goes with Engine.IO 3: ERROR.
        case connectError
        /// An event with binary attachments.
        case binaryEvent
        /// An answer with binary attachments.
        case binaryAck
    }

    /// What it is for.
    public var kind: Kind
    /// The namespace without what stands behind `?`; `/` is the default one.
    public var namespace: String
    /// Under which number the sender wants an answer, or gets one.
    public var number: UInt64?
    /// The JSON at its end; may be empty.
    public var data: [UInt8]

    /// A packet of all its parts.
    public init(_ kind: Kind, namespace: String = "/", number: UInt64? = nil, data: [UInt8] = []) {
        self.kind = kind
        self.namespace = namespace
        self.number = number
        self.data = data
    }

    /// Reads what an Engine.IO message holds.
    ///
    /// Of a binary packet the number of attachments is skipped: it is refused anyway.
    public init(_ message: [UInt8]) throws(EngineFault) {
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

    /// The Engine.IO packet that carries it: `4`, the kind, namespace and number as far as needed, the data.
    ///
    /// `headroom`: Bytes left free in front.
    public func text(headroom: Int = 0) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: headroom)
        bytes.reserveCapacity(headroom + data.count + 32)
        bytes.append(EnginePacket.Kind.message.rawValue)
        bytes.append(kind.rawValue)
        if namespace != "/" { bytes.append(contentsOf: "\(namespace),".utf8) }
        if let number { bytes.append(contentsOf: String(number).utf8) }
        bytes.append(contentsOf: data)
        return bytes
    }

    /// An event with one argument, an object whose members `body` writes.
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

    /// The answer to an event: one argument, an object whose members `body` writes.
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
