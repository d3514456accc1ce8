import Crypto

/// The signature of an event for the app's backend: the values of the three headers of its delivery.
///
/// Source: Standard Webhooks, "Signature scheme": HMAC with SHA-256 of id, timestamp and body, joined by full stops.
package struct WebhookSignature: Equatable, Sendable {
    /// The names of the headers.
    package enum Header {
        /// The header of the event's id.
        package static let id = "webhook-id"
        /// The header of the moment of the attempt.
        package static let timestamp = "webhook-timestamp"
        /// The header of the signatures.
        package static let signature = "webhook-signature"
    }

    /// How far the timestamp may be away from the receiver's clock, in seconds.
    package static let tolerance: Int64 = 300
    /// What each signature of this scheme begins with.
    private static let version = "v1,"
    /// The most signatures that are looked at.
    private static let limit = 16

    /// Returns the value of the header with the signatures: one for each secret, separated by blanks.
    package static func header(
        id: String,
        timestamp: Int64,
        body: [UInt8],
        _ secrets: WebhookSecrets
    ) -> String {
        let content = content(id, "\(timestamp)", body)
        return secrets.all.map { version + Base64.encode(HMACSHA256.code(of: content, key: $0.key)) }
            .joined(separator: " ")
    }

    /// Checks the headers of a delivery, as a receiver does.
    ///
    /// - Parameters:
    ///   - id: The value of `webhook-id`; `nil` = the header is missing, as with the others.
    ///   - timestamp: The value of `webhook-timestamp`.
    ///   - signatures: The value of `webhook-signature`.
    ///   - body: The body.
    ///   - secrets: The secrets of which one must have signed.
    ///   - now: The receiver's clock, in seconds since 1970.
    /// - Throws: ``Refusal``.
    package static func verify(
        id: String?,
        timestamp: String?,
        signatures: String?,
        body: [UInt8],
        _ secrets: WebhookSecrets,
        at now: Int64
    ) throws(Refusal) {
        guard let id, !id.isEmpty else { throw .missing(Header.id) }
        guard let timestamp else { throw .missing(Header.timestamp) }
        guard let signatures else { throw .missing(Header.signature) }
        guard timestamp.utf8.count <= 18, timestamp.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let moment = Int64(timestamp)
        else { throw .malformedTimestamp }
        guard abs(moment - now) <= tolerance else { throw .wrongTime(ahead: moment - now) }
        let codes = signatures.split(separator: " ", maxSplits: limit).filter { $0.hasPrefix(version) }
        guard !codes.isEmpty else { throw .noSignature }
        let content = content(id, timestamp, body)
        let isSigned = codes.contains { code in
            guard let code = Base64.decode(String(code.dropFirst(version.count))) else { return false }
            return secrets.all.contains { HMACSHA256.isValid(code, for: content.span, key: $0.key) }
        }
        guard isSigned else { throw .wrongSignature }
    }

    /// Why a delivery is refused.
    package enum Refusal: Error, Equatable, Sendable, CustomStringConvertible {
        /// A header is missing.
        case missing(String)
        /// The timestamp is no number of seconds.
        case malformedTimestamp
        /// The timestamp is this many seconds ahead of the receiver's clock, or behind it.
        case wrongTime(ahead: Int64)
        /// There is no signature of the version that is known.
        case noSignature
        /// No secret has made one of the signatures of these bytes.
        case wrongSignature

        /// A sentence without its full stop.
        package var description: String {
            switch self {
            case .missing(let name): "the header \(name) is missing"
            case .malformedTimestamp: "\(Header.timestamp) is no number of seconds since 1970"
            case .wrongTime(let ahead):
                "\(Header.timestamp) is \(abs(ahead)) s \(ahead > 0 ? "ahead of" : "behind") this clock, and at most "
                    + "\(tolerance) s are accepted"
            case .noSignature: "\(Header.signature) has no signature that begins with \(version)"
            case .wrongSignature: "no signature in \(Header.signature) is of this secret and these bytes"
            }
        }
    }

    private static func content(_ id: String, _ timestamp: String, _ body: [UInt8]) -> [UInt8] {
        Array(id.utf8) + [UInt8(ascii: ".")] + Array(timestamp.utf8) + [UInt8(ascii: ".")] + body
    }
}
