#if canImport(FoundationNetworking)
public import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// Fetches the pages of the call directory with `URLSession`, which asks for them compressed and decompresses them.
public struct URLSessionDirectory: DirectorySource {
    private let server: URL
    private let token: @Sendable () async throws -> String
    private let session: URLSession

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - server: the server's address, `http` or `https`; it may have a path.
    ///   - session: a session of your own, which may trust certificates of your own, for example; `nil` = one that
    ///     caches nothing.
    ///   - token: returns a token that is valid now, the JWT without `Bearer`. It is called for each page.
    public init(
        server: URL,
        session: URLSession? = nil,
        token: @escaping @Sendable () async throws -> String
    ) {
        self.server = server
        self.token = token
        self.session = session ?? URLSession(configuration: Self.configuration)
    }

    /// The configuration of the source's own session: nothing is cached, because a page must not stay in memory.
    public static var configuration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.timeoutIntervalForRequest = 20
        return configuration
    }

    /// Fetches a page; see ``DirectorySource``.
    public func page(of list: DirectoryList, since cursor: DirectoryCursor?, limit: Int) async throws -> Data {
        guard let url = Self.url(server, list, cursor, limit) else {
            throw CallDirectoryError.unreachable("invalid address \(server)")
        }
        var request = URLRequest(url: url)
        request.setValue("Bearer \(try await token())", forHTTPHeaderField: "Authorization")
        let final = request
        let (status, body) = try await withCheckedThrowingContinuation { continuation in
            session.dataTask(with: final) { data, response, error in
                if let response = response as? HTTPURLResponse {
                    continuation.resume(returning: (response.statusCode, data ?? Data()))
                } else {
                    continuation.resume(throwing: error ?? CallDirectoryError.unreachable("no response"))
                }
            }
            .resume()
        }
        guard status == 200 else { throw CallDirectoryError.refused(status: status) }
        return body
    }

    /// Returns the address of a page; a cursor needs no escaping.
    private static func url(_ server: URL, _ list: DirectoryList, _ cursor: DirectoryCursor?, _ limit: Int) -> URL? {
        let since = cursor.map { "&since=\($0.text)" } ?? ""
        return URL(string: "\(server.baseOfPaths)/api/me/directory?list=\(list.rawValue)\(since)&limit=\(limit)")
    }
}
