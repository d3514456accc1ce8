import ArgumentParser
import Switchboard
import Testing

@testable import ringline

@Suite("Settings under their former names")
struct FormerNameTests {
    private static let renamed = [
        ("kept-bytes-per-day", "stored-bytes-per-day"), ("max-connections", "max-tcp-connections"),
    ]

    /// The sources that give a name the value 7, with the name as a message shows it.
    private func sources(_ name: String) -> [(source: SettingsSource, label: String)] {
        let variable = "RINGLINE_" + name.uppercased().replacing("-", with: "_")
        return [
            (SettingsSource(flags: [name: ["7"]]), "--\(name)"),
            (SettingsSource(environment: [variable: "7"]), variable),
            (SettingsSource(file: [name: "7"]), "config: \(name)"),
        ]
    }

    @Test("These settings were renamed")
    func all() {
        let names = Setting.all.compactMap { setting in setting.formerName.map { ($0, setting.name) } }
        #expect(Dictionary(uniqueKeysWithValues: names) == Dictionary(uniqueKeysWithValues: Self.renamed))
    }

    @Test("A value under the former name counts, from each source, with one warning", arguments: renamed)
    func accepted(_ former: String, _ new: String) throws {
        for ((source, label), (_, newLabel)) in zip(sources(former), sources(new)) {
            #expect(source.texts(of: try #require(Setting.named(new))) == ["7"])
            #expect(
                try ServeSettings(source).warnings == [
                    "\(label) is the old name of \(newLabel), and goes in the next release"
                ]
            )
        }
        for (source, _) in sources(new) { #expect(try ServeSettings(source).warnings.isEmpty) }
    }

    @Test("Both names are refused, whichever sources give them, and the error has both", arguments: renamed)
    func both(_ former: String, _ new: String) {
        for (one, oneLabel) in sources(former) {
            for (other, otherLabel) in sources(new) {
                let source = SettingsSource(
                    flags: one.flags.merging(other.flags) { $1 },
                    environment: one.environment.merging(other.environment) { $1 },
                    file: one.file.merging(other.file) { $1 }
                )
                let said = usageError { _ = try ServeSettings(source) }
                #expect(said == "\(otherLabel) and \(oneLabel) are two names of one setting: give only the first")
            }
        }
    }

    @Test("Under the former name too, an option overrides a variable, which overrides the file")
    func precedence() throws {
        var source = SettingsSource(file: ["kept-bytes-per-day": "1"])
        #expect(try source[\.storedBytesPerDay] == 1)
        source.environment["RINGLINE_KEPT_BYTES_PER_DAY"] = "2"
        #expect(try source[\.storedBytesPerDay] == 2)
        source.flags["kept-bytes-per-day"] = ["3"]
        #expect(try source[\.storedBytesPerDay] == 3)
    }

    @Test("A wrong value is refused under the name by which it was given", arguments: renamed)
    func refused(_ former: String, _ new: String) {
        let source = SettingsSource(environment: [Setting.variable(of: former): "much"])
        #expect(usageError { _ = try ServeSettings(source) }?.hasPrefix("\(Setting.variable(of: former)): ") == true)
    }

    @Test("A file has a former name, and not the same name twice", arguments: renamed)
    func file(_ former: String, _ new: String) throws {
        #expect(try ConfigurationFile.parse("\(former) = 5", path: "f") == [former: "5"])
        let said = usageError { _ = try ConfigurationFile.parse("\(former) = 5\n\(former) = 6", path: "f") }
        #expect(said == "config: f, line 2: duplicate setting '\(former)'")
    }

    @Test("A reload knows the former name, and refuses both")
    func reload() throws {
        let options = try ServeCommand.parse(["--kept-bytes-per-day", "4096"]).options
        let read = options.reading
        #expect(try read().policy.storedBytesPerDay == 4_096)
        #expect(try read().policy.storedBytesPerDay == 4_096)
        let both = try ServeCommand.parse(["--kept-bytes-per-day", "1", "--stored-bytes-per-day", "1"]).options.reading
        #expect(usageError { _ = try both() }?.contains("two names") == true)
    }

    @Test(
        "`--help` and the table have only the new name, and the configuration of `ringline init` too",
        arguments: renamed
    )
    func shown(_ former: String, _ new: String) {
        for text in [ServeCommand.helpMessage(columns: 200), Setting.table, Setting.file([:])] {
            #expect(text.contains(new) && !text.contains(former))
        }
    }

    @Test("The list of nodes has a digest under the former name, which nodes of the earlier release compare")
    func digest() {
        func digests(_ name: String) -> String {
            SharedSetting.digests(of: SharedSetting.all(SettingsSource(flags: [name: ["7"]])), secret: [1])
        }
        #expect(digests("kept-bytes-per-day") == digests("stored-bytes-per-day"))
        #expect(digests("stored-bytes-per-day").contains("\nkept-bytes-per-day "))
        #expect(!digests("stored-bytes-per-day").contains("stored-bytes-per-day"))
    }
}
