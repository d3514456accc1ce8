import Glibc
import LibWebSockets
import Logging
import Threads

/// Loads a renewed certificate while the server runs: when told to, and when its files have changed.
///
/// One that cannot be used is complained about, and the one before goes on being served.
final class CertificateRenewal: Sendable {
    private let files: ServerConfiguration.TLS
    private let log: Logger
    private let seen: Locked<Seen>

    /// What tells one version of the two files from another.
    private struct Mark: Equatable {
        var numbers: [Int] = []
    }

    private struct Seen {
        /// When they were last loaded.
        var loaded: Mark
        /// What they have changed to, when that was noticed for the first time.
        var changed: Mark?
        /// Until when the served certificate is good, in seconds since 1970.
        var expiry: Int64?
    }

    /// Watches files that are about to be loaded for the first time by somebody else.
    ///
    /// - Parameters:
    ///   - files: certificate and key.
    ///   - log: where it says what it does.
    init(_ files: ServerConfiguration.TLS, _ log: Logger) {
        self.files = files
        self.log = log
        seen = Locked(Seen(loaded: Self.mark(of: files)))
        // A shell's `<(…)` can be read once only, by whoever serves it.
        guard [files.certificatePath, files.keyPath].allSatisfy(Self.isFile) else { return }
        // What is wrong with it is said by whoever serves it.
        if let certificate = try? ServerCertificate(files) { note(certificate) }
    }

    /// Until when the served certificate is good, in seconds since 1970.
    var expiry: Int64? { seen.withLock { $0.expiry } }

    /// Serving goes on with one that is over, for clients that do not mind; everybody else is turned away by it.
    private func note(_ certificate: ServerCertificate) {
        seen.withLock { $0.expiry = certificate.notAfterSeconds }
        guard certificate.notAfterSeconds <= SystemClock.wall() / 1_000 else { return }
        log.error("the certificate has expired: clients refuse it", metadata: ["tls.cert": "\(files.certificatePath)"])
    }

    /// Loads the files, changed or not; `take` gets the new certificate.
    func load(_ take: (ServerCertificate) -> Void) {
        let mark = Self.mark(of: files)
        seen.withLock { seen in (seen.loaded, seen.changed) = (mark, nil) }
        let names: Logger.Metadata = ["tls.cert": "\(files.certificatePath)", "tls.key": "\(files.keyPath)"]
        do {
            let certificate = try ServerCertificate(files)
            take(certificate)
            log.notice("the certificate was loaded; new connections get it", metadata: names)
            note(certificate)
        } catch {
            log.error(
                "the certificate cannot be used; the one before is served on",
                metadata: names.merging(["error": "\(error)"]) { $1 }
            )
        }
    }

    /// Loads the files if they have changed, and have then stood still from one call to the next: a certificate and its
    /// key are written one after the other.
    func look(_ take: (ServerCertificate) -> Void) {
        let mark = Self.mark(of: files)
        let isSettled = seen.withLock { seen in
            guard mark != seen.loaded else {
                seen.changed = nil
                return false
            }
            defer { seen.changed = mark }
            return seen.changed == mark
        }
        if isSettled { load(take) }
    }

    private static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Through symbolic links, as Kubernetes and certbot renew by putting a link in another place.
    private static func mark(of files: ServerConfiguration.TLS) -> Mark {
        var mark = Mark()
        for path in [files.certificatePath, files.keyPath] {
            var status = stat()
            guard stat(path, &status) == 0 else {
                mark.numbers.append(-1)
                continue
            }
            mark.numbers += [
                Int(truncatingIfNeeded: status.st_dev), Int(truncatingIfNeeded: status.st_ino), Int(status.st_size),
                status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
            ]
        }
        return mark
    }
}
