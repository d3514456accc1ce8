import ArgumentParser
import CallCore
import SQLiteStore
import Switchboard

/// Says why a call rang or did not, from the data folder of a running or stopped server.
struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Say why a call rang or did not: its ladder, and a verdict in plain words.",
        discussion: "Reads the data folder, whether its server runs or not. Shows no SDP and no addresses."
    )

    @Argument(help: "The call's name.") var callId: String
    @Option(help: "The server's data folder.") var data = "./data"
    @Option(help: "One of the call's two users, where others use the same callId.") var user: String?

    func run() throws {
        do throws(Complaint) { print(try explain(), terminator: "") } catch { throw error.shown() }
    }

    private func explain() throws(Complaint) -> String {
        guard let id = CallID(callId) else {
            throw Complaint("\(callId) is no callId: 1 to 128 of A–Z a–z 0–9 . _ : -")
        }
        var asker: UserID?
        if let user {
            guard let id = UserID(user) else { throw Complaint("--user must be 1 to 128 of A–Z a–z 0–9 . _ @ : + -") }
            asker = id
        }
        do throws(StoreFailure) {
            let reader = try SQLiteCallStore.reader(folder: data)
            guard let (record, events) = try reader.timeline(of: id, user: asker) else {
                throw StoreFailure("There is no call \(callId) in \(data).")
            }
            return Explanation(
                record: record,
                events: events,
                log: try reader.log(of: record.number),
                devices: try reader.devices(of: record.callee)
            ).text
        } catch {
            throw Complaint(error.message)
        }
    }
}
