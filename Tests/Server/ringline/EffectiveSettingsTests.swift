import Testing

@testable import ringline

@Suite("The effective configuration")
struct EffectiveSettingsTests {
    private func line(_ name: String, _ source: SettingsSource) throws -> [Substring] {
        let lines = source.effective().split(separator: "\n").map { $0.split(separator: " ") }
        return try #require(lines.first { $0.first == Substring(name) })
    }

    @Test("There is a line for every setting")
    func everySetting() {
        let lines = SettingsSource().effective().split(separator: "\n")
        #expect(lines.dropFirst().map { $0.prefix { $0 != " " } } == Setting.all.map { Substring($0.name) })
    }

    @Test("The source of each value is shown: option, variable, file or default")
    func provenance() throws {
        var source = SettingsSource()
        #expect(try line("data", source) == ["data", "./data", "default"])
        #expect(try line("tls-cert", source) == ["tls-cert", "-"])
        source.file["data"] = "/file"
        #expect(try line("data", source) == ["data", "/file", "file"])
        source.environment["RINGLINE_DATA"] = "/variable"
        #expect(try line("data", source) == ["data", "/variable", "variable", "RINGLINE_DATA"])
        source.flags["data"] = ["/flag"]
        #expect(try line("data", source) == ["data", "/flag", "option", "--data"])
    }

    @Test("The old name under which a value is given is shown")
    func formerName() throws {
        let name = "stored-bytes-per-day"
        var source = SettingsSource(file: ["kept-bytes-per-day": "1"])
        #expect(try line(name, source) == ["stored-bytes-per-day", "1", "file,", "as", "kept-bytes-per-day"])
        source.environment["RINGLINE_KEPT_BYTES_PER_DAY"] = "2"
        #expect(try line(name, source).suffix(3) == ["2", "variable", "RINGLINE_KEPT_BYTES_PER_DAY"])
        source.flags["kept-bytes-per-day"] = ["3"]
        #expect(try line(name, source).suffix(3) == ["3", "option", "--kept-bytes-per-day"])
    }

    @Test("All values of a repeatable setting are shown")
    func repeated() throws {
        let source = SettingsSource(flags: ["stun-url": ["stun:a:1", "stun:b:2"]])
        #expect(try line("stun-url", source)[1] == "stun:a:1,stun:b:2")
    }

    @Test(
        "A secret that was given in place of its file is never shown",
        arguments: ["jwt-secret-file", "apns-key-file", "tls-key", "turn-secret-file"]
    )
    func masked(_ name: String) {
        for source in [
            SettingsSource(flags: [name: ["hunter2"]]), SettingsSource(file: [name: "hunter2"]),
            SettingsSource(environment: ["RINGLINE_" + name.uppercased().replacing("-", with: "_"): "hunter2"]),
        ] {
            let text = source.effective()
            #expect(!text.contains("hunter2") && text.contains("******"))
        }
        #expect(SettingsSource(flags: [name: ["/dev/null"]]).effective().contains("/dev/null"))
        // A path is shown even if it does not exist, because the operator may have mistyped it.
        let missing = SettingsSource(flags: [name: ["/usr/none/secret"]]).effective()
        #expect(missing.contains("/usr/none/secret (no such file)"))
    }
}

@Suite("A table in the terminal")
struct TextTableTests {
    @Test("Columns are as wide as their widest cell, and lines do not end in blanks")
    func columns() {
        let table = TextTable(["A", "LONGER", "C"], [["wide cell", "b", ""], ["山", "", "c"]])
        #expect(table.text == "A          LONGER  C\nwide cell  b\n山                 c\n")
    }

    @Test("Control characters are replaced")
    func controls() {
        #expect(TextTable(["A"], [["a\u{1B}[2Jb\nc\u{202E}"]]).text == "A\na\\u{1b}[2Jb\\u{a}c\\u{202e}\n")
    }
}
