/// The requests of a process that may resolve a name or connect at a time, divided among its services.
///
/// A name that hangs, or a host that does not respond, thus holds up no other service: each has its own share.
/// Together they are 42, so that users, who name the hosts of push services, cannot use up threads and sockets.
package struct ConnectionShare: Sendable {
    /// How many requests of the service may resolve a name or connect at a time.
    package let count: Int
    /// How many of them are only for hosts that the server itself knows, such as Google's, Mozilla's and Apple's.
    package let reservedForKnownHosts: Int

    private init(_ count: Int, reservedForKnownHosts: Int) {
        self.count = count
        self.reservedForKnownHosts = reservedForKnownHosts
    }

    /// The share of a service with this many hosts, which the server itself knows: two for each.
    package init(hosts: Int) { self.init(2 * hosts, reservedForKnownHosts: 0) }

    /// That of the issuer's published keys.
    package static let keySet = Self(hosts: 1)
    /// That of the endpoints of the app's backend, of which there are four at most.
    package static let backend = Self(hosts: 4)
    /// That of the address of the app's backend that decides about calls.
    package static let decisions = Self(hosts: 1)
    /// That of the push services of browsers, whose hosts users name.
    package static let browsers = Self(22, reservedForKnownHosts: 6)
}
