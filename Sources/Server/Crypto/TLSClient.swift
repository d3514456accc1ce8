import COpenSSL
import Glibc

/// A blocking TLS client (TLS 1.2 or later) on a connected socket, for commands that query a server.
///
/// The server's certificate is checked, but the handshake succeeds even if it is not trusted: ``certificateFault`` has
/// the result.
package final class TLSClient {
    private let context: OpaquePointer
    private let session: OpaquePointer

    /// Performs the TLS handshake; `nil` if the server does not speak TLS, or does not respond in time.
    ///
    /// Wraps `SSL_connect`. From this call on, the process ignores SIGPIPE, which OpenSSL's writes would raise.
    ///
    /// - Parameters:
    ///   - descriptor: a connected TCP socket; the caller continues to own it, and its timeouts apply.
    ///   - host: the host name, or the numeric address, that the certificate must be for.
    ///   - authorities: a PEM file of the certificate authorities to trust; `nil`: the system's authorities.
    package init?(descriptor: Int32, host: String, authorities: String? = nil) {
        signal(SIGPIPE, SIG_IGN)
        guard let context = SSL_CTX_new(TLS_client_method()) else { return nil }
        // Without any authority no certificate is trusted, and `certificateFault` reports that.
        withoutErrorQueue {
            if let authorities {
                _ = SSL_CTX_load_verify_locations(context, authorities, nil)
            } else {
                _ = SSL_CTX_set_default_verify_paths(context)
            }
        }
        guard ringline_tls_at_least_12(context) == 1, let session = SSL_new(context) else {
            SSL_CTX_free(context)
            return nil
        }
        self.context = context
        self.session = session
        let isDone = withoutErrorQueue {
            ringline_tls_expect(session, host) == 1 && SSL_set_fd(session, descriptor) == 1 && SSL_connect(session) == 1
        }
        // `deinit` releases the context and the session.
        guard isDone else { return nil }
    }

    deinit {
        SSL_free(session)
        SSL_CTX_free(context)
    }

    /// The reason not to trust the server's certificate, in OpenSSL's words; `nil` if the certificate is trusted.
    ///
    /// Wraps `SSL_get_verify_result`.
    package var certificateFault: String? {
        let result = SSL_get_verify_result(session)
        guard result != Int(X509_V_OK) else { return nil }
        return X509_verify_cert_error_string(result).map { String(cString: $0) } ?? "error \(result)"
    }

    /// Sends all bytes, and returns whether that succeeded.
    package func send(_ bytes: [UInt8]) -> Bool {
        withoutErrorQueue { SSL_write(session, bytes, Int32(bytes.count)) == bytes.count }
    }

    /// Receives the next bytes, up to `limit`; empty at the end, after an error, and after the socket's timeout.
    package func receive(limit: Int) -> [UInt8] {
        withoutErrorQueue {
            [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
                count = max(0, Int(SSL_read(session, buffer.baseAddress, Int32(limit))))
            }
        }
    }
}
