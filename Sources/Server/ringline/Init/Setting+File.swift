extension Setting {
    /// Returns the text of a configuration file with all settings: those of `values` are given, the others are comments
    /// with their defaults.
    static func file(_ values: [String: String]) -> String {
        let column = TextColumn(width: 78, indent: 0)
        let head = """
            # Ringline's settings: 'ringline serve --config FILE' reads this file.
            #
            # A line such as '# lease = 3' shows a default, or the form of a value: to change it,
            # remove the #. A variable such as RINGLINE_LISTEN overrides this file, and an option
            # such as --listen overrides both. 'ringline config --config FILE' prints what is in
            # use, 'ringline doctor --config FILE' checks it.

            """
        let entries = all.map { setting in
            let repeated = setting.isRepeatable ? " Several values are separated by commas." : ""
            let meaning = column.fit("\(setting.meaning)\(repeated)").split(separator: "\n").map { "# \($0)\n" }
            let value = values[setting.name]
            let line = "\(setting.name) = \(value ?? setting.fallback ?? setting.placeholder)"
            return meaning.joined() + (value == nil ? "# " : "") + line + "\n"
        }
        return head + "\n" + entries.joined(separator: "\n")
    }
}
