extension Setting {
    /// The table of all settings in Markdown, as the page Settings has it: `ringline config --table` prints it.
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

    /// Formats text as code for a table cell.
    private static func code(_ text: String) -> String { "`\(escaped(text))`" }

    /// Escapes vertical bars, each of which would end the cell, even within code.
    private static func escaped(_ text: String) -> String {
        text.split(separator: "|", omittingEmptySubsequences: false).joined(separator: "\\|")
    }
}
