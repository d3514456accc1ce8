public import JSON

/// The error codes of the protocol, with their HTTP statuses (protocol, section 5).
public enum WireCode: String, Sendable, CaseIterable {
    /// The text is not one JSON object in UTF-8, is nested too deep, or contains a member of the protocol twice.
    case invalidJSON = "invalid_json"
    /// A field is missing or has a wrong value; the message names the field.
    case invalidField = "invalid_field"
    /// The `type` or `action` is unknown.
    case unknownType = "unknown_type"
    /// There is no token, or it is invalid.
    case unauthenticated
    /// The token has expired.
    case tokenExpired = "token_expired"
    /// The user or device may not do this.
    case forbidden
    /// The resource does not exist, or the requester must not learn that it does.
    case notFound = "not_found"
    /// The events after a cursor are no longer all kept, or the cursor is from before a restoration.
    case cursorGone = "cursor_gone"
    /// The path does not support this method.
    case methodNotAllowed = "method_not_allowed"
    /// The app's backend has refused the call.
    case refusedByApp = "refused_by_app"
    /// Another device of the callee has answered the call, or there is no offer to answer.
    case alreadyAnswered = "already_answered"
    /// The call, or the epoch that was named, is over.
    case callEnded = "call_ended"
    /// The other side has begun a call under this callId.
    case callExists = "call_exists"
    /// The call's log has reached its limit.
    case logFull = "log_full"
    /// A frame, body or field is too large.
    case tooLarge = "too_large"
    /// The `Content-Type` of a body is not JSON.
    case unsupportedMediaType = "unsupported_media_type"
    /// The path is for WebSockets only, and the request does not ask for an upgrade.
    case upgradeRequired = "upgrade_required"
    /// The text is not a session description.
    case invalidSDP = "invalid_sdp"
    /// Too many requests or too much data in too short a time, or a limit on a number is reached, such as that of
    /// watched users or of long polls.
    case rateLimited = "rate_limited"
    /// The server is shutting down. Another server, or this one after its restart, will accept the request.
    case draining
    /// The database cannot be written or read at the moment.
    case storeUnavailable = "store_unavailable"
    /// The app's backend did not decide about the call in time.
    case decisionUnavailable = "decision_unavailable"
    /// The keys that verify tokens have not been fetched yet.
    case keysUnavailable = "keys_unavailable"
    /// A bug in the server.
    case internalError = "internal_error"

    /// The HTTP status of the code.
    public var status: Int {
        switch self {
        case .invalidJSON, .invalidField, .unknownType: 400
        case .unauthenticated, .tokenExpired: 401
        case .forbidden, .refusedByApp: 403
        case .notFound: 404
        case .methodNotAllowed: 405
        case .cursorGone: 410
        case .alreadyAnswered, .callEnded, .callExists, .logFull: 409
        case .tooLarge: 413
        case .unsupportedMediaType: 415
        case .invalidSDP: 422
        case .upgradeRequired: 426
        case .rateLimited: 429
        case .draining, .storeUnavailable, .keysUnavailable, .decisionUnavailable: 503
        case .internalError: 500
        }
    }

    /// The number of seconds after which a client may try again; `nil` = the server gives no such time.
    public var retryAfterSeconds: Int? {
        switch self {
        case .rateLimited, .draining, .keysUnavailable, .decisionUnavailable: 1
        case .storeUnavailable: 2
        case .invalidJSON, .invalidField, .unknownType, .unauthenticated, .tokenExpired, .forbidden, .notFound,
            .methodNotAllowed, .cursorGone, .refusedByApp, .alreadyAnswered, .callEnded, .callExists, .logFull,
            .tooLarge, .unsupportedMediaType, .invalidSDP, .upgradeRequired, .internalError:
            nil
        }
    }

