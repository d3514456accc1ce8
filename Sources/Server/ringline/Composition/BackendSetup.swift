import Backend
import CallPorts
import Identity
import OutboundHTTP
import ServerLog
import Threads

/// The secrets of events for the app's backend, from their file.
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
    /// Returns the configuration of the sender of events; `nil` = there is no endpoint.
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
        guard let configuration = try backendConfiguration() else { return nil }
        do throws(HTTPClientError) { return try BackendEventSender(configuration, log: log, report: report) } catch {
            throw UsageError("events cannot be sent: \(error)")
        }
    }
}

extension BackendEventSender {
    /// Signs with the secrets of these settings from now on.
    func useSecrets(of backend: ServeSettings.Backend) throws(UsageError) {
        use(try EventSecrets.read(backend.secretFile, for: "events-secret-file"))
    }
}
