internal import CLibwebsockets
internal import Threads

/// The keys of TLS session tickets, the same on every loop of a port.
///
/// A phone that connects again comes to any of them: with keys of each loop's own, as OpenSSL makes them, only the loop that
/// gave it the ticket could spare it the certificate and the signature, which are what a handshake costs most.
final class TicketKeys: Sendable {
    private let keys = Locked<[UInt8]>([])

    /// Takes the keys of the first context, and gives them to every other (`SSL_CTX_set_tlsext_ticket_keys`).
    ///
    /// - Returns: Whether OpenSSL did.
    func share(with context: UnsafeMutableRawPointer) -> Bool {
        keys.withLock { keys in
            if !keys.isEmpty { return clws_set_ticket_keys(context, &keys) == 1 }
            var own = [UInt8](repeating: 0, count: Int(CLWS_TICKET_KEYS))
            guard clws_get_ticket_keys(context, &own) == 1 else { return false }
            keys = own
            return true
        }
    }
}
