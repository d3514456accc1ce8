internal import CLibwebsockets
internal import Glibc

/// A certificate chain and its matching key, loaded and checked, to which a running ``Server`` can switch.
///
/// It is immutable, so any number of event loops on any threads may serve it.
package final class ServerCertificate: Sendable {
    /// An `SSL_CTX` that serves no connections; it only holds the chain and the key.
    ///
    /// Any thread may use it: OpenSSL counts references to its parts atomically, and nothing changes them.
    nonisolated(unsafe) let holder: OpaquePointer
    /// The expiry of the server's own certificate, in seconds since 1970.
    package let notAfterSeconds: Int64

    /// Loads both files.
    ///
    /// Wraps `SSL_CTX_use_certificate_chain_file`, `SSL_CTX_use_PrivateKey_file`, `SSL_CTX_check_private_key`.
    ///
    /// - Throws: ``ServerError/unreadableFile(path:reason:)``, ``ServerError/badCertificate(path:reason:)``.
    package init(_ tls: ServerConfiguration.TLS) throws(ServerError) {
        for path in [tls.certificatePath, tls.keyPath] where access(path, R_OK) != 0 {
            throw .unreadableFile(path: path, reason: String(cString: strerror(errno)))
        }
        guard let holder = SSL_CTX_new(TLS_server_method()) else {
            throw .openSSL("it cannot create a TLS context (SSL_CTX_new)")
        }
        clws_ask_no_passphrase(holder)
        ERR_clear_error()
        guard SSL_CTX_use_certificate_chain_file(holder, tls.certificatePath) == 1,
            SSL_CTX_use_PrivateKey_file(holder, tls.keyPath, SSL_FILETYPE_PEM) == 1,
            SSL_CTX_check_private_key(holder) == 1, clws_can_serve(holder) == 1
        else {
            let reason = Self.reason()
            SSL_CTX_free(holder)
            throw .badCertificate(path: tls.certificatePath, reason: reason)
        }
        self.holder = holder
        notAfterSeconds = Self.notAfter(of: SSL_CTX_get0_certificate(holder))
    }

    deinit { SSL_CTX_free(holder) }

    /// Wraps `X509_get0_notAfter`, `ASN1_TIME_to_tm`; returns 0, a time long ago, if the time cannot be read.
    private static func notAfter(of certificate: OpaquePointer?) -> Int64 {
        var fields = tm()
        guard let certificate, ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &fields) == 1 else { return 0 }
        return Int64(timegm(&fields))
    }

    /// Returns OpenSSL's first error and empties its error queue, which this thread's connections share.
    private static func reason() -> String {
        let code = ERR_get_error()
        ERR_clear_error()
        return code == 0
            ? "OpenSSL rejects it and gives no reason"
            : ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(code)"
    }
}

/// The place where the handshakes of one `SSL_CTX` find the certificate to serve.
///
/// OpenSSL copies the address of the place into every connection, so the address must not change while there are
/// connections. The content may change: a handshake that begins afterwards uses the new certificate, and open
/// connections keep their old one.
final class CertificateHolder {
    private let place = UnsafeMutablePointer<OpaquePointer?>.allocate(capacity: 1)
    private var current: ServerCertificate?

    init() { place.initialize(to: nil) }

    /// Deallocate only after the context that reads this place is gone.
    deinit { place.deallocate() }

    /// Makes a context read this place before each handshake (`SSL_CTX_set_cert_cb`).
    ///
    /// While the place is empty the context serves its own certificate.
    func watch(for context: UnsafeMutableRawPointer) { clws_look_for_certificate(context, place) }

    /// Changes the certificate; call it on the thread of the handshakes.
    func put(_ certificate: ServerCertificate) {
        place.pointee = certificate.holder
        // The previous certificate may be released only now.
        current = certificate
    }
}

extension Server {
    /// Serves this certificate to new connections from now on; open connections are not affected.
    ///
    /// Without TLS it changes nothing.
    package func serve(_ certificate: ServerCertificate) {
        checkThread()
        certificateHolder.put(certificate)
        ticketKeys.renew(for: certificate)
    }
}
