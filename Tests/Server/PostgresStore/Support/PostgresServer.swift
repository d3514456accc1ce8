import CallPorts
import CallTesting
import Foundation
import Postgres
import PostgresStore
import Testing
import Threads

/// A temporary PostgreSQL server; several tests of a process share one.
final class PostgresServer: Sendable {
    struct Failure: Error {
        let reason: String
    }

    /// The server, which starts when a test first uses it, or the error with which the start failed.
    private static let shared = Result { try PostgresServer() }
    private static let sharedWithStandby = Result { try PostgresServer() }

    /// The port on 127.0.0.1.
    let port: UInt16
    /// The standard input of the script that runs the server.
    ///
    /// The pipe closes when this process ends, and then the script ends the server.
    private let lifeline = Pipe()
    private let output = Pipe()
    private static let schemas = Monitor(0)

    /// Starts a server with settings such as `fsync=off`; with `primary`, a standby of the server on that port.
    init(standbyOf primary: UInt16? = nil, _ settings: [String] = []) throws {
        port = try freePort()
        let folder = NSTemporaryDirectory() + "ringline-postgres-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let process = Process()
        process.executableURL = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "postgres")
        process.arguments = [folder, "\(port)"] + (primary.map { ["--standby-of", "\($0)"] } ?? []) + settings
        process.standardInput = lifeline
        process.standardOutput = output
        try process.run()
        try waitUntilReady()
    }

    /// Gives the script a command, and waits until it is carried out; see `Tests/postgres`.
    func carryOut(_ command: String) throws {
        lifeline.fileHandleForWriting.write(Data("\(command)\n".utf8))
        try waitUntilReady()
    }

    private func waitUntilReady() throws {
        guard String(decoding: output.fileHandleForReading.availableData, as: UTF8.self).hasPrefix("ready") else {
            throw Failure(reason: "PostgreSQL does not start; is the package postgresql installed?")
        }
    }

    /// Returns the server that most tests share.
    static func running() throws -> PostgresServer { try shared.get() }

    /// Returns a second server, for the tests that change settings of the whole server.
    static func withStandby() throws -> PostgresServer { try sharedWithStandby.get() }

    /// Returns the settings for a connection to a database of the server.
    ///
    /// `name` becomes the `application_name` of the connections, so that a test can have PostgreSQL close its own.
    func settings(
        port: UInt16? = nil,
        user: String = "ring",
        database: String = "postgres",
        name: String = "test"
    ) throws -> ConnectionSettings {
        let address = "postgres://\(user)@127.0.0.1:\(port ?? self.port)/\(database)"
        return try ConnectionSettings(url: "\(address)?sslmode=disable&gssencmode=disable&application_name=\(name)")
    }

    /// Returns options for a store in a schema that no other test uses.
    func options() throws -> StoreOptions {
        let number = Self.schemas.withLock { number in
            number += 1
            return number
        }
        let name = "case_\(ProcessInfo.processInfo.processIdentifier)_\(number)"
        var options = StoreOptions(try settings(name: name))
        options.schema = name
        options.leaseMilliseconds = 300
        return options
    }
}

/// Waits until a condition holds, for at most 20 seconds.
///
/// It asks again and again, because PostgreSQL reports no change of what its connections wait for.
func waitUntil(_ what: String, _ isSo: () throws -> Bool) throws {
    let deadline = ContinuousClock.now + .seconds(20)
    while .now < deadline {
        if try isSo() { return }
        usleep(2_000)
    }
    throw PostgresServer.Failure(reason: "waited in vain until \(what)")
}

/// A schema of a server that no other test uses.
final class TemporarySchema: StoreContract.Storage, Sendable {
    let options: StoreOptions

    init(on server: PostgresServer? = nil) throws {
        options = try (server ?? PostgresServer.running()).options()
    }

    func makeStore(report: @escaping @Sendable (StoreReport) -> Void) -> any CallStore {
        PostgresCallStore(options, report: report)
    }

    /// Returns a connection that finds the tables of the schema.
    func connection() throws -> Connection {
        let connection = try Connection(options.settings)
        try connection.execute(SQL("set schema", "SET search_path TO \(options.schema)"))
        return connection
    }

    /// Waits until a connection of the store waits for a lock.
    func waitUntilLocked() throws {
        let count = SQL(
            "waiting",
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE application_name = '\(options.schema)' AND wait_event_type = 'Lock'
            """
        )
        let connection = try connection()
        try waitUntil("a connection waits for a lock") { try connection.run(count).first?.int64(0) ?? 0 > 0 }
    }

    /// Runs SQL on a new connection that finds the tables of the schema.
    func execute(_ sql: String) throws { try connection().execute(SQL("test", sql)) }

    /// Has PostgreSQL close the connection on which the owner commits.
    func closeOwnersConnection() throws { try execute("SELECT pg_terminate_backend(backend::integer) FROM owner") }
}

extension TemporarySchema: ReaderContract.Storage {
    var version: Int { 7 }

    func makeReader() throws -> any StoreReader { try DatabaseReader(options) }

    func setVersion(_ version: Int) throws { try execute("UPDATE schema_version SET version = \(version)") }
}
