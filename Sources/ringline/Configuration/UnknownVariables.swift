extension SettingsSource {
    /// Returns a warning for every variable that is named like a setting but is not one.
    ///
    /// A misspelt variable would otherwise silently do nothing.
    ///
    /// The warning does not quote the value, which may be a secret.
    func unknownVariables() -> [String] {
        let known = Set(Setting.all.map(\.variable) + ["RINGLINE_CONFIG"])
        return environment.sorted { $0.key < $1.key }.compactMap { name, value in
            guard name.hasPrefix("RINGLINE_"), !Self.ofOtherCommands.contains(name), !known.contains(name),
                !Self.isOfKubernetes(name, value)
            else { return nil }
            guard let meant = Self.nearest(to: name, of: known.sorted()) else {
                return "\(name) is ignored: unknown setting"
            }
            return "\(name) is ignored: unknown setting; did you mean \(meant)?"
        }
    }

    /// The variables of commands that may be started with the same environment: `ringline call`, and `ringline demo` in
    /// the image.
    private static let ofOtherCommands: Set<String> = ["RINGLINE_TOKEN", DemoCommand.publishedVariable]

    /// Returns the setting that a misspelt name probably means.
    ///
    /// A setting that begins with the name comes first. Otherwise at most a third of the letters may be wrong; two
    /// wrong letters are always allowed.
    private static func nearest(to name: String, of known: [String]) -> String? {
        func best(_ names: [String]) -> (name: String, distance: Int)? {
            names.map { ($0, distance(name, $0)) }.min { $0.1 < $1.1 }
        }
        if let longer = best(known.filter { $0.hasPrefix(name) }) { return longer.name }
        let letters = name.utf8.count - "RINGLINE_".utf8.count
        return best(known).flatMap { $0.distance <= max(2, letters / 3) ? $0.name : nil }
    }

    /// Whether Kubernetes sets this variable, which it does in every container for a service whose name begins with
    /// `ringline`.
    private static func isOfKubernetes(_ name: String, _ value: String) -> Bool {
        name.contains("_SERVICE_HOST") || name.contains("_SERVICE_PORT") || name.contains("_PORT_")
            || name.hasSuffix("_PORT") && value.contains("://")
    }

    /// Returns how many letters to insert, remove or change to turn one name into the other (Levenshtein distance).
    static func distance(_ a: String, _ b: String) -> Int {
        let a = Array(a.utf8.prefix(128))
        let b = Array(b.utf8.prefix(128))
        var row = Array(0...b.count)
        for (i, x) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, y) in b.enumerated() {
                let change = diagonal + (x == y ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(change, diagonal + 1, row[j] + 1)
            }
        }
        return row[b.count]
    }
}
