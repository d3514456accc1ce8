import Gateway

/// The settings about HTTP, read and checked.
extension SettingsSource {
    /// Returns the origins of `--allow-origin` as browsers send them.
    func origins() throws(UsageError) -> Set<String> {
        var origins: Set<String> = []
        for text in try values("allow-origin") {
            do throws(WebOrigin.Fault) { origins.insert(try WebOrigin.configured(text)) } catch {
                throw UsageError(
                    "\(origin(of: "allow-origin")): must be a scheme, a host and perhaps a port, as in https://app.example.com (\(error.why)), not '\(text)'"
                )
            }
        }
        return origins
    }

    /// Returns the names of `--admin-host` as they are compared.
    func adminHosts() throws(UsageError) -> Set<String> {
        var names: Set<String> = []
        for text in try values("admin-host") {
            guard let name = AdminHosts.configured(text) else {
                throw UsageError(
                    "\(origin(of: "admin-host")): must be a host name without a port, as in metrics.example.com, not '\(text)'"
                )
            }
            names.insert(name)
        }
        return names
    }

    /// Returns the value of `--keep-alive`.
    func keepAliveSeconds() throws(UsageError) -> Int {
        let text = try value("keep-alive") ?? ""
        guard let seconds = Int(text), (1...3_600).contains(seconds) else {
            throw UsageError(
                "\(origin(of: "keep-alive")): must be a whole number of seconds from 1 to 3600, not '\(text)'"
            )
        }
        return seconds
    }
}
