internal import CLibwebsockets
internal import Threads

/// The keys of TLS session tickets, the same on every loop of a port.
///
/// A phone that connects again comes to any of them: with keys of each loop's own, as OpenSSL makes them, only the loop that
/// gave it the ticket could spare it the certificate and the signature, which are what a handshake costs most.
///
/// They change twice a day and with each certificate: whoever gets hold of a ticket's key can read every TLS 1.2 session
/// that was begun under it. A ticket is good under the key after its own too, and then no more.
final class TicketKeys: @unchecked Sendable {
    // @unchecked: the ring has a lock of its own.

    /// For how long a key seals tickets, in milliseconds.
    static let lifetime: Int64 = 12 * 3_600_000

    private struct Standing {
        /// When the newest key was first looked at.
        var since: Int64?
        /// The certificate that it came with.
        var certificate: ObjectIdentifier?
    }

    private let ring: UnsafeMutablePointer<clws_ticket_ring>
    private let standing = Locked(Standing())

    /// With one key.
    init() throws(ServerError) {
        guard let ring = clws_make_tickets() else { throw .library("OpenSSL gives no randomness") }
        self.ring = ring
    }

    /// Only once every context that uses them is gone.
    deinit { clws_free_tickets(ring) }

    /// Has an `SSL_CTX` use them (`SSL_CTX_set_tlsext_ticket_key_evp_cb`).
    ///
    /// - Returns: Whether OpenSSL does.
    func share(with context: UnsafeMutableRawPointer) -> Bool { clws_use_tickets(context, ring) == 1 }

    /// Makes a new key if the newest is old; any thread may ask.
    func renew(at milliseconds: Int64) {
        standing.withLock { standing in
            guard let since = standing.since else {
                standing.since = milliseconds
                return
            }
            guard milliseconds - since >= Self.lifetime, clws_renew_tickets(ring) == 1 else { return }
            standing.since = milliseconds
        }
    }

    /// Makes a new key for a new certificate, the first time that a loop brings it.
    func renew(for certificate: ServerCertificate) {
        standing.withLock { standing in
            guard standing.certificate != ObjectIdentifier(certificate), clws_renew_tickets(ring) == 1 else { return }
            standing = Standing(since: nil, certificate: ObjectIdentifier(certificate))
        }
    }
}

extension Server {
    /// Makes a new key for TLS session tickets if the newest has been in use for 12 hours, on every loop of the port; any thread
    /// may ask.
    ///
    /// - Parameter milliseconds: The time of a clock that never goes back.
    public func renewTickets(at milliseconds: Int64) { ticketKeys.renew(at: milliseconds) }
}
