import Crypto
import Identity
import LibWebSockets

/// The files of a certificate and its key, read to tell what is wrong with them.
///
/// OpenSSL, which reads them for the server, names neither the file at fault nor what it is instead.
struct TLSFiles {
    let tls: ServerConfiguration.TLS

    /// Reads the certificate.
    func certificate() throws(UsageError) -> Certificate {
        let pem = String(decoding: try Keys.read(tls.certificatePath, for: "tls-cert"), as: UTF8.self)
        do throws(KeyError) { return try Certificate(pem: pem) } catch {
            throw UsageError("--tls-cert \(tls.certificatePath): \(error)")
        }
    }

    /// Returns whether the key is that of the certificate.
    func fits(_ certificate: Certificate) throws(UsageError) -> Bool {
        let pem = String(decoding: try Keys.read(tls.keyPath, for: "tls-key"), as: UTF8.self)
        do throws(KeyError) { return try certificate.fits(privateKey: pem) } catch {
            throw UsageError("--tls-key \(tls.keyPath): \(error)")
        }
    }

    /// The key belongs to another certificate.
    var mismatch: UsageError {
        UsageError("--tls-key \(tls.keyPath) is not the key of --tls-cert \(tls.certificatePath)")
    }

    /// Returns why OpenSSL did not accept the files: what is wrong with one of them, or else OpenSSL's own `reason`.
    func refusal(_ reason: String) -> UsageError {
        // A pipe can be read only once, and has been read.
        if CertificateRenewal.isFile(tls.certificatePath), CertificateRenewal.isFile(tls.keyPath) {
            do throws(UsageError) { if try !fits(try certificate()) { return mismatch } } catch { return error }
        }
        return UsageError(
            "--tls-cert \(tls.certificatePath), --tls-key \(tls.keyPath): cannot be used together: \(reason)"
        )
    }
}
