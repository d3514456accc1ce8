import LibWebSockets
import Testing

@testable import ringline

@Suite("The texts of commands")
struct CommandTextTests {
    @Test("The version names the commit that the build id contains")
    func version() {
        let commit = [UInt8](repeating: 0xAB, count: 20)
        let mark = Array("ringline".utf8)
        #expect(Version.described(buildID: mark + commit + [0]) == "ringline \(Version.text) (commit abababababab)")
        #expect(Version.described(buildID: mark + commit + [1]).hasSuffix("(commit abababababab, with changes)"))
        for other in [[], commit, mark + [0], mark + commit, Array("ringlike".utf8) + commit + [0]] {
            #expect(Version.described(buildID: other).hasSuffix("(commit unknown: built without one)"))
        }
    }

    @Test(
        "A server's address may be that of its pages, and needs no path",
        arguments: [
            ("ws://a:1/ws", "ws://a:1/ws"), ("http://a:1", "ws://a:1/ws"), ("https://a", "wss://a:443/ws"),
            ("https://a/", "wss://a:443/ws"), ("a:1", "ws://a:1/ws"), ("a", "ws://a:80/ws"),
            ("WSS://a/calls/ws", "wss://a:443/calls/ws"), ("http://[::1]:8080/?x=1", "ws://[::1]:8080/ws?x=1"),
        ]
    )
    func address(_ given: String, _ url: String) throws {
        #expect(try ServerAddress(given).target.url == url)
    }

    @Test("Only another address than the given one is converted")
    func converted() throws {
        #expect(try !ServerAddress("ws://a:1/ws").isConverted)
        #expect(try ServerAddress("http://a:1/ws").isConverted && ServerAddress("ws://a:1").isConverted)
    }

    @Test("What is no address is refused", arguments: ["", "ftp://a/ws", "ws://", "ws://a:0/ws", "ws://a b/ws"])
    func noAddress(_ given: String) {
        #expect(throws: UsageError.self) { try ServerAddress(given) }
    }

    @Test("Lines are broken between words, and what follows is indented")
    func column() {
        let column = TextColumn(width: 10, indent: 2)
        #expect(column.fit("one two three four") == "one two\n  three\n  four")
        #expect(column.fit("one\n\ntwo") == "one\n\ntwo")
        #expect(column.fit("    indented text") == "    indented\n  text")
        #expect(column.fit("a verylongwordthatisnotbroken b") == "a\n  verylongwordthatisnotbroken\n  b")
        #expect(column.fit("exactly 10") == "exactly 10")
    }

    @Test("The configuration file of 'ringline init' gives what it is to give, and names every setting")
    func file() throws {
        let values = ["listen": "0.0.0.0:8080", "data": "/var/lib/ringline"]
        let text = Setting.file(values)
        #expect(try ConfigurationFile.parse(text, path: "file") == values)
        let lines = text.split(separator: "\n")
        for setting in Setting.all {
            let line = "\(setting.name) = "
            #expect(lines.filter { $0.hasPrefix(line) || $0.hasPrefix("# \(line)") }.count == 1, "\(setting.name)")
        }
        #expect(lines.allSatisfy { $0.hasPrefix("#") || values[String($0.prefix { $0 != " " })] != nil })
    }
}
