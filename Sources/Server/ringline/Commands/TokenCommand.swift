import ArgumentParser
import CallCore
import CallPorts
import Glibc
import Identity
import SQLiteStore
import Threads

/// Prints a token signed with a data folder's development key.
struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Print a token signed with the data folder's development key.",
        usage: "ringline token --user <user> [<options>]",
        discussion: """
            For development: in production your own backend issues tokens.

            Example: ringline token --user 11 --name Taro --ttl 12h --data ./data
            """
    )

    @Option(help: ArgumentHelp("The server's data folder.", valueName: "folder")) var data = DataFolderSetup.standard
    @Flag(help: "Make the development key if the folder has none; a server makes it at its first start.")
    var create = false
    @Option(help: ArgumentHelp("Sign with this HS256 secret instead.", valueName: "file")) var jwtSecretFile: String?
    @Option(help: "The user id, claim sub.") var user: String
    @Option(help: "The user's display name.") var name: String?
    @Option(help: "The device id, claim device.") var device: String?
    @Option(parsing: .singleValue, help: "A group room that the user may enter; repeatable.") var room: [String] = []
    @Flag(help: "Make a service token, which may act for any user.") var service = false
    @Option(help: "How long the token is valid, such as 90s, 30m, 12h or 7d.") var ttl = "12h"

    func run() throws {
        do {
            guard let id = UserID(user) else {
                throw UsageError("--user must be \(CallCore.Limits.identifierForm)")
            }
            if let device, DeviceID(device) == nil {
                throw UsageError("--device must be \(CallCore.Limits.identifierForm)")
            }
            guard let seconds = Self.seconds(ttl) else {
                throw UsageError("--ttl must be like 90s, 30m, 12h or 7d, and at most 3650d")
            }
            let secret = try secret()
            if jwtSecretFile == nil { CommandTrace("token", id).write(in: data) }
            print(
                TokenIssuer(secret: secret).issue(
                    user: user,
                    name: name,
                    device: device,
                    rooms: room,
                    service: service,
                    ttlSeconds: seconds,
                    now: SystemClock.wall() / 1_000
                )
            )
        } catch let usageError as UsageError {
            throw usageError.shown()
        }
    }

    private func secret() throws(UsageError) -> [UInt8] {
        do {
            if let jwtSecretFile { return try SecretFile.read(jwtSecretFile) }
            // A folder that is missing is most likely misspelt, and a token signed with a key in it would be of no use.
            guard create || access(data, F_OK) == 0 || errno != ENOENT else { throw missingKey }
            let folder = try create ? OperatorFolder(making: data) : OperatorFolder(data)
            return try folder.act { () throws(StoreFailure) in
                guard try folder.hasFile(DevelopmentKey.fileName) || create else { throw missingKey }
                do throws(SecretFileError) { return try DevelopmentKey.loadOrCreate(inFolder: folder.path) } catch {
                    throw StoreFailure(error.description)
                }
            }
        } catch let failure as StoreFailure {
            throw UsageError(failure.message)
        } catch {
            throw UsageError("\(error)")
        }
    }

    private var missingKey: StoreFailure {
        StoreFailure(
            "\(data) has no development key: 'ringline serve' makes it at its first start, --create makes it now; a server "
                + "with another key (--jwt-secret-file, --jwks-url …) takes only tokens signed with that key"
        )
    }

    /// The longest `--ttl` that this command accepts: ten years, in seconds.
    private static let longestSeconds: Int64 = 3_650 * 86_400

    /// Parses a duration, a number followed by `s`, `m`, `h` or `d` (no unit: seconds), and returns its seconds.
    ///
    /// Returns `nil` if it is longer than `longestSeconds`.
    static func seconds(_ text: String) -> Int64? {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
        guard let last = text.last else { return nil }
        let unit = units[last]
        guard let count = Int64(unit == nil ? text[...] : text.dropLast()), count > 0 else { return nil }
        let (seconds, overflows) = count.multipliedReportingOverflow(by: unit ?? 1)
        return overflows || seconds > longestSeconds ? nil : seconds
    }
}
