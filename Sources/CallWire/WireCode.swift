/// Every error code of the protocol, with its HTTP status (protocol, section 5).
public enum WireCode: String, Sendable, CaseIterable {
    /// The text is not one JSON object.
    case invalidJSON = "invalid_json"
    /// A field is missing or has a wrong value; the message names it.
    case invalidField = "invalid_field"
    /// The `type` or `action` is none that is known.
    case unknownType = "unknown_type"
    /// There is no token, or it is not valid.
    case unauthenticated
    /// The token is no longer valid.
    case tokenExpired = "token_expired"
    /// The user or device may not do this.
    case forbidden
    /// There is no such thing, or it is none of the asker's business.
    case notFound = "not_found"
    /// The path knows other methods.
    case methodNotAllowed = "method_not_allowed"
    /// Another device of the callee has the call.
    case alreadyAnswered = "already_answered"
    /// The call is over.
    case callEnded = "call_ended"
    /// The other side has begun a call under this name.
    case callExists = "call_exists"
    /// The call's log has reached its limit.
    case logFull = "log_full"
    /// A frame, body or field is too large.
    case tooLarge = "too_large"
    /// The body is not JSON.
    case unsupportedMediaType = "unsupported_media_type"
    /// The path is a WebSocket's, and the request asks for none.
    case upgradeRequired = "upgrade_required"
    /// The description is none.
    case invalidSDP = "invalid_sdp"
    /// Too much in too short a time.
    case rateLimited = "rate_limited"
    /// The server is shutting down; another one, or this one in a moment, will do it.
    case draining
    /// The database cannot be written just now.
    case storeUnavailable = "store_unavailable"
    /// The keys that tokens are checked with have not been fetched yet.
    case keysUnavailable = "keys_unavailable"
    /// A bug of ours.
    case internalError = "internal_error"

    /// The HTTP status that goes with it.
    public var status: Int {
        switch self {
        case .invalidJSON, .invalidField, .unknownType: 400
        case .unauthenticated, .tokenExpired: 401
        case .forbidden: 403
        case .notFound: 404
        case .methodNotAllowed: 405
        case .alreadyAnswered, .callEnded, .callExists, .logFull: 409
        case .tooLarge: 413
        case .unsupportedMediaType: 415
        case .invalidSDP: 422
        case .upgradeRequired: 426
        case .rateLimited: 429
        case .draining, .storeUnavailable, .keysUnavailable: 503
        case .internalError: 500
        }
    }

    /// A short title for people, as RFC 9457 asks for.
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
        case .internalError: "Internal error"
        }
    }
}

/// A refusal as a client gets it: a code, and a sentence that names what is wrong.
public struct WireError: Error, Equatable, Sendable {
    /// The code.
    public var code: WireCode
    /// The sentence; never holds what the client sent.
    public var message: String
    /// The field that is wrong.
    public var field: String?
    /// After how many seconds to try again, where that is known.
    public var retryAfterSeconds: Int?

    /// A refusal with a code and a sentence.
    public init(_ code: WireCode, _ message: String, field: String? = nil) {
        self.code = code
        self.message = message
        self.field = field
    }

    /// A field has a wrong value: what it must be.
    public static func invalid(_ field: Field, _ mustBe: String) -> Self {
        WireError(.invalidField, "\(field.name): \(mustBe)", field: field.name)
    }

    /// A text is not one JSON object.
    public static func json(_ fault: JSONFault) -> Self {
        switch fault {
        case .syntax: WireError(.invalidJSON, "the text is not valid JSON")
        case .notAnObject: WireError(.invalidJSON, "the text is JSON, but not an object")
        case .tooDeep: WireError(.invalidJSON, "the JSON is nested deeper than \(WireLimits.depth) levels")
        case .duplicate(let name): WireError(.invalidJSON, "the member \(name) stands there twice", field: name)
        case .notUTF8: WireError(.invalidJSON, "the text is not UTF-8")
        }
    }
}
