import Testing

@testable import ringline

@Suite("The settings of one node of several")
struct NodeSettingsTests {
    private let store = ["store": "postgres://u@h/d"]

    private func settings(_ file: [String: String]) throws -> ServeSettings {
        try ServeSettings(SettingsSource(file: file.merging(store) { given, _ in given }))
    }

    @Test("Without node-listen a server is not one node of several, and its lease lasts 3 s")
    func alone() throws {
        let settings = try settings([:])
        #expect(settings.nodes == nil && settings.leaseMilliseconds == 3_000)
        #expect(try ServeSettings(SettingsSource()).nodes == nil)
    }

    @Test("With node-listen the address is that of node-listen, unless node-address names another one")
    func addresses() throws {
        let listen = ["node-listen": "10.0.0.5:7070", "lease": "1.5"]
        let nodes = try #require(try settings(listen).nodes)
        #expect(nodes.listen == ListenAddress("10.0.0.5:7070") && nodes.address == nodes.listen)
        #expect(nodes.leaseMilliseconds == 1_500)
        #expect(nodes.leaseMilliseconds == (try settings(listen)).leaseMilliseconds)
        let other = try settings(listen.merging(["node-address": "node-1.internal:7443"]) { $1 }).nodes
        #expect(other?.address == ListenAddress("node-1.internal:7443") && other?.listen == nodes.listen)
    }

    @Test(
        "A node that listens on all addresses is reached under the machine's host name",
        arguments: ["0.0.0.0", "[::]"]
    )
    func hostName(_ host: String) throws {
        let nodes = try #require(try settings(["node-listen": "\(host):7070"]).nodes)
        #expect(nodes.address.port == 7_070 && !["0.0.0.0", "::", ""].contains(nodes.address.host))
    }

    @Test("An address is written as it is read", arguments: ["a.example:1", "[::1]:65535", "10.0.0.5:7070"])
    func text(_ text: String) { #expect(ListenAddress(text)?.text == text) }

    @Test("node-listen and lease are refused without store, and node-address without node-listen")
    func missing() {
        func error(_ file: [String: String]) -> String? {
            usageError { _ = try ServeSettings(SettingsSource(file: file)) }
        }
        #expect(error(["node-listen": "10.0.0.5:7070"])?.hasPrefix("config: node-listen: needs --store") == true)
        #expect(error(["lease": "5"]) == "config: lease: needs --store")
        #expect(error(["lease": "3"]) == "config: lease: needs --store")
        for file in [store, [:]] {
            let file = file.merging(["node-address": "a:1"]) { $1 }
            #expect(error(file) == "config: node-address: needs --node-listen")
        }
        let inMemory = ["node-listen": "10.0.0.5:7070", "data": ":memory:"].merging(store) { $1 }
        #expect(error(inMemory)?.contains("--data :memory:") == true)
    }

    @Test(
        "An address without a port that others can use is refused with the name of its setting",
        arguments: ["node-listen", "node-address"],
        ["a", "a:0", "a:65536", ":7070", "::1:7070", "a b:7070", "a\u{7}:7070", ""]
    )
    func wrongAddress(_ name: String, _ text: String) {
        let file = ["node-listen": "10.0.0.5:7070"].merging([name: text]) { $1 }
        let found = usageError { _ = try settings(file) }
        #expect(found == "config: \(name): must be HOST:PORT with a port from 1, as in 10.0.0.5:7070, not '\(text)'")
    }

    @Test("node-address must not stand for all addresses", arguments: ["0.0.0.0:7070", "[::]:7070"])
    func wildcard(_ text: String) {
        let found = usageError { _ = try settings(["node-listen": "10.0.0.5:7070", "node-address": text]) }
        #expect(found?.hasPrefix("config: node-address: must be an address") == true)
        #expect(found?.hasSuffix("not '\(text)'") == true)
    }

    @Test("lease must be from 1 to 60 s", arguments: ["0", "0.9", "60.1", "-3", "nan", "inf", "3s", ""])
    func lease(_ text: String) {
        let found = usageError { _ = try settings(["lease": text]) }
        #expect(found == "config: lease: must be a number of seconds from 1 to 60, not '\(text)'")
    }
}
