public import CallCore
import Logging

/// One field of a log line: a key, and a value of the type that belongs to the key.
///
/// No field can hold a text of unknown origin; see ``ServerLog``.
public struct LogField: Equatable, Sendable {
    /// The key.
    public let key: LogKey
    /// The value as it is written.
    public let text: String
    /// The value as a number, which a log in JSON writes without quotes; `nil` if it is a text.
    private let number: Int64?

    init(_ key: LogKey, _ text: String) {
        self.key = key
        self.text = text
        number = nil
    }

    init(_ key: LogKey, _ number: some BinaryInteger) {
        self.key = key
        text = String(number)
        self.number = Int64(exactly: number)
    }

    /// The value as swift-log takes it.
    var value: Logger.MetadataValue { number.map { .stringConvertible($0) } ?? .string(text) }

    // MARK: Calls

    /// A callId.
    public static func call(_ id: CallID) -> Self { Self(.callID, id.text) }
    /// A call's epoch.
    public static func epoch(_ epoch: UInt32) -> Self { Self(.callEpoch, epoch) }
    /// The number of a call in the database.
    public static func callNumber(_ number: CallNumber) -> Self { Self(.callNumber, number.rawValue) }
    /// The reason why a call ended.
    public static func reason(_ reason: EndReason) -> Self { Self(.callReason, reason.rawValue) }
    /// The number of an entry in a call's log.
    public static func seq(_ seq: UInt64) -> Self { Self(.callSeq, seq) }
    /// The state to which a call changed.
    public static func state(_ state: CallState) -> Self { Self(.callState, state.rawValue) }
    /// The decision about a call that begins, in one word.
    public static func start(_ decision: ServerText) -> Self { Self(.callStart, decision.text) }
    /// The input that a call was given, in one word.
    public static func input(_ word: ServerText) -> Self { Self(.callInput, word.text) }
    /// The kind of a signal.
    public static func signal(_ kind: SignalKind) -> Self { Self(.signalKind, kind.rawValue) }
    /// The meaning of an offer for its call, in one word.
    public static func meaning(_ word: ServerText) -> Self { Self(.offerMeaning, word.text) }
    /// The number of connections to which an entry was relayed.
    public static func relayCount(_ count: Int) -> Self { Self(.relayCount, count) }
    /// The connections to which an entry was relayed.
    public static func relayedTo(_ connections: [ConnectionNumber]) -> Self {
        Self(.relayTo, connections.map(\.description).joined(separator: ","))
    }
    /// The name of an event in a call's timeline.
    public static func event(_ name: ServerText) -> Self { Self(.eventName, name.text) }
    /// The number of a commit.
    public static func commit(_ number: UInt64) -> Self { Self(.commitNumber, number) }

    // MARK: Users, devices and pushes

    /// A user's id.
    public static func user(_ id: UserID) -> Self { Self(.userID, id.text) }
    /// A device's id.
    public static func device(_ id: DeviceID) -> Self { Self(.deviceID, id.text) }
    /// The beginning of a push token.
    public static func pushToken(_ token: PushTokenStart) -> Self { Self(.deviceToken, token.description) }
    /// The number of a push.
    public static func push(_ number: UInt64) -> Self { Self(.pushID, number) }
    /// The kind of a push.
    public static func pushKind(_ kind: ServerText) -> Self { Self(.pushKind, kind.text) }
    /// The size of a push's payload, in bytes.
    public static func pushBytes(_ count: Int) -> Self { Self(.pushBytes, count) }
    /// The topic of a push, from the registration of its device.
    public static func topic(_ topic: UntrustedText) -> Self { Self(.apnsTopic, topic.description) }
    /// The environment of Apple's push service: sandbox or production.
    public static func environment(_ environment: ServerText) -> Self { Self(.apnsEnvironment, environment.text) }
    /// The HTTP status of Apple's response; 0 = there was no response.
    public static func pushStatus(_ status: Int) -> Self { Self(.pushStatus, status) }
    /// The reason in Apple's response.
    public static func pushReason(_ reason: UntrustedText) -> Self { Self(.pushReason, reason.description) }

    // MARK: Connections and requests

    /// A connection.
    public static func connection(_ number: ConnectionNumber) -> Self { Self(.connectionID, number.description) }
    /// The transport of a connection.
    public static func transport(_ word: ServerText) -> Self { Self(.connectionTransport, word.text) }
    /// The code with which a connection was closed (RFC 6455, section 7.4).
    public static func code(_ code: UInt16) -> Self { Self(.connectionCode, code) }
    /// The reason with which the server closed a connection.
    public static func closeReason(_ reason: ServerText) -> Self { Self(.connectionReason, reason.text) }
    /// How long a connection was open, in whole seconds.
    public static func seconds(_ seconds: Int64) -> Self { Self(.connectionSeconds, seconds) }
    /// The number of bytes that wait until the client of a connection reads.
    public static func bytes(_ count: Int) -> Self { Self(.connectionBytes, count) }
    // MARK: Nodes

