extension Setting {
    /// The table of all settings in Markdown, as the README has it: `ringline config --table` prints it.
    static var table: String {
        let head = ["option", "environment", "file key", "default", "meaning"]
        let rows =
            [head, head.map { _ in "---" }]
            + all.map { setting in
                [
                    code("--\(setting.name) \(setting.placeholder)"), code(setting.variable), code(setting.name),
                    setting.fallback.map(code) ?? "", escaped(setting.meaning),
                ]
            }
        return rows.map { "| " + $0.joined(separator: " | ") + " |\n" }.joined()
    }

    /// Text as code of a table's cell.
    private static func code(_ text: String) -> String { "`\(escaped(text))`" }

    /// A bar would end the cell, in code as well.
    private static func escaped(_ text: String) -> String {
        text.split(separator: "|", omittingEmptySubsequences: false).joined(separator: "\\|")
    }
}
