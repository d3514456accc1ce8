import ArgumentParser
import CallCore
import CallPorts
import CallWire
import Foundation
import LibWebSockets
import Switchboard
import Testing

@testable import ringline

@Suite("The options of serve")
struct ServeOptionTests {
    private func options() -> Set<String> {
        var names: Set<String> = []
        for word in ServeCommand.helpMessage(columns: 200).split(whereSeparator: { " []<>\n,;|".contains($0) })
        where word.hasPrefix("--") { names.insert(String(word.dropFirst(2))) }
        return names.subtracting(["config", "help", "version"])
    }

    @Test("There is an option for each setting in `Setting.all`, and no other")
    func table() {
        // `options()` also finds the options that sentences of the help mention. They are options of settings, too.
        #expect(options().subtracting(["trust-register"]) == Set(Setting.all.map(\.name)))
        let names = Setting.all.flatMap(\.names)
        #expect(Set(names).count == names.count)
        #expect(Set(names.map(Setting.variable)).count == names.count)
    }

    @Test("The value of an option is kept under its name, old or new", arguments: Setting.all.flatMap(\.names))
    func reach(_ name: String) throws {
        let command = try ServeCommand.parse(["--\(name)", "value-of-it"])
        #expect(command.options.flags.filter { !$0.value.isEmpty } == [name: ["value-of-it"]])
    }

    @Test("`--trust-register` is a short form of `--socketio-trust-register`, and the long form takes precedence")
    func short() throws {
        #expect(try ServeCommand.parse(["--trust-register"]).options.flags["socketio-trust-register"] == ["true"])
        let both = try ServeCommand.parse(["--trust-register", "--socketio-trust-register", "false"])
        #expect(both.options.flags["socketio-trust-register"] == ["false"])
    }

    @Test("A repeatable option keeps all its values", arguments: Setting.all.filter(\.isRepeatable).map(\.name))
    func repeated(_ name: String) throws {
        #expect(try ServeCommand.parse(["--\(name)", "a", "--\(name)", "b"]).options.flags[name] == ["a", "b"])
    }

    @Test("A variable's name is in capitals with underscores")
    func variables() {
        #expect(Setting.named("apns-key-id")?.variable == "RINGLINE_APNS_KEY_ID")
        #expect(Setting.named("nonsense") == nil)
    }

    @Test("The commands that take the options of `serve` find the same values")
    func group() throws {
        let arguments = ["--listen", "a", "--stun-url", "b", "--stun-url", "c", "--config", "d", "--trust-register"]
        let options = try ServeCommand.parse(arguments).options
        #expect(options.config == "d" && options.flags["stun-url"] == ["b", "c"])
        #expect(try ConfigCommand.parse(arguments).options.flags == options.flags)
        #expect(try DoctorCommand.parse(arguments).options.flags == options.flags)
    }

    @Test("A row of the table is found under the name of its setting")
    func rows() {
        let names = Mirror(reflecting: Setting.rows).children.map { $0.label?.lowercased() }
        #expect(names == Setting.inHelp.map { $0.name.replacing("-", with: "") })
        #expect(Set(Setting.inHelp.map(\.name)) == Set(Setting.all.map(\.name)))
    }

    @Test("An unknown option is refused")
    func unknown() { #expect(throws: (any Error).self) { try ServeCommand.parse(["--nonsense", "x"]) } }
}

@Suite("The settings of serve")
struct ServeSettingsTests {
    private func settings(_ file: [String: String] = [:]) throws -> ServeSettings {
        try ServeSettings(SettingsSource(file: file))
    }

