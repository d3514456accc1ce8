/// All keys of the log's fields.
///
/// The page LogLines explains each key; `HouseTests` checks that none is missing there.
package enum LogKey: String, CaseIterable, Sendable {
    // Calls.
    case callID = "call.id"
    case callEpoch = "call.epoch"
    case callNumber = "call.number"
    case callReason = "call.reason"
    case callSeq = "call.seq"
    case callState = "call.state"
    case callStart = "call.start"
    case callInput = "call.input"
    case signalKind = "signal.kind"
    case offerMeaning = "offer.meaning"
    case relayCount = "relay.count"
    case relayTo = "relay.to"
    case eventName = "event.name"
    case eventID = "event.id"
    case endpoint = "endpoint.url"
    case events
    case responseStatus = "response.status"
    case question = "question.id"
    case decision = "decision.outcome"
    case decisionCode = "decision.code"
    case decisionMilliseconds = "decision.milliseconds"
    case commitNumber = "commit.number"

    // Users, devices and pushes.
    case userID = "user.id"
    case deviceID = "device.id"
    case deviceToken = "device.token"
    case pushID = "push.id"
    case pushKind = "push.kind"
    case pushBytes = "push.bytes"
    case apnsTopic = "apns.topic"
    case apnsEnvironment = "apns.environment"
    case pushStatus = "push.status"
    case pushReason = "push.reason"

    // Connections and requests.
    case connectionID = "connection.id"
    case connectionTransport = "connection.transport"
    case connectionCode = "connection.code"
    case connectionReason = "connection.reason"
    case connectionSeconds = "connection.seconds"
    case connectionBytes = "connection.bytes"
    case connections
    case requestID = "request.id"
    case requestName = "request.name"
    case requestMethod = "request.method"
    case requestPath = "request.path"
    case requestOrigin = "request.origin"
    case requestHost = "request.host"
    case refusalCode = "refusal.code"
    case refusalWhy = "refusal.why"
    case memberName = "member.name"
    case memberPlace = "member.place"

    // Refused tokens.
    case tokenCause = "token.cause"
    case tokenExpired = "token.expired"
    case tokenEarly = "token.early"
    case tokenIssuer = "token.issuer"
    case tokenAudience = "token.audience"
    case tokenKey = "token.key"
    case tokenAlgorithm = "token.algorithm"
    case tokenClaim = "token.claim"

    // The server.
    case version
    case data
    case process
    case descriptors
    case error
    case keys
    case library = "lws"
    case tlsCertificate = "tls.cert"
    case tlsKey = "tls.key"
    case keySetURL = "jwks.url"
    case keySetKeys = "jwks.keys"
    case keySetFailures = "jwks.failures"
    case logLevel = "log.level"
    case logDropped = "log.dropped"
    case logSuppressed = "log.suppressed"
    case clockAhead = "clock.ahead"
    case schedules
    case databaseOwner = "database.owner"
    case node
    case nodeAddress = "node.address"
    case ownership = "owner.epoch"
    case links
    case linkEnd = "link.end"
    case databaseTable = "database.table"
    case databaseColumn = "database.column"
    case databaseRow = "database.row"
}
