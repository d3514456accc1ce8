import Testing

@testable import ringline

/// Returns the text of the usage error that `body` throws; `nil` if `body` throws no error.
func usageError(_ body: () throws -> Void) -> String? {
    do {
        try body()
        return nil
    } catch { return (error as? UsageError)?.description ?? "another error" }
}

@Suite("A setting")
struct SettingsSourceTests {
    @Test("An option overrides the environment, which overrides the file, which overrides the default")
    func precedence() throws {
        var source = SettingsSource()
        #expect(try source[\.data] == "./data")
        source.file["data"] = "/file"
        #expect(try source[\.data] == "/file")
        source.environment["RINGLINE_DATA"] = "/environment"
        #expect(try source[\.data] == "/environment")
        source.flags["data"] = ["/flag"]
        #expect(try source[\.data] == "/flag")
    }

    @Test("An empty variable counts as unset")
    func empty() throws {
        let source = SettingsSource(environment: ["RINGLINE_DATA": ""], file: ["data": "/file"])
        #expect(try source[\.data] == "/file")
        #expect(try SettingsSource(environment: ["RINGLINE_DATA": ""])[\.data] == "./data")
    }

    @Test("An option that is given twice has its last value, unless its setting is repeatable")
    func twice() throws {
        let source = SettingsSource(flags: ["data": ["/a", "/b"], "stun-url": ["stun:a:1", "stun:b:2"]])
        #expect(try source[\.data] == "/b")
        #expect(source.texts(\.stunURL) == ["stun:a:1", "stun:b:2"])
    }

    @Test("Commas separate the values of a repeatable setting in the environment and the file, and only there")
    func commas() throws {
        let text = " https://a.example , https://b.example,, "
        for source in [
            SettingsSource(environment: ["RINGLINE_ALLOW_ORIGIN": text]), SettingsSource(file: ["allow-origin": text]),
        ] { #expect(source.texts(\.allowOrigin) == ["https://a.example", "https://b.example"]) }
        #expect(SettingsSource(flags: ["allow-origin": ["a,b"]]).texts(\.allowOrigin) == ["a,b"])
        #expect(SettingsSource(file: ["data": "a,b"]).texts(\.data) == ["a,b"])
        #expect(SettingsSource().texts(\.allowOrigin).isEmpty)
    }

    @Test("The refusal of a wrong value contains the name under which it was given")
    func origins() {
        let wrong = "soon"
        for (source, name) in [
            (SettingsSource(flags: ["ring-timeout": [wrong]]), "--ring-timeout"),
            (SettingsSource(environment: ["RINGLINE_RING_TIMEOUT": wrong]), "RINGLINE_RING_TIMEOUT"),
            (SettingsSource(file: ["ring-timeout": wrong]), "config: ring-timeout"),
            (
                SettingsSource(
                    flags: ["ring-timeout": [wrong]],
                    environment: ["RINGLINE_RING_TIMEOUT": "5"],
                    file: ["ring-timeout": "5"]
                ), "--ring-timeout"
            ),
            (
                SettingsSource(environment: ["RINGLINE_RING_TIMEOUT": wrong], file: ["ring-timeout": "5"]),
                "RINGLINE_RING_TIMEOUT"
            ),
        ] {
            let text = usageError { _ = try source[\.ringTimeout] }
            #expect(text?.hasPrefix("\(name): ") == true)
            #expect(text?.contains("'soon'") == true)
        }
    }

    @Test(
        "A setting in seconds takes any positive number",
        arguments: [("45", 45_000), ("0.25", 250), ("1e1", 10_000), ("0.0001", 1)]
    )
    func seconds(_ text: String, _ milliseconds: Int64) throws {
        let source = SettingsSource(flags: ["ring-timeout": [text]])
        #expect(try source[\.ringTimeout] == milliseconds)
    }

    @Test(
        "Other numbers of seconds are refused",
        arguments: ["", "0", "-1", "nan", "inf", "1s", " 5", "1,5", "1e99", "3601"]
    )
    func wrongSeconds(_ text: String) {
        let source = SettingsSource(flags: ["ring-timeout": [text]])
        #expect(usageError { _ = try source[\.ringTimeout] } != nil)
    }

    @Test("A setting with choices refuses any value that is not one of them")
    func choices() {
        for text in ["busy ", "Busy", "", "other"] {
            let source = SettingsSource(flags: ["busy-policy": [text]])
            let said = usageError { _ = try source[\.busyPolicy] }
            #expect(said == "--busy-policy: must be waiting, busy, not '\(text)'")
        }
    }
}

@Suite("An address to listen on")
struct ListenAddressTests {
    @Test(
        "localhost is an address of this machine; any other name is refused at the start",
        arguments: ["listen", "admin-listen"]
    )
    func names(_ setting: String) throws {
        func settings(_ text: String) throws -> ServeSettings {
            try ServeSettings(SettingsSource(flags: [setting: [text]]))
        }
        let settings1 = try settings("localhost:81")
        let local = setting == "listen" ? settings1.listen : settings1.admin
        #expect(local == ListenAddress(host: "127.0.0.1", port: 81))
        for host in ["calls.example.com", "eth0", "1.2.3", "999.1.1.1", "LOCALHOST.", "[fe80::1%eth0]"] {
            let said = usageError { _ = try settings("\(host):81") }
            #expect(said?.hasPrefix("--\(setting): must begin with an IP address") == true, "\(host)")
        }
    }

