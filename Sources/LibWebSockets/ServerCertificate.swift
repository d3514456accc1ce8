internal import CLibwebsockets
internal import Glibc

/// A certificate chain and its key, loaded and found to belong together: what a running ``Server`` can change over to.
///
/// Immutable once made, so any number of loops on any threads may serve it.
public final class ServerCertificate: @unchecked Sendable {
    // @unchecked: OpenSSL counts the references of what is in it atomically, and nobody changes it.

    /// An `SSL_CTX` that serves nobody: it only holds the chain and the key.
    let holder: OpaquePointer
    /// Until when the server's own certificate is good, in seconds since 1970.
    public let notAfterSeconds: Int64

    /// Loads both files.
    ///
    /// Wraps `SSL_CTX_use_certificate_chain_file`, `SSL_CTX_use_PrivateKey_file`, `SSL_CTX_check_private_key`.
    ///
    /// - Throws: ``ServerError/unreadableFile(path:reason:)``, ``ServerError/badCertificate(path:reason:)``.
    public init(_ tls: ServerConfiguration.TLS) throws(ServerError) {
        for path in [tls.certificatePath, tls.keyPath] where access(path, R_OK) != 0 {
            throw .unreadableFile(path: path, reason: String(cString: strerror(errno)))
        }
        guard let holder = SSL_CTX_new(TLS_server_method()) else { throw .library("OpenSSL gives no context") }
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

    /// Wraps `X509_get0_notAfter`, `ASN1_TIME_to_tm`; a time that cannot be read is long ago.
    private static func notAfter(of certificate: OpaquePointer?) -> Int64 {
        var fields = tm()
        guard let certificate, ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &fields) == 1 else { return 0 }
        return Int64(timegm(&fields))
    }

    /// What OpenSSL says first; the queue is empty afterwards, for it is shared with the connections of this thread.
    private static func reason() -> String {
        let code = ERR_get_error()
        ERR_clear_error()
        return code == 0
            ? "OpenSSL refuses it" : ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(code)"
    }
}

/// Where the handshakes of one `SSL_CTX` look for the certificate to serve.
///
/// OpenSSL copies the place's address into every connection, so it stays the same for as long as there are any; what stands
/// in it changes, and a handshake that begins then takes the new one. Connections that stand keep what they have.
final class CertificatePlace {
    private let place = UnsafeMutablePointer<OpaquePointer?>.allocate(capacity: 1)
    private var current: ServerCertificate?

    init() { place.initialize(to: nil) }

    /// Only once the context that looks here is gone.
    deinit { place.deallocate() }

    /// Has a context look here before each handshake (`SSL_CTX_set_cert_cb`); while nothing stands here it serves its own.
    func watch(for context: UnsafeMutableRawPointer) { clws_look_for_certificate(context, place) }

    /// On the thread of the handshakes.
    func put(_ certificate: ServerCertificate) {
        place.pointee = certificate.holder
        // The earlier one goes only now.
        current = certificate
    }
}

extension Server {
    /// Serves a certificate to everybody who connects from now on; sessions that stand go on as they are.
    ///
    /// Without TLS it changes nothing.
    public func serve(_ certificate: ServerCertificate) {
        checkThread()
        certificatePlace.put(certificate)
        ticketKeys.renew(for: certificate)
    }
}
