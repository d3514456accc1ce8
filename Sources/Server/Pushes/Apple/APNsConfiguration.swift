import Crypto
import OutboundHTTP
import Threads

/// The validated settings for Apple's push service.
package struct APNsConfiguration: Sendable {
    /// The key and the ids that sign provider tokens.
    let signer: Signer
    /// The key's id: 10 characters of `A–Z 0–9`.
    package var keyID: String { signer.keyID }
    /// The developer team's id: 10 characters of `A–Z 0–9`.
    package var teamID: String { signer.teamID }
    /// The addresses of Apple's two services.
    package let endpoints: Endpoints
    /// A PEM file of the certificate authorities to trust instead of the system's; nil means the system's.
    package var caFile: String?
    /// Whether the proxies in the environment are used as curl uses them.
    ///
    /// Default true.
    package var usesProxyFromEnvironment = true
    /// The wall clock, in milliseconds since 1970: the times in requests to Apple are read from it.
    package let clock: @Sendable () -> Int64
    /// The clock that `OutgoingPush.expiresAt` refers to, in milliseconds since 1970; default ``clock``.
    package var expiryClock: @Sendable () -> Int64
    /// A clock that cannot be set, in milliseconds since an unspecified moment.
    ///
    /// It distinguishes a jump of the wall clock from time that passes.
    package var steadyClock: @Sendable () -> Int64 = { SystemClock.boot() }

    /// The key, and the ids by which Apple knows it.
    struct Signer: Sendable {
        let key: P256SigningKey
        /// The contents of the key's file, to compare it with another key.
        let pem: String
        let keyID: String
        let teamID: String

        func isSame(as other: Signer) -> Bool {
            pem == other.pem && keyID == other.keyID && teamID == other.teamID
        }
    }

    /// The addresses of Apple's two services.
    package struct Endpoints: Equatable, Sendable {
        /// The address for builds from Xcode.
        package var sandbox: String
        /// The address for TestFlight and the App Store.
        package var production: String

        /// Creates a pair of addresses, by default Apple's own: `https://host` or `https://host:port`, without a path.
        package init(
            sandbox: String = "https://api.sandbox.push.apple.com",
            production: String = "https://api.push.apple.com"
        ) {
            self.sandbox = sandbox
            self.production = production
        }
    }

    /// Checks these settings and creates a configuration.
    ///
    /// - Parameters:
    ///   - key: the contents of the `AuthKey_….p8` file that Apple gave out: PEM, PKCS#8, a P-256 private key.
    ///   - keyID: the id that Apple shows beside the key.
    ///   - teamID: the id of the developer team.
    ///   - endpoints: default Apple's.
    ///   - caFile: default nil, the system's authorities.
    ///   - clock: the wall clock, in milliseconds since 1970.
    /// - Throws: ``APNsConfigurationError``, one clear sentence for the operator.
    package init(
        key: String,
        keyID: String,
        teamID: String,
        endpoints: Endpoints = .init(),
        caFile: String? = nil,
        clock: @escaping @Sendable () -> Int64
    ) throws(APNsConfigurationError) {
        guard Self.isKeyOrTeamID(keyID) else { throw .malformedKeyID }
        guard Self.isKeyOrTeamID(teamID) else { throw .malformedTeamID }
        for endpoint in [endpoints.sandbox, endpoints.production] where !HTTPRequest.isSecureOrigin(endpoint) {
            throw .malformedEndpoint(endpoint)
        }
        do {
            signer = Signer(key: try P256SigningKey(pem: key), pem: key, keyID: keyID, teamID: teamID)
        } catch {
            throw .unusableKey(error.description)
        }
        guard key.contains("-----BEGIN PRIVATE KEY-----") else {
            throw .unusableKey("it is in the form SEC 1 (BEGIN EC PRIVATE KEY), which Apple does not give out")
        }
        self.endpoints = endpoints
        self.caFile = caFile
        self.clock = clock
        expiryClock = clock
    }

    private static func isKeyOrTeamID(_ text: String) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
            }
    }
}

/// The error in the settings for an ``APNsConfiguration``.
package enum APNsConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The key is not a P-256 private key in PKCS#8 PEM; the text tells why.
    case unusableKey(String)
    /// The key id is not 10 capital letters and digits.
    case malformedKeyID
    /// The team id is not 10 capital letters and digits.
    case malformedTeamID
    /// An endpoint is not `https://host[:port]`.
    case malformedEndpoint(String)

    /// One sentence about the error, without the key.
    package var description: String {
        switch self {
        case .unusableKey(let why): "The APNs key must be the P-256 private key of Apple's .p8 file: \(why)."
        case .malformedKeyID: "The APNs key id must be 10 capital letters and digits, as in AuthKey_ABCDE12345.p8."
        case .malformedTeamID:
            "The APNs team id must be 10 capital letters and digits, as Apple's membership page shows it."
        case .malformedEndpoint(let text):
            "The APNs endpoint \(text) must be of the form https://host or https://host:port."
        }
    }
}
