import Backend
import CallPorts
import Diagnostics
import Glibc
import Identity
import SQLiteStore

/// A check of a start that changes nothing: `serve` makes each before it touches anything, and `doctor` reports each.
///
/// So what `serve` refuses for one of these reasons, `doctor` names. The other reasons have findings of their own there.
struct StartCheck {
    /// The subject of the check, as the doctor names it.
    let subject: String
    /// What to do when the check fails.
    let fix: String
    /// Makes the check; returns what is well, in words, or `nil` if there is nothing to say.
    let run: @Sendable (ServeSettings) throws(UsageError) -> String?

    /// All checks, in the order in which a start makes them.
    static let all: [StartCheck] = [
        StartCheck(
            subject: "audit log",
            fix: "name a file in a folder that belongs to the user that runs ringline"
        ) { settings throws(UsageError) in try AuditLog.check(settings.auditLog) },
        StartCheck(
            subject: "server's keys",
            fix: "restore the file from a backup, or remove it: the server makes another one"
        ) { settings throws(UsageError) in try checkOwnKeys(settings) },
        StartCheck(
            subject: "certificate authorities",
            fix: "give the certificates of the authorities in PEM"
        ) { settings throws(UsageError) in
            let files =
                [("jwks-ca-file", settings.jwks?.caFile), ("events-ca-file", settings.backend?.caFile)]
                + PushSetup.all.map { $0.authorities(settings) }
            for case (let setting, let path?) in files {
                try ServerApplication.checkAuthorities(path, for: setting)
            }
            return nil
        },
        StartCheck(
            subject: "VAPID key",
            fix: "create its folder, owned by the user that runs ringline"
        ) { settings throws(UsageError) in try checkPlaceOfVAPIDKey(settings) },
        StartCheck(
            subject: "events' secret",
            fix: "make one with 'ringline events secret', and give your backend the same"
        ) { settings throws(UsageError) in
            guard let backend = settings.backend else { return nil }
            let count = try EventSecrets.read(backend.secretFile, for: "events-secret-file").all.count
            return count == 1 ? "one secret signs" : "two secrets sign, while one is replaced"
        },
        StartCheck(
            subject: "operators' page",
            fix: "run Sources/Clients/RinglineJS/build, and name the folder that it makes"
        ) { settings throws(UsageError) in try CallsPage.check(settings) },
    ]

    /// Makes all checks; throws the error of the first that fails.
    static func require(_ settings: ServeSettings) throws(UsageError) {
        for check in all { _ = try check.run(settings) }
    }

    /// Reads the keys that a server has made in its folder, as the folder's owner, who runs the server.
    private static func checkOwnKeys(_ settings: ServeSettings) throws(UsageError) -> String? {
        // A problem with the folder itself has an error of its own.
        guard !settings.isInMemory, let folder = try? OperatorFolder(settings.data) else { return nil }
        let usesDevelopmentKey = !TokenKeys.namesKeys(settings)
        // A folder whose owner this process cannot act as is told by the check of the folder.
        let fault = try? folder.act { () throws(StoreFailure) -> UsageError? in
            do throws(UsageError) {
                try CapabilityKeys.check(inFolder: folder.path)
                if usesDevelopmentKey { try checkDevelopmentKey(inFolder: folder.path) }
                return nil
            } catch { return error }
        }
        if let fault { throw fault }
        return nil
    }

    private static func checkDevelopmentKey(inFolder folder: String) throws(UsageError) {
        let path = "\(folder)/\(DevelopmentKey.fileName)"
        guard access(path, F_OK) == 0 else { return }
        do throws(SecretFileError) { _ = try SecretFile.read(path) } catch { throw UsageError(error.description) }
    }

    /// Checks that the key's file can be made if it is missing; the data folder has a check of its own.
    private static func checkPlaceOfVAPIDKey(_ settings: ServeSettings) throws(UsageError) -> String? {
        guard let web = settings.webPush, web.makesKey, access(web.keyFile, F_OK) != 0 else { return nil }
        let slash = web.keyFile.lastIndex(of: "/")
        let folder = slash.map { String(web.keyFile[..<$0]) } ?? "."
        guard folder != settings.data else { return nil }
        if let error = FileAccess.writeError(in: folder.isEmpty ? "/" : folder) {
            throw UsageError("--vapid-key-file: \(SecretFileError.cannot("create", web.keyFile, error))")
        }
        return nil
    }
}
