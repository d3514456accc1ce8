import ArgumentParser
import Testing

@testable import ringline

@Suite("The options that name a server's records")
struct RecordsOptionsTests {
    private func place(_ options: [String], _ environment: [String: String] = [:]) throws -> String {
        try RecordsOptions.parse(options).place(environment: environment).shown
    }

    private func complaint(_ options: [String], _ environment: [String: String] = [:]) throws -> String {
        do { return "no complaint: \(try place(options, environment))" } catch let error as UsageError {
            return error.description
        }
    }

    private let variables = ["RINGLINE_STORE": "postgres://u@h/variable"]

    @Test("An option precedes the variables, and a database precedes the default folder")
    func precedence() throws {
        #expect(try place(["--data", "x"]) == "x")
        #expect(try place(["--data", "x"], variables) == "x")
        #expect(try place([], variables) == "postgres://h/variable")
        #expect(try place(["--store", "postgres://u@h/option"], variables) == "postgres://h/option")
        #expect(try place([], ["RINGLINE_STORE": ""]) == "./data")
    }

    @Test("A password file comes from an option, or from its variable")
    func passwordFile() throws {
        let environment = variables.merging(["RINGLINE_STORE_PASSWORD_FILE": "/p"]) { $1 }
        for (options, file) in [([], "/p"), (["--store-password-file", "/q"], "/q")] as [([String], String)] {
            guard case .database(_, let found) = try RecordsOptions.parse(options).place(environment: environment)
            else {
                Issue.record("a folder")
                continue
            }
            #expect(found == file)
        }
        // With --data, the variables name nothing that is needed.
        #expect(try place(["--data", "x"], environment) == "x")
    }

    @Test("What cannot be meant together is refused, and no password is shown")
    func refused() throws {
        let both = try complaint(["--data", "x", "--store", "postgres://u@h/d"])
        #expect(both.contains("--data") && both.contains("--store"))
        #expect(try complaint(["--store-password-file", "/p"]) == "--store-password-file needs --store")
        #expect(try complaint(["--data", "x", "--store-password-file", "/p"]) == "--store-password-file needs --store")
        let secret = try complaint([], ["RINGLINE_STORE": "postgres://u:hunter2@h/d"])
        #expect(secret.hasPrefix("RINGLINE_STORE: cannot be used") && !secret.contains("hunter2"))
    }

    @Test("Backup and restore refuse to guess a folder where a variable names a database")
    func folders() throws {
        #expect(try DataFolderSetup.holdingDatabase("x", environment: variables) == "x")
        #expect(try DataFolderSetup.holdingDatabase(nil, environment: ["RINGLINE_STORE": ""]) == "./data")
        #expect(throws: UsageError.self) { try DataFolderSetup.holdingDatabase(nil, environment: variables) }
    }
}