    @Test("A password file that is empty, not UTF-8 or has a zero byte is refused under the name of its setting")
    func passwordFile() throws {
        let path = "\(NSTemporaryDirectory())ringline-password-\(getpid())"
        defer { unlink(path) }
        for bytes in [[], [0x0A], [0x70, 0xFF], [0x70, 0x00, 0x71]] as [[UInt8]] {
            try Data(bytes).write(to: URL(filePath: path))
            do throws(UsageError) {
                _ = try Keys.text(path, for: "store-password-file")
                Issue.record("\(bytes) was accepted")
            } catch { #expect("\(error)".contains("--store-password-file: \(path) ")) }
        }
        try Data("pass w\u{F6}rd\n".utf8).write(to: URL(filePath: path))
        #expect(try Keys.text(path, for: "store-password-file") == "pass w\u{F6}rd")
    }

    @Test("Settings that are not given have the documented defaults, and the policy has the protocol's defaults")
    func defaults() throws {
        let settings = try settings()
        #expect(settings.listen == ListenAddress("127.0.0.1:8080"))
        #expect(settings.admin == ListenAddress("127.0.0.1:9090"))
        #expect(settings.data == "./data" && !settings.isInMemory)
        #expect(settings.jwtRequireExpiry)
        #expect(settings.apns == nil && settings.tls == nil && settings.maxConnections == nil)
        #expect(settings.allowedOrigins.isEmpty)
        let policy = Policy()
        #expect(settings.policy.ringTimeout == policy.ringTimeout)
        #expect(settings.policy.probeTimeout == policy.probeTimeout)
        #expect(settings.policy.grace == policy.grace)
        #expect(settings.policy.whenBusy == .waiting)
        #expect(settings.policy.callerName == .any)
        #expect(settings.policy.apnsEnvironment == nil)
        #expect(settings.policy.iceServers == Array("[]".utf8))
        #expect(settings.logLevel == "info" && !settings.logsJSON)
    }

    @Test("The given values are used")
    func given() throws {
        let settings = try settings([
            "admin-listen": "none", "data": ":memory:", "ring-timeout": "20", "probe-timeout": "0.5",
            "disconnect-grace": "3", "busy-policy": "busy", "apns-environment": "sandbox", "max-tcp-connections": "7",
            "loops": "4", "trusted-proxy": "10.0.0.0/8, ::1", "rings-per-pair": "0", "rings-per-callee": "12",
            "directory-numbers": "7",
            "stun-url": "stun:a:1,stun:b:2", "jwt-require-expiry": "false", "log-format": "json", "allow-origin": "*",
        ])
        #expect(settings.admin == nil && settings.isInMemory && !settings.jwtRequireExpiry && settings.logsJSON)
        #expect(settings.loops == 4)
        #expect(settings.policy.ringTimeout == .seconds(20))
        #expect(settings.policy.probeTimeout == .milliseconds(500))
        #expect(settings.policy.grace == .seconds(3))
        #expect(settings.policy.whenBusy == .busy)
        #expect(settings.policy.apnsEnvironment == .sandbox)
        #expect(settings.policy.iceServers == Array(#"[{"urls":["stun:a:1","stun:b:2"]}]"#.utf8))
        #expect(settings.maxConnections == 7)
        #expect(settings.trustedProxies == [AddressRange("10.0.0.0/8"), AddressRange("::1")].compactMap { $0 })
        #expect(settings.policy.directoryNumbers == 7)
        #expect(settings.policy.ringsPerPair == 0 && settings.policy.ringsPerCallee == 12)
        #expect(settings.allowedOrigins == ["*"])
    }

    @Test(
        "Settings that belong together are refused if one of them is missing",
        arguments: [
            ["apns-key-file": "a"], ["apns-key-id": "a", "apns-team-id": "b"],
            ["apns-key-file": "a", "apns-key-id": "b"],
            ["tls-cert": "a"], ["tls-key": "a"],
            ["turn-url": "turn:a"], ["turn-secret-file": "a"],
        ]
    )
    func together(_ file: [String: String]) {
        #expect(usageError { _ = try settings(file) }?.contains("must be given together") == true)
    }

    @Test("The settings for pushes contain both of Apple's endpoints")
    func apns() throws {
        let apns = try settings(["apns-key-file": "k", "apns-key-id": "i", "apns-team-id": "t"]).apns
        #expect(apns?.sandbox == "https://api.sandbox.push.apple.com")
        #expect(apns?.production == "https://api.push.apple.com")
    }

    @Test("The settings for TURN contain its servers' URLs, and credentials are valid for a day by default")
    func turn() throws {
        let file = ["turn-secret-file": "s", "turn-url": "turn:a:1?transport=udp, stun:b,turns:[::1]:2"]
        #expect(
            try settings(file).turn
                == .init(
                    secretFile: "s",
                    urls: ["turn:a:1?transport=udp", "stun:b", "turns:[::1]:2"],
                    ttlSeconds: 86_400
                )
        )
        #expect(try settings(file.merging(["turn-ttl": "0.5"]) { $1 }).turn?.ttlSeconds == 1)
        #expect(try settings().turn == nil)
        #expect(
            usageError { _ = try settings(["turn-secret-file": "s", "turn-url": "stun:b"]) }?.contains("turn:") == true
        )
    }

