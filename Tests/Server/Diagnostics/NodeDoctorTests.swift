import Glibc
import Testing

@testable import Diagnostics
@testable import ringline

@Suite("The doctor's findings about nodes")
struct NodeDoctorTests {
    private func node(version: String = "2", unseen: Int64 = 0) -> ListedNode {
        ListedNode(id: "n", address: "10.0.0.6:7070", version: version, unseen: unseen)
    }

    @Test("An address whose name does not resolve is an error")
    func address() {
        #expect(Rating.nodeAddress("a:1", fault: nil).grade == .ok)
        let found = Rating.nodeAddress("a:1", fault: "cannot resolve a")
        #expect(found.grade == .error && found.text.contains("cannot resolve a"))
    }

    @Test(
        "A port in use is right only if a living node of the list uses it",
        arguments: [
            (.free, true, .ok), (.free, nil, .ok), (.taken, true, .ok), (.taken, false, .error),
            (.taken, nil, .warning), (.impossible("x"), true, .error), (.forbidden, nil, .error),
        ] as [(NodeProbe.Listening, Bool?, Finding.Grade)]
    )
    func listening(_ listening: NodeProbe.Listening, _ isListed: Bool?, _ grade: Finding.Grade) {
        #expect(Rating.nodeListening(listening, "a:1", isListed: isListed).grade == grade)
    }

    @Test(
        "An address for clients is an error if nobody can listen there; a port in use may be the running server's",
        arguments: [
            (.free, nil), (.taken, nil), (.forbidden, .warning), (.impossible("x"), .error),
        ] as [(NodeProbe.Listening, Finding.Grade?)]
    )
    func clientListening(_ listening: NodeProbe.Listening, _ grade: Finding.Grade?) {
        let found = Rating.listening(listening, "a:1", option: "admin-listen")
        #expect(found?.grade == grade && found.map { $0.subject == "admin listen" } != false)
    }

