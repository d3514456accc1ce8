import Testing

@testable import ringline

@Suite("Environment variables that are not settings")
struct UnknownVariablesTests {
    private func warnings(_ environment: [String: String]) -> [String] {
        SettingsSource(environment: environment).unknownVariables()
    }

    @Test(
        "A misspelt variable causes a warning with the setting that is probably meant",
        arguments: [
            ("RINGLINE_RING_TIMOUT", "RINGLINE_RING_TIMEOUT"), ("RINGLINE_LISTN", "RINGLINE_LISTEN"),
            ("RINGLINE_JWT_SECRET", "RINGLINE_JWT_SECRET_FILE"), ("RINGLINE_TURN_URLS", "RINGLINE_TURN_URL"),
            ("RINGLINE_APNS_KEYID", "RINGLINE_APNS_KEY_ID"), ("RINGLINE_CONFG", "RINGLINE_CONFIG"),
        ]
    )
    func misspelt(_ name: String, _ meant: String) {
        #expect(warnings([name: "s3cret"]) == ["\(name) is ignored: unknown setting; did you mean \(meant)?"])
    }

    @Test("A variable unlike any setting gets no suggestion", arguments: ["RINGLINE_BANANA", "RINGLINE_PORT_NUMBER"])
    func unknown(_ name: String) {
        // Kubernetes sets variables with `_PORT_` in their names for each service.
        let wanted = name.contains("_PORT_") ? [] : ["\(name) is ignored: unknown setting"]
        #expect(warnings([name: "x"]) == wanted)
    }

    @Test("A variable of another command causes no warning")
    func token() { #expect(warnings(["RINGLINE_TOKEN": "x"]) == []) }

    @Test("Settings and variables of other programs cause no warning")
    func known() {
        let names = Setting.all.flatMap(\.names)
        let ours = Dictionary(uniqueKeysWithValues: names.map { (Setting.variable(of: $0), "x") })
        #expect(warnings(ours.merging(["RINGLINE_CONFIG": "x", "PATH": "x", "RINGLIN_DATA": "x"]) { $1 }).isEmpty)
        #expect(warnings(["RINGLINE_PORT": "tcp://10.0.0.1:80", "RINGLINE_ADMIN_SERVICE_HOST": "10.0.0.1"]).isEmpty)
        #expect(warnings(["RINGLINE_PORT": "8080"]).count == 1)
    }

    @Test("The distance of two names is the number of letters to change, add or remove")
    func distance() {
        #expect(MisspeltName.distance("kitten", "sitting") == 3)
        #expect(MisspeltName.distance("", "abc") == 3)
        #expect(MisspeltName.distance("abc", "abc") == 0)
    }
}
