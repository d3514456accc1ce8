import ArgumentParser
import FoundationEssentials
import Glibc

/// Asks a server on this machine whether it is well: for containers, which have no curl.
struct HealthCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Ask a running server whether it is healthy; exit 0 when it is."
    )

    @Option(help: "The admin listener, http://HOST:PORT.") var admin: String?
    @Flag(help: "Ask whether it is ready to serve, and not only alive.") var ready = false

    func run() throws {
        do {
            let text =
                admin ?? ProcessInfo.processInfo.environment["RINGLINE_ADMIN_LISTEN"].map { "http://\($0)" }
                ?? "http://127.0.0.1:9090"
            guard text.hasPrefix("http://"), let address = ListenAddress(String(text.dropFirst(7).prefix { $0 != "/" }))
            else { throw Complaint("--admin must be http://HOST:PORT, not '\(text)'") }
            let answer = try HealthQuestion(address).ask(ready ? "/readyz" : "/healthz")
            print(answer.body)
            guard answer.status == 200 else { throw ExitCode(1) }
        } catch let complaint as Complaint {
            throw complaint.shown()
        }
    }
}

/// One plain HTTP request to the admin listener.
struct HealthQuestion {
    let address: ListenAddress

    init(_ address: ListenAddress) { self.address = address }

    func ask(_ path: String) throws(Complaint) -> (status: Int, body: String) {
        let socket = try connect()
        defer { close(socket) }
        let request = Array("GET \(path) HTTP/1.1\r\nHost: \(address.host)\r\nConnection: close\r\n\r\n".utf8)
        guard send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else { throw silent }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while answer.count < 65_536 {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count <= 0 { break }
            answer += buffer.prefix(count)
            if let whole = Self.parse(answer) { return whole }
        }
        throw silent
    }

    private var silent: Complaint { Complaint("no answer from http://\(address.host):\(address.port)") }

    private func connect() throws(Complaint) -> Int32 {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(address.host, String(address.port), &hints, &list) == 0, let first = list else {
            throw Complaint("\(address.host) is no host")
        }
        defer { freeaddrinfo(list) }
        let socket = Glibc.socket(first.pointee.ai_family, first.pointee.ai_socktype, 0)
        var limit = timeval(tv_sec: 3, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard socket >= 0, Glibc.connect(socket, first.pointee.ai_addr, first.pointee.ai_addrlen) == 0 else {
            if socket >= 0 { close(socket) }
            throw Complaint("nothing listens on http://\(address.host):\(address.port)")
        }
        return socket
    }

    /// Status and body, once all has come.
    private static func parse(_ answer: [UInt8]) -> (status: Int, body: String)? {
        let text = String(decoding: answer, as: UTF8.self)
        guard let gap = text.firstRange(of: "\r\n\r\n"), let status = Int(text.dropFirst(9).prefix(3)) else {
            return nil
        }
        let length = text[..<gap.lowerBound].lowercased().split(separator: "\r\n")
            .first { $0.hasPrefix("content-length:") }.flatMap { Int($0.dropFirst(15).filter { $0 != " " }) }
        let body = String(text[gap.upperBound...])
        guard let length, body.utf8.count >= length else { return nil }
        return (status, body)
    }
}
