import CallWire

/// The supported versions of the Engine.IO protocol.
///
/// Both versions have the same packets. They differ in which side pings, and in how packets are joined for polling.
/// Engine.IO 4 carries version 5 of the Socket.IO protocol, and Engine.IO 3 carries version 4.
package enum EngineVersion: Int, Sendable, CaseIterable {
    /// Used by Socket.IO 1 and 2: the client pings.
    case v3 = 3
    /// Used by Socket.IO 3 and 4: the server pings.
    case v4 = 4

    /// Reads a handshake's `EIO` parameter.
    ///
    /// A missing parameter means version 3, as in Engine.IO's own server.
    package init?(parameter: String?) {
        switch parameter {
        case nil, "3": self = .v3
        case "4": self = .v4
        default: return nil
        }
    }
}

/// One Engine.IO packet: a digit and its data (Engine.IO protocol, "Packet encoding").
package struct EnginePacket: Equatable, Sendable {
    /// The packet's type.
    package enum Kind: UInt8, Sendable {
        /// The server's first packet, which opens the session.
        case open = 0x30
        /// Ends the session.
        case close
        /// Asks whether the other side is alive.
        case ping
        /// Answers a ping.
        case pong
        /// Carries a Socket.IO packet.
        case message
        /// Completes the switch from polling to the WebSocket.
        case upgrade
        /// Carries nothing. It releases a waiting poll.
        case noop
    }

    /// The packet's type.
    package var kind: Kind
    /// The bytes after the digit.
    package var data: [UInt8]

    /// Creates a packet from its type and its data.
    package init(_ kind: Kind, _ data: [UInt8] = []) {
        self.kind = kind
        self.data = data
    }

    /// Reads a packet from a text frame, or from between the separators of a payload.
    package init(text: some Collection<UInt8>) throws(EngineFault) {
        guard let digit = text.first else { throw .syntax }
        guard digit != UInt8(ascii: "b") else { throw .binary }
        guard let kind = Kind(rawValue: digit) else { throw .syntax }
        self.init(kind, Array(text.dropFirst()))
    }

    /// The packet as it is sent in a text frame.
    package var text: [UInt8] { [kind.rawValue] + data }
}

/// The reason why received bytes are not accepted as Engine.IO.
package enum EngineFault: Error, Equatable, Sendable {
    /// The bytes are not a valid packet or payload.
    case syntax
    /// The data is binary; a signaling server has no use for binary data.
    case binary
}

/// The reason why an Engine.IO request is refused, with Engine.IO's own codes and messages.
///
/// A request may be refused before its session exists, or within an existing session.
package enum EngineRefusal: Int, Error, Sendable, CaseIterable {
    /// The transport does not exist.
    case transportUnknown = 0
    /// The session does not exist, or no longer exists.
    case sessionUnknown
    /// A session must begin with GET.
    case badHandshakeMethod
    /// The request makes no sense for this session.
    case badRequest
    /// The request is not allowed.
    case forbidden
    /// The requested protocol version is not supported.
    case unsupportedVersion

    /// The HTTP status of the response.
    package var status: Int { self == .forbidden ? 403 : 400 }

    /// The body of the response, as Engine.IO's own server writes it.
    package var body: [UInt8] { Array(#"{"code":\#(rawValue),"message":"\#(message)"}"#.utf8) }

    /// The sentence in the body.
    package var message: String {
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
