import Threads

/// The validated settings for Firebase Cloud Messaging.
public struct FirebaseConfiguration: Sendable {
    /// The account in whose name messages are sent.
    public let account: ServiceAccount
    /// The address of the service: `https://host` or `https://host:port`.
    public let endpoint: String
    /// A PEM file of the certificate authorities to trust instead of the system's; nil means the system's.
    public var caFile: String?
    /// Whether Firebase only checks the messages, and sends none.
    public var onlyValidates = false
    /// The wall clock, in milliseconds since 1970: the times in assertions are read from it.
    public let clock: @Sendable () -> Int64
    /// The clock that `OutgoingPush.expiresAt` refers to, in milliseconds since 1970; default ``clock``.
    public var expiryClock: @Sendable () -> Int64
    /// A clock that cannot be set, in milliseconds since an unspecified moment: it measures the age of access tokens.
    public var steadyClock: @Sendable () -> Int64 = { SystemClock.boot() }

    /// Creates settings for an account.
    ///
    /// - Parameters:
    ///   - account: the account in whose name messages are sent.
    ///   - endpoint: the address of the service.
    ///   - clock: the wall clock, in milliseconds since 1970.
    public init(
        _ account: ServiceAccount,
        endpoint: String,
        clock: @escaping @Sendable () -> Int64
    ) {
        self.account = account
        self.endpoint = endpoint
        self.clock = clock
        expiryClock = clock
    }
}