    @Test("There are at most eight nodes", arguments: [(1, .ok), (8, .ok), (9, .error)] as [(Int, Finding.Grade)])
    func count(_ count: Int, _ grade: Finding.Grade) { #expect(Rating.nodeCount(count).grade == grade) }

    @Test("Settings that differ between running nodes are named, with the nodes")
    func settings() throws {
        func node(_ address: String, _ settings: [String: String], unseen: Int64 = 0) -> ListedNode {
            ListedNode(id: address, address: address, version: "1", unseen: unseen, settings: settings)
        }
        let same = ["ring-timeout": "a", "jwt-secret-file": "b"]
        #expect(Rating.nodeSettings([node("x:1", same)]) == nil)
        #expect(Rating.nodeSettings([node("x:1", same), node("y:1", [:])]) == nil, "an older node tells none")
        #expect(Rating.nodeSettings([node("x:1", same), node("y:1", same)])?.grade == .ok)
        let gone = node("z:1", ["ring-timeout": "q"], unseen: 9_000)
        #expect(Rating.nodeSettings([node("x:1", same), node("y:1", same), gone])?.grade == .ok)
        let other = node("z:1", ["ring-timeout": "c", "jwt-secret-file": "b"])
        let finding = try #require(Rating.nodeSettings([node("x:1", same), other, node("y:1", same)]))
        #expect(finding.grade == .error && finding.text.contains("ring-timeout (x:1, y:1 | z:1)"))
        #expect(!finding.text.contains("jwt-secret-file"))
    }

    @Test("Of a node that was killed and started again with other settings, only the newest entry counts")
    func startedAgain() throws {
        func node(_ id: String, _ address: String, _ digest: String, unseen: Int64 = 0) -> ListedNode {
            ListedNode(id: id, address: address, version: "1", unseen: unseen, settings: ["ring-timeout": digest])
        }
        let others = [node("a", "x:1", "new"), node("b", "y:1", "new")]
        #expect(Rating.nodeSettings(others + [node("c", "x:1", "old", unseen: 900)])?.grade == .ok)
        #expect(Rating.nodeSettings([others[0], node("c", "x:1", "old", unseen: 900)]) == nil)
    }

    @Test("The digests of settings differ with a value, and do not show it")
    func digests() {
        func digests(_ values: [String], secret: String = "s") -> String {
            SharedSetting.digests(of: [SharedSetting(name: "turn-url", values: values)], secret: Array(secret.utf8))
        }
        #expect(digests(["turn:a", "turn:b"]) == digests(["turn:a", "turn:b"]))
        #expect(digests(["turn:a"]) != digests(["turn:b"]))
        #expect(digests(["ab", "c"]) != digests(["a", "bc"]))
        #expect(digests([]) != digests([""]))
        #expect(digests(["turn:a"]) != digests(["turn:a"], secret: "t"))
        #expect(digests(["turn:a"]).hasPrefix("turn-url ") && digests(["turn:a"]).utf8.count == 20)
    }

    @Test("A setting's digest is that of the value that the server uses, however it is written")
    func digestOfValue() {
        func digests(_ arguments: [String: [String]]) -> String {
            SharedSetting.digests(of: SharedSetting.all(SettingsSource(flags: arguments)), secret: [1])
        }
        let same: [[String: [String]]] = [
            ["ring-timeout": ["60"]], ["ring-timeout": ["60.0"]], ["ring-timeout": ["6e1"]],
            ["ring-timeout": ["5", "60"]], ["ring-timeout": ["60"], "rings-per-pair": ["06"]],
        ]
        #expect(Set(same.map(digests)).count == 1)
        #expect(digests(["ring-timeout": ["60"]]) != digests(["ring-timeout": ["61"]]))
        #expect(digests(["allow-origin": ["a", "b"]]) == digests(["allow-origin": ["b", "a", "b"]]))
        #expect(digests(["allow-origin": ["a", "b"]]) != digests(["allow-origin": ["b"]]))
    }

    @Test("A newline at the end of a secret's file makes no difference")
    func digestOfFile() throws {
        func digest(_ content: String) throws -> String {
            let path = "/tmp/ringline-digest-\(getpid())"
            defer { unlink(path) }
            let file = try #require(fopen(path, "w"))
            fputs(content, file)
            fclose(file)
            return SharedSetting.digests(of: [SharedSetting(name: "jwt-secret-file", values: [path])], secret: [1])
        }
        #expect(try digest("secret") == digest("secret\n"))
        #expect(try digest("secret") != digest("other"))
    }

    @Test("Another node is an error if it runs and cannot be reached, and a warning if its version differs")
    func others() {
        func grade(_ node: ListedNode, _ fault: String?) -> Finding.Grade {
            Rating.node(node, fault: fault, ours: "2").grade
        }
        #expect(grade(node(), nil) == .ok)
        #expect(grade(node(version: "1"), nil) == .warning)
        #expect(grade(node(unseen: 5_000), "refused") == .error)
        #expect(grade(node(unseen: 5_001), "refused") == .warning)
        #expect(grade(node(unseen: 5_001), nil) == .warning)
        #expect(Rating.node(node(unseen: 61_000), fault: "refused", ours: "2").text.contains("61 s ago"))
    }

    @Test("A port is found free, then in use, and a connection to it is made only then")
    func probe() throws {
        let (host, port) = ("127.0.0.1", try freePort())
        #expect(NodeProbe.listening(host: host, port: port) == .free)
        #expect(NodeProbe.faultOfConnecting(host: host, port: port) != nil)
        let listener = try boundSocket(port)
        defer { close(listener) }
        #expect(listen(listener, 1) == 0)
        #expect(NodeProbe.listening(host: host, port: port) == .taken)
        #expect(NodeProbe.faultOfConnecting(host: host, port: port) == nil)
    }

    @Test("An address of another machine, and a name without an address, are found")
    func impossible() {
        // 192.0.2.1 is reserved for documents (RFC 5737), so no machine has it.
        #expect(
            NodeProbe.listening(host: "192.0.2.1", port: 7_070)
                == .impossible("192.0.2.1 is no address of this machine")
        )
        #expect(NodeProbe.faultOfName("127.0.0.1") == nil)
        #expect(NodeProbe.faultOfName("a name with blanks") == "cannot resolve a name with blanks")
    }

    private func freePort() throws -> Int {
        let socket = try boundSocket(0)
        defer { close(socket) }
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutableBytes(of: &address) { bytes in
            getsockname(socket, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size)
        }
        try #require(code == 0)
        return Int(UInt16(bigEndian: address.sin_port))
    }

    private func boundSocket(_ port: Int) throws -> Int32 {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let code = withUnsafeBytes(of: address) { bytes in
            bind(socket, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        try #require(code == 0)
        return socket
    }
}
