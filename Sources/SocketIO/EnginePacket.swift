import CallWire

/// The two versions of the Engine.IO protocol that are spoken.
///
/// Their packets are the same. They differ in who pings whom, in how packets are put together when polling, and in that
/// version 4 goes with version 5 of the Socket.IO protocol, and version 3 with its version 4.
public enum EngineVersion: Int, Sendable, CaseIterable {
    /// Of Socket.IO 1 and 2: the client pings.
    case v3 = 3
    /// Of Socket.IO 3 and 4: the server pings.
    case v4 = 4

    /// The version that a handshake's `EIO` names; one without it is version 3 (as Engine.IO's own server has it).
    public init?(parameter: String?) {
        switch parameter {
        case nil, "3": self = .v3
        case "4": self = .v4
        default: return nil
        }
    }
}

/// One Engine.IO packet: a digit and its data (Engine.IO protocol, "Packet encoding").
public struct EnginePacket: Equatable, Sendable {
    /// What it is for.
    public enum Kind: UInt8, Sendable {
        /// The server's first word.
        case open = 0x30
        /// The session is over.
        case close
        /// Are you there?
        case ping
        /// I am.
        case pong
        /// What is above Engine.IO.
        case message
        /// From here on by WebSocket.
        case upgrade
        /// Nothing: it frees a request that waits.
        case noop
    }

    /// What it is for.
    public var kind: Kind
    /// What follows the digit.
    public var data: [UInt8]

    /// A packet of both its parts.
    public init(_ kind: Kind, _ data: [UInt8] = []) {
        self.kind = kind
        self.data = data
    }

    /// Reads a packet as it stands in a text frame, or between the marks of a payload.
    public init(text: some Collection<UInt8>) throws(EngineFault) {
        guard let digit = text.first else { throw .syntax }
        guard digit != UInt8(ascii: "b") else { throw .binary }
        guard let kind = Kind(rawValue: digit) else { throw .syntax }
        self.init(kind, Array(text.dropFirst()))
    }

    /// The packet as text.
    public var text: [UInt8] { [kind.rawValue] + data }
}

/// Why what came is no Engine.IO.
public enum EngineFault: Error, Equatable, Sendable {
    /// It breaks the form.
    case syntax
    /// It is binary, which a signaling server has no use for.
    case binary
}

/// Why a request is refused before there is a session, or in spite of one, in Engine.IO's own words and numbers.
public enum EngineRefusal: Int, Error, Sendable, CaseIterable {
    /// There is no such transport.
    case transportUnknown = 0
    /// There is no such session, or no longer.
    case sessionUnknown
    /// A session begins with GET.
    case badHandshakeMethod
    /// It makes no sense here.
    case badRequest
    /// It may not.
    case forbidden
    /// That version is not spoken.
    case unsupportedVersion

    /// The HTTP status.
    public var status: Int { self == .forbidden ? 403 : 400 }

    /// The body, as Engine.IO's own server writes it.
    public var body: [UInt8] { Array(#"{"code":\#(rawValue),"message":"\#(message)"}"#.utf8) }

    private var message: String {
        switch self {
        case .transportUnknown: "Transport unknown"
        case .sessionUnknown: "Session ID unknown"
        case .badHandshakeMethod: "Bad handshake method"
        case .badRequest: "Bad request"
        case .forbidden: "Forbidden"
        case .unsupportedVersion: "Unsupported protocol version"
        }
    }
}
