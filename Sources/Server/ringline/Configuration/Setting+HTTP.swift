extension Setting {
    /// The settings about HTTP itself.
    static let http: [Setting] = [
        Setting(
            name: "keep-alive",
            placeholder: "SECONDS",
            fallback: "75",
            meaning:
                "How long an idle HTTP connection is kept open, 1 to 3600; longer than a load balancer in front keeps its own."
        ),
        Setting(
            name: "admin-host",
            placeholder: "NAME",
            fallback: nil,
            meaning:
                "A name by which --admin-listen may be addressed, besides addresses, localhost, names without a dot and names of services in Kubernetes.",
            isRepeatable: true
        ),
    ]
}
