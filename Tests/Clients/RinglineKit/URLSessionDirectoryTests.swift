import Foundation
import RinglineKit
import Synchronization
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Plays the server of all requests of a session.
private final class PlayedServer: URLProtocol {
    /// The requests so far, by their host.
    static let requests = Mutex<[String: [String]]>([:])

    override static func canInit(with request: URLRequest) -> Bool { true }
    override static func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        guard let url = request.url, let host = url.host else { return }
        let authorization = request.value(forHTTPHeaderField: "Authorization") ?? "-"
        let line = "\(request.httpMethod ?? "-") \(url.absoluteString) \(authorization)"
        Self.requests.withLock { $0[host, default: []].append(line) }
        let status = Int(host.prefix { $0 != "." })
        guard let status,
            let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: nil)
        else {
            client?.urlProtocol(self, didFailWithError: URLError(.cannotConnectToHost))
            return
        }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: Data("c\tcomplete\tend\t1\n+5\n".utf8))
        client?.urlProtocolDidFinishLoading(self)
    }

    override func stopLoading() {}
}

@Suite("Fetching a page of the call directory")
struct URLSessionDirectoryTests {
    private func source(_ server: String) throws -> URLSessionDirectory {
        let configuration = URLSessionDirectory.configuration
        configuration.protocolClasses = [PlayedServer.self]
        let session = URLSession(configuration: configuration)
        return URLSessionDirectory(server: try #require(URL(string: server)), session: session) { "token-1" }
    }

    @Test("The address, the token, and the page", arguments: ["https://200.a/v1", "https://200.b/v1/"])
    func page(_ server: String) async throws {
        let source = try source(server)
        let page = try DirectoryPage(await source.page(of: .blocks, since: nil, limit: 500), of: .blocks)
        #expect(Array(page) == [.block(5)])
        _ = try await source.page(of: .identities, since: DirectoryCursor("v1.~_-"), limit: 10_000)
        let host = try #require(URL(string: server)?.host)
        #expect(
            PlayedServer.requests.withLock { $0[host] } == [
                "GET https://\(host)/v1/api/me/directory?list=blocks&limit=500 Bearer token-1",
                "GET https://\(host)/v1/api/me/directory?list=identities&since=v1.~_-&limit=10000 Bearer token-1",
            ]
        )
    }

    @Test("Every other status is an error", arguments: [204, 304, 400, 401, 429, 503])
    func refused(_ status: Int) async throws {
        let source = try source("https://\(status).c")
        await #expect(throws: CallDirectoryError.refused(status: status)) {
            try await source.page(of: .blocks, since: nil, limit: 1)
        }
    }

    @Test("Without a server or a token there is an error")
    func unreachable() async throws {
        let source = try source("https://down.d")
        await #expect(throws: (any Error).self) { try await source.page(of: .blocks, since: nil, limit: 1) }
        let address = try #require(URL(string: "https://200.e"))
        let tokenless = URLSessionDirectory(server: address) { throw CancellationError() }
        await #expect(throws: CancellationError.self) { try await tokenless.page(of: .blocks, since: nil, limit: 1) }
        #expect(PlayedServer.requests.withLock { $0["200.e"] } == nil)
    }
}
