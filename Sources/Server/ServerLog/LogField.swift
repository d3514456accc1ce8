package import CallCore
import Logging

/// One field of a log line: a key, and a value of the type that belongs to the key.
///
/// No field can hold a text of unknown origin; see ``ServerLog``.
package struct LogField: Equatable, Sendable {
    /// The key.
    package let key: LogKey
    /// The value as it is written.
    package let text: String
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
    package static func call(_ id: CallID) -> Self { Self(.callID, id.text) }
    /// A call's epoch.
    package static func epoch(_ epoch: UInt32) -> Self { Self(.callEpoch, epoch) }
    /// The number of a call in the database.
    package static func callNumber(_ number: CallNumber) -> Self { Self(.callNumber, number.rawValue) }
    /// The reason why a call ended.
    package static func reason(_ reason: EndReason) -> Self { Self(.callReason, reason.rawValue) }
    /// The number of an entry in a call's log.
    package static func seq(_ seq: UInt64) -> Self { Self(.callSeq, seq) }
    /// The state to which a call changed.
    package static func state(_ state: CallState) -> Self { Self(.callState, state.rawValue) }
    /// The decision about a call that begins, in one word.
    package static func start(_ decision: ServerText) -> Self { Self(.callStart, decision.text) }
    /// The input that a call was given, in one word.
    package static func input(_ word: ServerText) -> Self { Self(.callInput, word.text) }
    /// The kind of a signal.
    package static func signal(_ kind: SignalKind) -> Self { Self(.signalKind, kind.rawValue) }
    /// The meaning of an offer for its call, in one word.
    package static func meaning(_ word: ServerText) -> Self { Self(.offerMeaning, word.text) }
    /// The number of connections to which an entry was relayed.
    package static func relayCount(_ count: Int) -> Self { Self(.relayCount, count) }
    /// The connections to which an entry was relayed.
    package static func relayedTo(_ connections: [ConnectionNumber]) -> Self {
        Self(.relayTo, connections.map(\.description).joined(separator: ","))
    }
    /// The name of an event in a call's timeline.
    package static func event(_ name: ServerText) -> Self { Self(.eventName, name.text) }
    /// The id of an event for the app's backend.
    package static func appEvent(_ id: ServerText) -> Self { Self(.eventID, id.text) }
    /// The HTTP status with which the app's backend responded.
    package static func responseStatus(_ status: Int) -> Self { Self(.responseStatus, status) }
    /// The id of a question to the app's backend.
    package static func question(_ id: ServerText) -> Self { Self(.question, id.text) }
    /// The outcome of a question to the app's backend, in one word.
    package static func decision(_ outcome: ServerText) -> Self { Self(.decision, outcome.text) }
    /// The code that the app's backend gave its refusal.
    package static func decisionCode(_ code: UntrustedText) -> Self { Self(.decisionCode, code.description) }
    /// How long the offer has waited for the decision, in milliseconds.
    package static func decisionMilliseconds(_ count: Int64) -> Self { Self(.decisionMilliseconds, count) }
    /// The number of a commit.
    package static func commit(_ number: UInt64) -> Self { Self(.commitNumber, number) }

    // MARK: Users, devices and pushes

    /// A user's id.
    package static func user(_ id: UserID) -> Self { Self(.userID, id.text) }
    /// A device's id.
    package static func device(_ id: DeviceID) -> Self { Self(.deviceID, id.text) }
    /// The beginning of a push token.
    package static func pushToken(_ token: PushTokenStart) -> Self { Self(.deviceToken, token.description) }
    /// The number of a push.
    package static func push(_ number: UInt64) -> Self { Self(.pushID, number) }
    /// The kind of a push.
    package static func pushKind(_ kind: ServerText) -> Self { Self(.pushKind, kind.text) }
    /// The size of a push's payload, in bytes.
    package static func pushBytes(_ count: Int) -> Self { Self(.pushBytes, count) }
    /// The topic of a push, from the registration of its device.
    package static func topic(_ topic: UntrustedText) -> Self { Self(.apnsTopic, topic.description) }
    /// The environment of Apple's push service: sandbox or production.
    package static func environment(_ environment: ServerText) -> Self { Self(.apnsEnvironment, environment.text) }
    /// The HTTP status of Apple's response; 0 = there was no response.
    package static func pushStatus(_ status: Int) -> Self { Self(.pushStatus, status) }
    /// The reason in Apple's response.
    package static func pushReason(_ reason: UntrustedText) -> Self { Self(.pushReason, reason.description) }

    // MARK: Connections and requests

    /// A connection.
    package static func connection(_ number: ConnectionNumber) -> Self { Self(.connectionID, number.description) }
    /// The transport of a connection.
    package static func transport(_ word: ServerText) -> Self { Self(.connectionTransport, word.text) }
    /// The code with which a connection was closed (RFC 6455, section 7.4).
    package static func code(_ code: UInt16) -> Self { Self(.connectionCode, code) }
    /// The reason with which the server closed a connection.
    package static func closeReason(_ reason: ServerText) -> Self { Self(.connectionReason, reason.text) }
    /// How long a connection was open, in whole seconds.
    package static func seconds(_ seconds: Int64) -> Self { Self(.connectionSeconds, seconds) }
    /// The number of bytes that wait until the client of a connection reads.
    package static func bytes(_ count: Int) -> Self { Self(.connectionBytes, count) }
    // MARK: Nodes

    /// A node, of several that use one database.
    package static func node(_ id: UntrustedText) -> Self { Self(.node, id.description) }
    /// The number of an ownership of the calls.
    package static func ownership(_ epoch: UInt64) -> Self { Self(.ownership, epoch) }
    /// The number of links to other nodes.
    package static func links(_ count: Int) -> Self { Self(.links, count) }
    /// How a link ended.
    package static func linkEnd(_ words: ServerText) -> Self { Self(.linkEnd, words.text) }

    /// The number of open connections.
    package static func connections(_ count: Int) -> Self { Self(.connections, count) }
    /// A request.
    package static func request(_ number: RequestNumber) -> Self { Self(.requestID, number.description) }
    /// The name of a request's operation.
    package static func requestName(_ name: ServerText) -> Self { Self(.requestName, name.text) }
    /// The method of a request.
    package static func method(_ method: RequestMethod) -> Self { Self(.requestMethod, method.description) }
    /// The path of a request.
    package static func path(_ path: RequestPath) -> Self { Self(.requestPath, path.description) }
    /// The `Origin` of a request.
    package static func origin(_ origin: UntrustedText) -> Self { Self(.requestOrigin, origin.description) }
    /// The `Host` of a request.
    package static func requestHost(_ host: UntrustedText) -> Self { Self(.requestHost, host.description) }
    /// The code of a refusal.
    package static func refusal(_ code: ServerText) -> Self { Self(.refusalCode, code.text) }
    /// The sentence of a refusal.
    package static func why(_ sentence: ServerText) -> Self { Self(.refusalWhy, sentence.text) }

    /// The name of a member of a frame or a body.
    package static func member(_ name: UntrustedText) -> Self { Self(.memberName, name.description) }
    /// Where a member came.
    package static func place(_ word: ServerText) -> Self { Self(.memberPlace, word.text) }

    // MARK: Refused tokens

    /// The cause for which a token was refused, in one word.
    package static func tokenCause(_ cause: ServerText) -> Self { Self(.tokenCause, cause.text) }
    /// The time since a token expired, in seconds.
    package static func tokenExpired(seconds: Int64) -> Self { Self(.tokenExpired, "\(seconds) s") }
    /// The time until a token becomes valid, in seconds.
    package static func tokenEarly(seconds: Int64) -> Self { Self(.tokenEarly, "\(seconds) s") }
    /// The issuer of a token with a valid signature.
    package static func tokenIssuer(_ issuer: UntrustedText) -> Self { Self(.tokenIssuer, issuer.description) }
    /// The audience of a token with a valid signature.
    package static func tokenAudience(_ audience: UntrustedText) -> Self { Self(.tokenAudience, audience.description) }
    /// The id of the key that a token names.
    package static func tokenKey(_ id: UntrustedText) -> Self { Self(.tokenKey, id.description) }
    /// The algorithm that a token names.
    package static func tokenAlgorithm(_ name: UntrustedText) -> Self { Self(.tokenAlgorithm, name.description) }
    /// The name of a claim that is malformed.
    package static func tokenClaim(_ name: ServerText) -> Self { Self(.tokenClaim, name.text) }
}

/// The number of a connection as the log shows it: the `session` of the frame `welcome`, so that a client's log and the
/// server's can be compared.
package struct ConnectionNumber: Equatable, Sendable, CustomStringConvertible {
    /// The text: `s_` and the number in base 36.
    package let description: String

    /// Creates the shown form of a connection's number.
    package init(_ number: UInt64) { description = "s_" + String(number, radix: 36) }
}

/// The number of a request.
package struct RequestNumber: Equatable, Sendable, CustomStringConvertible {
    /// The text: `r_` and the number in base 36.
    package let description: String

    /// Creates the shown form of a request's number.
    package init(_ number: UInt64) { description = "r_" + String(number, radix: 36) }
}

/// The method of a request: any text other than one of HTTP's own methods is shown as `*`.
package struct RequestMethod: Equatable, Sendable, CustomStringConvertible {
    /// The method, or `*`.
    package let description: String

    private static let known: Set<String> = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]

    /// Creates the shown form of a method.
    package init(_ method: String) { description = Self.known.contains(method) ? method : "*" }
}
