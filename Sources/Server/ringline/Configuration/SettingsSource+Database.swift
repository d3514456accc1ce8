import Postgres

extension SettingsSource {
    /// Returns the PostgreSQL database of `store`; `nil` if the setting is not given.
    func database() throws(UsageError) -> ConnectionSettings? {
        guard let url = try value("store") else {
            guard try value("store-password-file") == nil else {
                throw UsageError("--store-password-file needs --store")
            }
            return nil
        }
        do throws(ConnectionSettings.Invalid) {
            let settings = try ConnectionSettings(url: url)
            // Other users of the machine can see the options of a process, and containers show its environment.
            guard !settings.hasPassword else {
                throw ConnectionSettings.Invalid(
                    reason: "it contains a password; use --store-password-file, and for TLS a key without one"
                )
            }
            return settings
        } catch {
            throw UsageError("\(origin(of: "store")): cannot be used: \(error.reason)")
        }
    }
}
