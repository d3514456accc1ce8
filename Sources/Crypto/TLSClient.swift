import COpenSSL
import Glibc

/// TLS 1.2 or later on a connected socket, as its client; blocking, for commands that ask a server something.
///
/// The server's certificate is looked at and not insisted on: whoever asks is told what is wrong with it.
public final class TLSClient {
    private let context: OpaquePointer
    private let session: OpaquePointer

    /// Shakes hands; `nil` where the other side does not speak TLS, or not in time.
    ///
    /// Wraps `SSL_connect`. From then on the process ignores SIGPIPE, which OpenSSL's writing would raise.
    ///
    /// - Parameters:
    ///   - descriptor: a connected TCP socket; it stays the caller's, and its timeouts hold.
    ///   - host: the name, or the address in digits, that the certificate must be for.
    ///   - authorities: a PEM file of those to trust; `nil`: the system's.
    public init?(descriptor: Int32, host: String, authorities: String? = nil) {
        signal(SIGPIPE, SIG_IGN)
        guard let context = SSL_CTX_new(TLS_client_method()) else { return nil }
        // Without any authority no certificate is trusted, which is then what is wrong with it.
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
        // What is set is let go of by `deinit`.
        guard isDone else { return nil }
    }

    deinit {
        SSL_free(session)
        SSL_CTX_free(context)
    }

    /// Why the server's certificate is not to be trusted, in OpenSSL's words; `nil` where it is.
    ///
    /// Wraps `SSL_get_verify_result`.
    public var certificateFault: String? {
        let result = SSL_get_verify_result(session)
        guard result != Int(X509_V_OK) else { return nil }
        return X509_verify_cert_error_string(result).map { String(cString: $0) } ?? "error \(result)"
    }

    /// Sends all of it; whether that worked.
    public func send(_ bytes: [UInt8]) -> Bool {
        withoutErrorQueue { SSL_write(session, bytes, Int32(bytes.count)) == bytes.count }
    }

    /// What comes next, at most so many bytes; empty at the end, after an error, and when the socket's time is over.
    public func receive(most: Int) -> [UInt8] {
        withoutErrorQueue {
            [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
                count = max(0, Int(SSL_read(session, buffer.baseAddress, Int32(most))))
            }
        }
    }
}
