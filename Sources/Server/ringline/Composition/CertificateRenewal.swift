import Glibc
import LibWebSockets
import ServerLog
import Threads

/// Loads a renewed TLS certificate while the server runs: on request, and when its files have changed.
///
/// If a certificate cannot be used, an error is logged and the server continues to serve the previous one.
final class CertificateRenewal: Sendable {
    private let files: ServerConfiguration.TLS
    private let log: ServerLog
    private let seen: Monitor<Seen>

    /// A fingerprint of one version of the two files, from their metadata.
    private struct FileState: Equatable {
        var numbers: [Int] = []
    }

    private struct Seen {
        /// The version that was last loaded.
        var loaded: FileState
        /// A newer version that was seen once and is not loaded yet.
        var changed: FileState?
        /// The expiry of the served certificate, in seconds since 1970.
        var expiry: Int64?
    }

    /// Watches files that the gateway is about to load for the first time.
    ///
    /// - Parameters:
    ///   - files: the certificate and its key.
    ///   - log: the logger for loads and failures.
    /// - Throws: `UsageError` if they cannot be used.
    init(_ files: ServerConfiguration.TLS, _ log: ServerLog) throws(UsageError) {
        try Self.requireFiles(files)
        self.files = files
        self.log = log
        seen = Monitor(Seen(loaded: Self.fileState(of: files)))
        // A pipe, such as a shell's `<(…)`, can be read only once, and the gateway has to read it.
        guard [files.certificatePath, files.keyPath].allSatisfy(Self.isFile) else { return }
        // If the gateway loaded a key with a passphrase first, OpenSSL would ask for it at the terminal.
        do throws(ServerError) { note(try ServerCertificate(files)) } catch {
            guard case .badCertificate(_, let reason) = error else { throw UsageError(error.description) }
            throw TLSFiles(tls: files).refusal(reason)
        }
    }

    /// The expiry of the served certificate, in seconds since 1970.
    var expiry: Int64? { seen.withLock { $0.expiry } }

    /// Records the expiry, and logs an error if the certificate has expired.
    ///
    /// An expired certificate is still served, because some clients accept it; all others refuse it.
    private func note(_ certificate: ServerCertificate) {
        seen.withLock { $0.expiry = certificate.notAfterSeconds }
        guard certificate.notAfterSeconds <= SystemClock.wall() / 1_000 else { return }
        log.error("the certificate has expired: clients refuse it", [.certificate(OperatorText(files.certificatePath))])
    }

    /// Loads the files, changed or not, and passes the new certificate to `take`.
    func load(_ take: (ServerCertificate) -> Void) {
        let state = Self.fileState(of: files)
        seen.withLock { seen in (seen.loaded, seen.changed) = (state, nil) }
        let names: [LogField] = [
            .certificate(OperatorText(files.certificatePath)), .certificateKey(OperatorText(files.keyPath)),
        ]
        do {
            try Self.requireFiles(files)
            let certificate = try ServerCertificate(files)
            take(certificate)
            log.notice("the certificate was loaded; new connections get it", names)
            note(certificate)
        } catch {
            var why = "\(error)"
            if case ServerError.badCertificate(_, let reason) = error {
                why = TLSFiles(tls: files).refusal(reason).description
            }
            log.error(
                "the certificate cannot be used; the previous one stays in use",
                names + [.error(about: OperatorText(why))]
            )
        }
    }

    /// Loads the files if they have changed since the last load, but not since the previous call of this function.
    ///
    /// A certificate and its key are written one after the other, so a change must have settled.
    func reloadIfChanged(_ take: (ServerCertificate) -> Void) {
        let state = Self.fileState(of: files)
        let isSettled = seen.withLock { seen in
            guard state != seen.loaded else {
                seen.changed = nil
                return false
            }
            defer { seen.changed = state }
            return seen.changed == state
        }
        if isSettled { load(take) }
    }

    private static func requireFiles(_ files: ServerConfiguration.TLS) throws(UsageError) {
        try Keys.requireFile(files.certificatePath, for: "tls-cert")
        try Keys.requireFile(files.keyPath, for: "tls-key")
    }

    /// Whether a path names a regular file, which can be read again and again.
    static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Returns a fingerprint of the files, following symbolic links: Kubernetes and certbot renew by redirecting a
    /// link.
    private static func fileState(of files: ServerConfiguration.TLS) -> FileState {
        var state = FileState()
        for path in [files.certificatePath, files.keyPath] {
            var status = stat()
            guard stat(path, &status) == 0 else {
                state.numbers.append(-1)
                continue
            }
            state.numbers += [
                Int(truncatingIfNeeded: status.st_dev), Int(truncatingIfNeeded: status.st_ino), Int(status.st_size),
                status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
            ]
        }
        return state
    }
}
