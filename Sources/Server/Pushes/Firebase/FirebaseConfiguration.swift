import Threads

/// The validated settings for Firebase Cloud Messaging.
package struct FirebaseConfiguration: Sendable {
    /// The account in whose name messages are sent.
    package let account: ServiceAccount
    /// The address of the service: `https://host` or `https://host:port`.
    package let endpoint: String
    /// A PEM file of the certificate authorities to trust instead of the system's; nil means the system's.
    package var caFile: String?
    /// Whether Firebase only checks the messages, and sends none.
    package var onlyValidates = false
    /// The wall clock, in milliseconds since 1970: the times in assertions are read from it.
    package let clock: @Sendable () -> Int64
    /// The clock that `OutgoingPush.expiresAt` refers to, in milliseconds since 1970; default ``clock``.
    package var expiryClock: @Sendable () -> Int64
    /// A clock that cannot be set, in milliseconds since an unspecified moment: it measures the age of access tokens.
    package var steadyClock: @Sendable () -> Int64 = { SystemClock.boot() }

    /// Creates settings for an account.
    ///
    /// - Parameters:
    ///   - account: the account in whose name messages are sent.
    ///   - endpoint: the address of the service.
    ///   - clock: the wall clock, in milliseconds since 1970.
    package init(
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