    /// A node, of several that use one database.
    public static func node(_ id: UntrustedText) -> Self { Self(.node, id.description) }
    /// The number of an ownership of the calls.
    public static func ownership(_ epoch: UInt64) -> Self { Self(.ownership, epoch) }
    /// The number of links to other nodes.
    public static func links(_ count: Int) -> Self { Self(.links, count) }
    /// How a link ended.
    public static func linkEnd(_ words: ServerText) -> Self { Self(.linkEnd, words.text) }

    /// The number of open connections.
    public static func connections(_ count: Int) -> Self { Self(.connections, count) }
    /// A request.
    public static func request(_ number: RequestNumber) -> Self { Self(.requestID, number.description) }
    /// The name of a request's operation.
    public static func requestName(_ name: ServerText) -> Self { Self(.requestName, name.text) }
    /// The method of a request.
    public static func method(_ method: RequestMethod) -> Self { Self(.requestMethod, method.description) }
    /// The path of a request.
    public static func path(_ path: RequestPath) -> Self { Self(.requestPath, path.description) }
    /// The `Origin` of a request.
    public static func origin(_ origin: UntrustedText) -> Self { Self(.requestOrigin, origin.description) }
    /// The `Host` of a request.
    public static func requestHost(_ host: UntrustedText) -> Self { Self(.requestHost, host.description) }
    /// The code of a refusal.
    public static func refusal(_ code: ServerText) -> Self { Self(.refusalCode, code.text) }
    /// The sentence of a refusal.
    public static func why(_ sentence: ServerText) -> Self { Self(.refusalWhy, sentence.text) }

    /// The name of a member of a frame or a body.
    public static func member(_ name: UntrustedText) -> Self { Self(.memberName, name.description) }
    /// Where a member came.
    public static func place(_ word: ServerText) -> Self { Self(.memberPlace, word.text) }

    // MARK: Refused tokens

    /// The cause for which a token was refused, in one word.
    public static func tokenCause(_ cause: ServerText) -> Self { Self(.tokenCause, cause.text) }
    /// The time since a token expired, in seconds.
    public static func tokenExpired(seconds: Int64) -> Self { Self(.tokenExpired, "\(seconds) s") }
    /// The time until a token becomes valid, in seconds.
    public static func tokenEarly(seconds: Int64) -> Self { Self(.tokenEarly, "\(seconds) s") }
    /// The issuer of a token with a valid signature.
    public static func tokenIssuer(_ issuer: UntrustedText) -> Self { Self(.tokenIssuer, issuer.description) }
    /// The audience of a token with a valid signature.
    public static func tokenAudience(_ audience: UntrustedText) -> Self { Self(.tokenAudience, audience.description) }
    /// The id of the key that a token names.
    public static func tokenKey(_ id: UntrustedText) -> Self { Self(.tokenKey, id.description) }
    /// The algorithm that a token names.
    public static func tokenAlgorithm(_ name: UntrustedText) -> Self { Self(.tokenAlgorithm, name.description) }
    /// The name of a claim that is malformed.
    public static func tokenClaim(_ name: ServerText) -> Self { Self(.tokenClaim, name.text) }
}

/// The number of a connection as the log shows it: the `session` of the frame `welcome`, so that a client's log and the
/// server's can be compared.
public struct ConnectionNumber: Equatable, Sendable, CustomStringConvertible {
    /// The text: `s_` and the number in base 36.
    public let description: String

    /// Creates the shown form of a connection's number.
    public init(_ number: UInt64) { description = "s_" + String(number, radix: 36) }
}

/// The number of a request.
public struct RequestNumber: Equatable, Sendable, CustomStringConvertible {
    /// The text: `r_` and the number in base 36.
    public let description: String

    /// Creates the shown form of a request's number.
    public init(_ number: UInt64) { description = "r_" + String(number, radix: 36) }
}

/// The method of a request: any text other than one of HTTP's own methods is shown as `*`.
public struct RequestMethod: Equatable, Sendable, CustomStringConvertible {
    /// The method, or `*`.
    public let description: String

    private static let known: Set<String> = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]

    /// Creates the shown form of a method.
    public init(_ method: String) { description = Self.known.contains(method) ? method : "*" }
}
