internal import CLibwebsockets
internal import Threads

/// The keys of TLS session tickets, shared by all event loops of a port.
///
/// A device that reconnects may reach any of the loops. By default OpenSSL makes separate keys for each loop. A
/// device's ticket would then be valid only on the loop that issued it. On any other loop the handshake would need the
/// certificate and the signature again, which are its largest cost.
///
/// The keys change twice a day and with each certificate, because an attacker who has a key can decrypt every TLS 1.2
/// connection whose ticket was sealed with that key. A ticket is valid while its key is the newest or the one before,
/// and not afterwards.
final class TicketKeys: Sendable {
    /// The time for which a key seals tickets, in milliseconds.
    static let lifetime: Int64 = 12 * 3_600_000

    private struct State {
        /// The time of the first ``renew(at:)`` with the newest key; nil before that.
        var since: Int64?
        /// The last certificate for which a key was made; nil if there was none.
        var certificate: ObjectIdentifier?
    }

    // The ring has a lock of its own.
    nonisolated(unsafe) private let ring: UnsafeMutablePointer<clws_ticket_ring>
    private let state = Monitor(State())

    /// Creates a ring with one key.
    init() throws(ServerError) {
        guard let ring = clws_make_tickets() else {
            throw .openSSL("it cannot generate random keys for TLS session tickets")
        }
        self.ring = ring
    }

    /// Free the ring only after every context that uses it is gone.
    deinit { clws_free_tickets(ring) }

    /// Makes an `SSL_CTX` use these keys (`SSL_CTX_set_tlsext_ticket_key_evp_cb`).
    ///
    /// - Returns: Whether OpenSSL accepted the keys.
    func share(with context: UnsafeMutableRawPointer) -> Bool { clws_use_tickets(context, ring) == 1 }

    /// Makes a new key if the newest one is too old; may be called from any thread.
    func renew(at milliseconds: Int64) {
        state.withLock { standing in
            guard let since = standing.since else {
                standing.since = milliseconds
                return
            }
            guard milliseconds - since >= Self.lifetime, clws_renew_tickets(ring) == 1 else { return }
            standing.since = milliseconds
        }
    }

    /// Makes a new key for a new certificate.
    ///
    /// Every event loop calls this method; only the first call for a certificate makes a key.
    func renew(for certificate: ServerCertificate) {
        state.withLock { standing in
            guard standing.certificate != ObjectIdentifier(certificate), clws_renew_tickets(ring) == 1 else { return }
            standing = State(since: nil, certificate: ObjectIdentifier(certificate))
        }
    }
}

extension Server {
    /// Makes a new key for TLS session tickets on all event loops of the port, if the newest has been in use for 12
    /// hours.
    ///
    /// Call this method from any thread.
    ///
    /// - Parameter milliseconds: The time of a clock that never goes back.
    package func renewTickets(at milliseconds: Int64) { ticketKeys.renew(at: milliseconds) }
}
