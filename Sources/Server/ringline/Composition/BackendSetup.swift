import Backend
import CallPorts
import Identity
import OutboundHTTP
import ServerLog
import Threads

/// The secrets of requests to the app's backend, from their file.
enum EventSecrets {
    /// Reads the file that a setting or an option names; the error names it.
    static func read(_ path: String, for setting: String) throws(UsageError) -> WebhookSecrets {
        let bytes = try Keys.read(path, for: setting)
        do throws(WebhookSecrets.Fault) { return try WebhookSecrets(file: bytes) } catch {
            throw UsageError(
                "--\(setting): \(SecretFile.shown(path)): \(error); make one with 'ringline events secret'"
            )
        }
    }
}

extension ServerApplication {
    /// Returns the configuration of requests to the app's backend; `nil` = there are none.
    private func backendConfiguration() throws(UsageError) -> BackendConfiguration? {
        guard let backend = settings.backend else { return nil }
        var configuration = BackendConfiguration(
            secrets: try EventSecrets.read(backend.secretFile, for: "events-secret-file"),
            version: Version.text
        ) { [clock] in clock.date() }
        configuration.caFile = backend.caFile
        return configuration
    }

    /// Creates the sender of events to the app's backend; `nil` = there is no endpoint.
    ///
    /// `report`: Called exactly once for each delivery, on a thread of the sender.
    func eventSender(
        _ log: ServerLog,
        report: @escaping @Sendable (DeliveryID, DeliveryResult) -> Void
    ) throws(UsageError) -> BackendEventSender? {
        guard settings.backend?.takesEvents == true, let configuration = try backendConfiguration() else { return nil }
        do throws(HTTPClientError) { return try BackendEventSender(configuration, log: log, report: report) } catch {
            throw UsageError("events cannot be sent: \(error)")
        }
    }
    /// Creates what asks the app's backend about calls; `nil` = nobody is asked.
    ///
    /// `report`: Called exactly once for each question, on a thread of the decider.
    func decider(
        _ log: ServerLog,
        report: @escaping @Sendable (DecisionID, DecisionResult) -> Void
    ) throws(UsageError) -> BackendDecider? {
        guard let url = settings.backend?.decideURL, let configuration = try backendConfiguration() else { return nil }
        do throws(HTTPClientError) {
            return try BackendDecider(configuration, url: url, log: log, report: report)
        } catch {
            throw UsageError("the app's backend cannot be asked: \(error)")
        }
    }
}

/// The senders of requests to the app's backend.
struct BackendClients {
    /// Sends events; `nil` = there is no endpoint.
    var events: BackendEventSender?
    /// Asks about calls; `nil` = nobody is asked.
    var decider: BackendDecider?

    /// Whether there is any.
    var isAny: Bool { events != nil || decider != nil }

    /// Signs with the secrets of these settings from now on.
    func useSecrets(of backend: ServeSettings.Backend) throws(UsageError) {
        let secrets = try EventSecrets.read(backend.secretFile, for: "events-secret-file")
        events?.use(secrets)
        decider?.use(secrets)
    }

    /// For each client, a function that runs a closure on its thread.
    var loopPosts: [LoopWatch.Post] {
        let events = self.events.map { events -> LoopWatch.Post in { events.onLoop($0) } }
        let decider = self.decider.map { decider -> LoopWatch.Post in { decider.onLoop($0) } }
        return [events, decider].compactMap { $0 }
    }

    /// Closes the connections of all clients at once.
    func shutdown() {
        events?.shutdown(limitMilliseconds: 0)
        decider?.shutdown(limitMilliseconds: 0)
    }
}
