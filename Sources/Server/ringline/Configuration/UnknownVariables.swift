extension SettingsSource {
    /// Returns a warning for every variable that is named like a setting but is not one.
    ///
    /// A misspelt variable would otherwise silently do nothing.
    ///
    /// The warning does not quote the value, which may be a secret.
    func unknownVariables() -> [String] {
        let known = Set(Setting.all.flatMap(\.names).map(Setting.variable) + ["RINGLINE_CONFIG"])
        return environment.sorted { $0.key < $1.key }.compactMap { name, value in
            guard name.hasPrefix("RINGLINE_"), !Self.ofOtherCommands.contains(name), !known.contains(name),
                !Self.isOfKubernetes(name, value)
            else { return nil }
            let wanted = (Setting.all.map(\.variable) + ["RINGLINE_CONFIG"]).sorted()
            guard let meant = MisspeltName(name, prefix: "RINGLINE_").nearest(of: wanted) else {
                return "\(name) is ignored: unknown setting"
            }
            return "\(name) is ignored: unknown setting; did you mean \(meant)?"
        }
    }

    /// The variables of commands that may be started with the same environment: `ringline call`, and `ringline demo` in
    /// the image.
    private static let ofOtherCommands: Set<String> = ["RINGLINE_TOKEN", DemoCommand.publishedVariable]

    /// Whether Kubernetes sets this variable, which it does in every container for a service whose name begins with
    /// `ringline`.
    private static func isOfKubernetes(_ name: String, _ value: String) -> Bool {
        name.contains("_SERVICE_HOST") || name.contains("_SERVICE_PORT") || name.contains("_PORT_")
            || name.hasSuffix("_PORT") && value.contains("://")
    }
}
