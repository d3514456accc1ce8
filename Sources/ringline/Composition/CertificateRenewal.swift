import Glibc
import LibWebSockets
import Logging
import Synchronization

/// Loads a renewed certificate while the server runs: when told to, and when its files have changed.
///
/// One that cannot be used is complained about, and the one before goes on being served.
final class CertificateRenewal: Sendable {
    private let files: ServerConfiguration.TLS
    private let log: Logger
    private let take: @Sendable (ServerCertificate) -> Void
    private let seen: Mutex<Seen>

    /// What tells one version of the two files from another.
    private struct Mark: Equatable {
        var numbers: [Int] = []
    }

    private struct Seen {
        /// When they were last loaded.
        var loaded: Mark
        /// What they have changed to, when that was noticed for the first time.
        var changed: Mark?
    }

    /// Watches files that are about to be loaded for the first time by somebody else.
    ///
    /// - Parameters:
    ///   - files: certificate and key.
    ///   - log: where it says what it does.
    ///   - take: gets each new certificate, on the thread that called.
    init(
        _ files: ServerConfiguration.TLS,
        _ log: Logger,
        _ take: @escaping @Sendable (ServerCertificate) -> Void
    ) {
        self.files = files
        self.log = log
        self.take = take
        seen = Mutex(Seen(loaded: Self.mark(of: files)))
    }

    /// Loads the files, changed or not.
    func load() {
        let mark = Self.mark(of: files)
        seen.withLock { $0 = Seen(loaded: mark) }
        let names: Logger.Metadata = ["tls.cert": "\(files.certificatePath)", "tls.key": "\(files.keyPath)"]
        do {
            take(try ServerCertificate(files))
            log.notice("the certificate was loaded; new connections get it", metadata: names)
        } catch {
            log.error(
                "the certificate cannot be used; the one before is served on",
                metadata: names.merging(["error": "\(error)"]) { $1 }
            )
        }
    }

    /// Loads the files if they have changed, and have then stood still from one call to the next: a certificate and its
    /// key are written one after the other.
    func look() {
        let mark = Self.mark(of: files)
        let isSettled = seen.withLock { seen in
            guard mark != seen.loaded else {
                seen.changed = nil
                return false
            }
            defer { seen.changed = mark }
            return seen.changed == mark
        }
        if isSettled { load() }
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