    @Test(
        "A wrong value is refused with the name of its setting",
        arguments: [
            "listen", "admin-listen", "ring-timeout", "probe-timeout", "disconnect-grace", "busy-policy",
            "caller-name", "apns-environment", "max-tcp-connections", "loops", "jwt-require-expiry", "stun-url",
            "turn-url",
            "turn-ttl", "trusted-proxy", "rings-per-pair", "rings-per-callee",
            "directory-numbers",
            "log-level", "log-format", "node-listen", "lease", "allow-origin", "keep-alive",
        ]
    )
    func wrong(_ name: String) {
        let text = usageError { _ = try settings([name: "nonsense"]) }
        #expect(text?.hasPrefix("config: \(name): must be ") == true)
        #expect(text?.hasSuffix("not 'nonsense'") == true)
    }

    @Test("payload-alias gives each app its keys")
    func aliases() throws {
        var wanted = PayloadAliases()
        try wanted.add("data.id", for: "callId")
        try wanted.add("UUID", for: "callUUID")
        #expect(
            try settings(["payload-alias": "a.b:data.id=callId, a.b:UUID=callUUID,c:n=epoch"]).policy.payloadAliases[
                "a.b"
            ]
                == wanted
        )
    }

    @Test(
        "A wrong payload-alias is refused with its text and the reason",
        arguments: [
            ("a.b", "must be BUNDLE:KEY=MEMBER"), (":k=epoch", "must be BUNDLE:KEY=MEMBER"),
            ("a.b:k=offer", "must name one of type, "),
            ("a.b:aps.x=epoch", "must not begin with aps"), ("a.b:k=epoch,a.b:k=room", "repeats another key"),
        ]
    )
    func wrongAlias(_ text: String, _ reason: String) {
        let error = usageError { _ = try settings(["payload-alias": text]) }
        #expect(error?.hasPrefix("config: payload-alias: ") == true)
        #expect(error?.contains(reason) == true)
    }

    @Test("max-tcp-connections must be a whole number from 1", arguments: ["0", "-1", "1.5", ""])
    func connections(_ text: String) { #expect(usageError { _ = try settings(["max-tcp-connections": text]) } != nil) }

    @Test("keep-alive must be a whole number from 1 to 3600", arguments: ["0", "3601", "-1", "1.5", ""])
    func keepAlive(_ text: String) { #expect(usageError { _ = try settings(["keep-alive": text]) } != nil) }

    @Test("allow-origin means what a browser sends, and what no browser sends is refused with the reason")
    func origins() throws {
        let text = "https://App.example.com/, https://app.example.com:443,http://localhost:5173"
        let origins = try settings(["allow-origin": text]).allowedOrigins
        #expect(origins == ["https://app.example.com", "http://localhost:5173"])
        for wrong in ["https://*.example.com", "null", "https://app.example.com/path", "https://me@app.example.com"] {
            let text = usageError { _ = try settings(["allow-origin": "https://a.example,\(wrong)"]) }
            #expect(text?.hasSuffix(", not '\(wrong)'") == true)
        }
        #expect(try settings([:]).keepAliveSeconds == 75)
    }

    @Test("admin-host is a name without a port")
    func adminHosts() throws {
        #expect(
            try settings(["admin-host": "Metrics.example.com, b.example."]).adminHosts == [
                "metrics.example.com", "b.example",
            ]
        )
        for wrong in ["a.example:9090", "https://a.example", "a b"] {
            #expect(usageError { _ = try settings(["admin-host": wrong]) } != nil)
        }
    }

    @Test("loops must be a whole number from 1 to 16", arguments: ["0", "17", "-1", "1.5", ""])
    func loops(_ text: String) { #expect(usageError { _ = try settings(["loops": text]) } != nil) }
}

@Suite("The value of a token's --ttl")
struct TokenTTLTests {
    @Test(
        "The value is a number of seconds, minutes, hours or days",
        arguments: [("90s", 90), ("30m", 1_800), ("12h", 43_200), ("7d", 604_800), ("90", 90), ("3650d", 315_360_000)]
    )
    func forms(_ text: String, _ seconds: Int64) { #expect(TokenCommand.seconds(text) == seconds) }

    @Test(
        "Any other value is refused",
        arguments: ["", "h", "0s", "-1h", "1.5h", "1w", "12 h", "h12", "1hh", "99999999999999999999", "3651d"]
    )
    func refused(_ text: String) { #expect(TokenCommand.seconds(text) == nil) }
}
