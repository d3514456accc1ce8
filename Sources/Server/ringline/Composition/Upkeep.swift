import Gateway
import ServerLog
import Threads

/// What the thread that handles signals does each second and on SIGHUP: the clock, the certificate, the command files,
/// the keys and the audit log.
struct Upkeep: Sendable {
    let parts: ServerParts
    let log: ServerLog
    private let keyRenewal: KeyRenewal
    private let commandFolder: CommandFolder?
    private let clock: ServerClock
    private weak let gateway: Gateway?

    init(
        _ parts: ServerParts,
        _ keyRenewal: KeyRenewal,
        _ commandFolder: CommandFolder?,
        _ clock: ServerClock,
        _ gateway: Gateway,
        _ log: ServerLog
    ) {
        self.parts = parts
        self.keyRenewal = keyRenewal
        self.commandFolder = commandFolder
        self.clock = clock
        self.gateway = gateway
        self.log = log
    }

    /// Carries out the command files of the data folder.
    func scanCommands() {
        commandFolder?.scan(reportingCommands: { parts.audit.record($0, by: $1) }) {
            gateway?.carryOut($0, done: $1)
        }
    }

    /// Does what is due; called once a second.
    func tick() {
        for event in clock.takeEvents() { gateway?.clockReported(event) }
        parts.renewal?.reloadIfChanged { gateway?.serve($0) }
        gateway?.renewTickets()
        scanCommands()
        keyRenewal.tick()
        parts.keySetFetcher?.tick()
        parts.audit.tick()
        log.writeSums()
    }

    /// Reads the certificate and all keys again, and opens the audit log's file again; called on SIGHUP.
    func reload() {
        if parts.renewal?.load({ gateway?.serve($0) }) == nil {
            log.notice("SIGHUP: no certificate is configured")
        }
        keyRenewal.load()
        do throws(UsageError) { try parts.audit.reopen() } catch {
            log.error(
                "the audit log cannot be reopened; the previous file stays in use",
                [.error(about: OperatorText("\(error)"))]
            )
        }
    }
}
