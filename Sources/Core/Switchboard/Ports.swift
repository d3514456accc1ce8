package import CallPorts

extension Switchboard {
    /// The ports that a switchboard asks while it decides; whatever else it needs, it puts out.
    package struct Ports {
        /// Issues the capabilities that pushes carry.
        let capabilities: any CapabilityIssuer
        /// Issues the credentials for the TURN server; `nil` = there is no TURN server.
        let turnCredentials: (any TURNCredentialIssuer)?
        /// Knows the rules of time zones; `nil` = there is no zone, and so no schedule.
        let timeZones: (any TimeZoneSource)?
        /// Explains calls to services; `nil` = their timelines have no verdict.
        let explainer: (any CallExplainer)?
        /// The source of random numbers: a simulator uses a seeded one.
        var random: any RandomNumberGenerator

        /// These ports; those that default to `nil` can be missing.
        package init(
            capabilities: any CapabilityIssuer,
            turnCredentials: (any TURNCredentialIssuer)? = nil,
            timeZones: (any TimeZoneSource)? = nil,
            explainer: (any CallExplainer)? = nil,
            random: any RandomNumberGenerator
        ) {
            self.capabilities = capabilities
            self.turnCredentials = turnCredentials
            self.timeZones = timeZones
            self.explainer = explainer
            self.random = random
        }
    }
}
