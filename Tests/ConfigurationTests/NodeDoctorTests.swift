import Glibc
import Testing

@testable import Diagnostics

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
            (.taken, nil, .warning), (.impossible("x"), true, .error),
        ] as [(NodeProbe.Listening, Bool?, Finding.Grade)]
    )
    func listening(_ listening: NodeProbe.Listening, _ isListed: Bool?, _ grade: Finding.Grade) {
        #expect(Rating.nodeListening(listening, "a:1", isListed: isListed).grade == grade)
    }

    @Test("There are at most eight nodes", arguments: [(1, .ok), (8, .ok), (9, .error)] as [(Int, Finding.Grade)])
    func count(_ count: Int, _ grade: Finding.Grade) { #expect(Rating.nodeCount(count).grade == grade) }

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
