/// The requests of a process that may resolve a name or connect at a time, divided among its services.
///
/// A name that hangs, or a host that does not respond, thus holds up no other service: each has its own share.
/// Together they are 32, so that users, who name the hosts of push services, cannot use up threads and sockets.
package enum ConnectionShare: CaseIterable, Sendable {
    /// Apple's two services.
    case apns
    /// Firebase, and the endpoint of its access tokens.
    case firebase
    /// The issuer's published keys.
    case keySet
    /// The push services of browsers, whose hosts users name.
    case browsers

    /// How many requests of the service may resolve a name or connect at a time: two for each host that the server itself
    /// knows.
    package var count: Int {
        switch self {
        case .apns, .firebase: 4
        case .keySet: 2
        case .browsers: 22
        }
    }

    /// How many of them are only for hosts that the server itself knows, such as Google's, Mozilla's and Apple's.
    package var reservedForKnownHosts: Int { self == .browsers ? 6 : 0 }
}