    /// A short title for people: the member `title` of a problem body (RFC 9457).
    public var title: String {
        switch self {
        case .invalidJSON: "Invalid JSON"
        case .invalidField: "Invalid field"
        case .unknownType: "Unknown type"
        case .unauthenticated: "Unauthenticated"
        case .tokenExpired: "Token expired"
        case .forbidden: "Forbidden"
        case .notFound: "Not found"
        case .methodNotAllowed: "Method not allowed"
        case .cursorGone: "Cursor gone"
        case .refusedByApp: "Refused by app"
        case .alreadyAnswered: "Already answered"
        case .callEnded: "Call ended"
        case .callExists: "Call exists"
        case .logFull: "Call log full"
        case .tooLarge: "Too large"
        case .unsupportedMediaType: "Unsupported media type"
        case .invalidSDP: "Invalid SDP"
        case .upgradeRequired: "Upgrade required"
        case .rateLimited: "Rate limited"
        case .draining: "Draining"
        case .storeUnavailable: "Store unavailable"
        case .keysUnavailable: "Keys unavailable"
        case .decisionUnavailable: "Decision unavailable"
        case .internalError: "Internal error"
        }
    }
}

/// A refusal as a client receives it: a code, and a sentence that explains what is wrong.
public struct WireError: Error, Equatable, Sendable {
    /// The error code.
    public var code: WireCode
    /// The explanation.
    ///
    /// It contains no text that the client sent, except a word that names an unknown type or parameter.
    public var message: String
    /// The field that is missing or wrong.
    public var field: String?
    /// The app's own code for a refusal of its backend: a word; `nil` = it gave none, or another refusal.
    public var appCode: String?
    /// The number of seconds after which to try again: the code's value, unless the refusal has a more exact one.
    public var retryAfterSeconds: Int?

    /// Creates a refusal from a code and an explanation.
    public init(_ code: WireCode, _ message: String, field: String? = nil) {
        self.code = code
        self.message = message
        self.field = field
        retryAfterSeconds = code.retryAfterSeconds
    }

    /// Returns the refusal of a field with a wrong value.
    ///
    /// `problem` says what is wrong, or which values are right: `missing` or `must be another user`, for example.
    public static func invalid(_ field: Field, _ problem: String) -> Self {
        WireError(.invalidField, "\(field.name): \(problem)", field: field.name)
    }

    /// Returns the refusal of an unknown type of message.
    ///
    /// The message repeats the value if it is a word, such as a misspelt type.
    static func unknown(_ field: Field, _ value: String) -> Self {
        let shown = mayShow(value) ? "unknown: \(value)" : "unknown"
        return WireError(.unknownType, "\(field.name): \(shown)", field: field.name)
    }

    /// Returns the refusal of an unknown parameter of a list.
    ///
    /// `known`: A phrase that names the list's parameters. The message repeats the unknown name if it is a word.
    public static func unknownParameter(_ name: String, _ known: String) -> Self {
        .invalid(named: mayShow(name) ? name : "query", "unknown parameter; \(known)")
    }

    /// Whether a message or a log may show a text from a client: it is a word of up to 32 letters, digits, `_` and `-`
    /// that begins with a letter, so it is no token, number or address.
    public static func mayShow(_ text: String) -> Bool {
        guard (1...32).contains(text.utf8.count), let first = text.utf8.first else { return false }
        let letters: (UInt8) -> Bool = { (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) }
        return letters(first)
            && text.utf8.allSatisfy { byte in
                letters(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
            }
    }

    /// Returns the refusal of a member that is not a ``Field``, by its name or path, such as `webPush.endpoint`.
    public static func invalid(named name: String, _ problem: String) -> Self {
        WireError(.invalidField, "\(name): \(problem)", field: name)
    }

    /// Returns the refusal of a text that has a fault as JSON, with the code ``WireCode/invalidJSON``.
    public static func json(_ fault: JSONFault) -> Self {
        switch fault {
        case .syntax: WireError(.invalidJSON, "invalid JSON")
        case .notAnObject: WireError(.invalidJSON, "not a JSON object")
        case .tooDeep: WireError(.invalidJSON, "JSON nested deeper than \(WireLimits.depth) levels")
        case .duplicate(let name): WireError(.invalidJSON, "duplicate member \(name)", field: name)
        case .duplicateName: WireError(.invalidJSON, "duplicate member")
        case .notUTF8: WireError(.invalidJSON, "not UTF-8")
        }
    }
}
