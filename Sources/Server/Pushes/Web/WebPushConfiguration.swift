package import CallPorts
package import Crypto
import Threads

/// The validated settings for Web Push.
package struct WebPushConfiguration: Sendable {
    /// The key by which push services know this server: its VAPID key (RFC 8292).
    let key: P256SigningKey
    /// The public half of the key in base64url, which browsers need to subscribe: 87 characters.
    package let applicationServerKey: String
    /// Where the push services reach the operator: a `mailto:` or `https:` address.
    let subject: String
    /// The hosts to which messages may be sent.
    package var hosts = WebPushHosts()
    /// A PEM file of the certificate authorities to trust instead of the system's; nil means the system's.
    package var caFile: String?
    /// The wall clock, in milliseconds since 1970: the times in VAPID tokens are read from it.
    package let clock: @Sendable () -> Int64
    /// The clock that `OutgoingPush.expiresAt` refers to, in milliseconds since 1970; default ``clock``.
    package var expiryClock: @Sendable () -> Int64

    /// Checks these settings and creates a configuration.
    ///
    /// - Parameters:
    ///   - key: the VAPID key.
    ///   - subject: a `mailto:` or `https:` address; Apple refuses one that is not real.
    ///   - clock: the wall clock, in milliseconds since 1970.
    /// - Throws: ``WebPushConfigurationError``, one clear sentence for the operator.
    package init(
        key: P256SigningKey,
        subject: String,
        clock: @escaping @Sendable () -> Int64
    ) throws(WebPushConfigurationError) {
        guard Self.isSubject(subject) else { throw .malformedSubject }
        do { applicationServerKey = Base64URL.encode(try key.publicKey.p256Point()) } catch { throw .unusableKey }
        self.key = key
        self.subject = subject
        self.clock = clock
        expiryClock = clock
    }

    /// Returns whether a text is a `mailto:` address with a domain, or an `https:` address of a host.
    ///
    /// Apple refuses `mailto:` addresses of `localhost` and addresses in angle brackets.
    package static func isSubject(_ text: String) -> Bool {
        guard text.utf8.count <= 256, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"<>\"".utf8.contains($0) })
        else { return false }
        if text.hasPrefix("https://") { return text.dropFirst("https://".count).first?.isLetter ?? false }
        let parts = text.dropFirst("mailto:".count).split(separator: "@", omittingEmptySubsequences: false)
        return text.hasPrefix("mailto:") && parts.count == 2 && !parts[0].isEmpty && parts[1].contains(".")
    }
}

/// Why settings for Web Push are wrong.
package enum WebPushConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The subject is no address.
    case malformedSubject
    /// The key has no public half.
    case unusableKey

    /// One sentence about the error, without the key.
    package var description: String {
        switch self {
        case .malformedSubject:
            "must be an address where you can be reached: mailto:name@example.com or https://example.com"
        case .unusableKey: "the VAPID key cannot be used"
        }
    }
}
