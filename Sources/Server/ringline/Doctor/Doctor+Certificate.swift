import Crypto
import Diagnostics
import LibWebSockets

extension Doctor {
    /// Checks the server's certificate, its key and its chain, and loads them as the server does.
    func certificate() -> [Finding] {
        let subject = "TLS certificate"
        guard let tls = settings.tls else {
            return [
                .warning(
                    subject,
                    "not configured: clients connect without TLS",
                    fix: "give --tls-cert and --tls-key, or put a proxy with TLS in front"
                )
            ]
        }
        let files = TLSFiles(tls: tls)
        let certificate: Certificate
        do throws(UsageError) { certificate = try files.certificate() } catch {
            return [.error(subject, error.description, fix: "give a PEM chain with the server's own certificate first")]
        }
        do throws(UsageError) {
            guard try files.fits(certificate) else {
                let fix = "give the key that the certificate was issued for"
                return [.error(subject, files.mismatch.description, fix: fix)]
            }
        } catch { return [.error(subject, error.description, fix: "give the key in PEM, without a passphrase")] }
        if let refusal = Self.refusal(of: tls) { return [refusal] }
        let times = (certificate.notBeforeSeconds, certificate.notAfterSeconds)
        return [Rating.certificate(from: times.0, until: times.1, at: now / 1_000)]
            + (certificate.chainFault.map { [Self.finding($0)] } ?? [])
            + certificate.issuers.compactMap { issuer in
                let times = (issuer.notBeforeSeconds, issuer.notAfterSeconds)
                return Rating.issuer(issuer.number, from: times.0, until: times.1, at: now / 1_000)
            }
    }

    /// Loads both files as the server does; returns an error if the server would not start with them.
    ///
    /// The other checks read keys that have lost their line ends, too, and OpenSSL does not.
    private static func refusal(of tls: ServerConfiguration.TLS) -> Finding? {
        // A pipe can be read only once, and has been read.
        guard CertificateRenewal.isFile(tls.certificatePath), CertificateRenewal.isFile(tls.keyPath) else { return nil }
        let fix = "give both files in PEM with all their line ends, and with a key of RSA 2048 or P-256 at least"
        do throws(ServerError) { _ = try ServerCertificate(tls) } catch {
            guard case .badCertificate(_, let reason) = error else {
                return .error("TLS certificate", error.description, fix: fix)
            }
            return .error("TLS certificate", TLSFiles(tls: tls).refusal(reason).description, fix: fix)
        }
        return nil
    }

    private static func finding(_ fault: ChainFault) -> Finding {
        let fix = "give the whole chain, such as certbot's fullchain.pem"
        switch fault {
        case .missing(let issuer, of: let number):
            let text =
                number == 1
                ? "the file has no certificate of its issuer, \(issuer)"
                : "certificate \(number) of the file was issued by \(issuer), which is neither in the file nor among this "
                    + "machine's roots"
            return .warning("TLS certificate", "\(text): devices refuse the connection unless they have it", fix: fix)
        case .unrelated(let number, let subject, let issuer):
            let text = "certificate \(number) of the file is not that of \(issuer), which issued certificate \(subject)"
            return .warning(
                "TLS certificate",
                "\(text): devices refuse the connection unless they have it",
                fix: "\(fix): each certificate is issued by the next one"
            )
        }
    }
}