    @Test("Two listeners cannot have one address, and the error names the option")
    func same() {
        let flags = ["listen": ["127.0.0.1:9090"], "admin-listen": ["localhost:9090"]]
        let said = usageError { _ = try ServeSettings(SettingsSource(flags: flags)) }
        #expect(said == "--admin-listen: 127.0.0.1:9090 is also the address of --listen")
    }

    @Test(
        "One port is taken by one listener, also where an address stands for all",
        arguments: [
            ("0.0.0.0:81", "127.0.0.1:81", true), ("127.0.0.1:81", "0.0.0.0:81", true),
            ("[::]:81", "127.0.0.1:81", true), ("127.0.0.1:81", "[::]:81", true),
            ("0.0.0.0:81", "[::]:81", true), ("[0::1]:81", "[::1]:81", true),
            ("127.0.0.1:81", "[::1]:81", false), ("127.0.0.1:81", "127.0.0.2:81", false),
            ("[::1]:81", "0.0.0.0:81", false), ("0.0.0.0:0", "127.0.0.1:0", false), ("0.0.0.0:81", "0.0.0.0:82", false),
        ]
    )
    func overlaps(_ one: String, _ other: String, _ expected: Bool) throws {
        let source = SettingsSource(flags: ["listen": [one], "admin-listen": [other]])
        let said = usageError { _ = try ServeSettings(source) }
        #expect((said?.contains("is also the address of --listen") == true) == expected, "\(said ?? "")")
        var flags = ["admin-listen": [one], "node-listen": [other], "listen": ["127.0.0.1:0"]]
        flags["store"] = ["postgres://a@b/c"]
        let node = SettingsSource(flags: flags)
        let refusal = usageError { _ = try ServeSettings(node) }
        guard !other.hasSuffix(":0") else { return }
        #expect((refusal?.contains("is also the address of --admin-listen") == true) == expected, "\(refusal ?? "")")
    }

    @Test(
        "An address is a host and a port, with an IPv6 host in brackets",
        arguments: [
            ("127.0.0.1:8080", "127.0.0.1", 8080), ("0.0.0.0:0", "0.0.0.0", 0),
            ("localhost:65535", "localhost", 65_535),
            ("[::1]:8080", "::1", 8080), ("[::]:1", "::", 1), ("[fe80::1%eth0]:80", "fe80::1%eth0", 80),
        ]
    )
    func forms(_ text: String, _ host: String, _ port: Int) {
        #expect(ListenAddress(text)?.host == host)
        #expect(ListenAddress(text)?.port == port)
    }

    @Test(
        "Any other text is refused",
        arguments: [
            "", ":", ":80", "host", "host:", "80", "host:65536", "host:-1", "host:x", "::1:80", "[::1]", "[]:80",
            "host:80 ", "host:8 0", "[::1:80",
        ]
    )
    func refused(_ text: String) { #expect(ListenAddress(text) == nil) }
}

@Suite("A configuration file")
struct ConfigurationFileTests {
    private func parse(_ text: String) throws -> [String: String] { try ConfigurationFile.parse(text, path: "x.conf") }

    @Test("Each line has a name and a value; there may be comments, empty lines and quotes")
    func syntax() throws {
        let text = """
            # where
            listen = 0.0.0.0:80

              data="/var/lib/ring line"
            jwt-issuer = https://a.example/?a=b#c
            \tjwt-audience\t=\t"x
            stun-url =
            log-level = "info"
            """
        #expect(
            try parse(text) == [
                "listen": "0.0.0.0:80", "data": "/var/lib/ring line", "jwt-issuer": "https://a.example/?a=b#c",
                "jwt-audience": "\"x", "stun-url": "", "log-level": "info",
            ]
        )
        #expect(try parse("").isEmpty)
    }

    @Test("Lines may end as they do on Windows")
    func windows() throws {
        #expect(
            try parse("# x\r\nlisten = 0.0.0.0:80\r\n\r\ndata = \"d\"\r\n") == ["listen": "0.0.0.0:80", "data": "d"]
        )
        #expect(usageError { _ = try parse("listen = a:1\r\nnonsense\r\n") }?.contains("line 2") == true)
    }

    @Test("Lines of a repeatable setting add up, and socketio.trust-register is a setting's name too")
    func repeated() throws {
        let values = try parse("turn-url = turn:a.example\nturn-url = turn:b.example\nsocketio.trust-register = true")
        #expect(values["turn-url"] == "turn:a.example,turn:b.example")
        #expect(values["socketio-trust-register"] == "true")
        #expect(SettingsSource(file: values).texts(\.turnURL) == ["turn:a.example", "turn:b.example"])
    }

    @Test("An error contains the file, the line and the problem")
    func wrong() {
        #expect(
            usageError { _ = try parse("\n\nlisten 0.0.0.0:80") } == "config: x.conf, line 3: must be 'name = value'"
        )
        #expect(usageError { _ = try parse("# a\nlisen = b") } == "config: x.conf, line 2: unknown setting 'lisen'")
        #expect(
            usageError { _ = try parse("data = a\ndata = b") } == "config: x.conf, line 2: duplicate setting 'data'"
        )
        #expect(usageError { _ = try parse("= b") } == "config: x.conf, line 1: unknown setting ''")
    }

    @Test("A missing file is reported by its path")
    func missing() {
        #expect(
            usageError { _ = try ConfigurationFile.read("/nowhere/x.conf") }
                == "config: /nowhere/x.conf cannot be read: no such file or directory"
        )
    }
}
