import Foundation
package import OutboundHTTP
import Threads

/// A fake of Apple's push service: Tests/FakePushServices/fake_apns.py as a child process, with real HTTP/2 over real
/// TLS on loopback.
///
/// The interpreter is `RINGLINE_PYTHON`, or else `python3`. If it is missing, or lacks a package, the initializer
/// throws an error that says so. The child ends when this object is released, or with the test process.
package final class FakeAPNs: Sendable {
    // Those of the script.
    package static let teamID = "TEAM123456"
    package static let keyID = "KEY1234567"

    /// The line that the fake server prints once it has started.
    package struct Startup: Decodable {
        package let ports: [String: Int]
        package let control: Int
        package let ca: String
        package let key: String
    }

    /// A push that the fake server has received, as `GET /pushes` reports the push.
    package struct Push: Decodable {
        package let token: String
        package let environment: String
        package let headers: [String: String]
        package let headerList: [[String]]
        package let body: String
        package let connection: Int
        package let refused: Bool

        package var bytes: [UInt8] { Data(base64Encoded: body).map { [UInt8]($0) } ?? [] }
    }

    package struct Stats: Decodable {
        package let connections: Int
        package let streams: Int
        package let open: Int
        package let accepted: Int
        package let providerTokens: Int
        package let refusedStreams: Int
        package let mostStreamsAtOnce: Int
        package let connectionsByEnvironment: [String: Int]
    }

    package let startup: Startup
    private let process: Monitor<Process>
    private let input: Pipe
    private let client: HTTPClient

    package init(_ arguments: [String] = []) throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "FakePushServices/fake_apns.py").path()
        let python = ProcessInfo.processInfo.environment["RINGLINE_PYTHON"] ?? "python3"
        let directory = FileManager.default.temporaryDirectory.appending(path: "fake-apns-\(UUID().uuidString)").path()
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [python, script, "--directory", directory] + arguments
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        // The child writes one line in one piece. If the child could not start, there is the end of the file instead.
        let line = output.fileHandleForReading.availableData
        guard let startup = try? JSONDecoder().decode(Startup.self, from: line) else {
            struct Broken: Decodable { let error: String }
            // If the child's output cannot be decoded, the error below still reports that the child did not start.
            let why = (try? JSONDecoder().decode(Broken.self, from: line))?.error ?? "no line from \(python)"
            throw FakeAPNsMissing(description: "These tests need Python 3.11 with h2 and cryptography: \(why)")
        }
        self.startup = startup
        self.process = Monitor(process)
        self.input = input
        var configuration = HTTPClientConfiguration()
        configuration.usesProxyFromEnvironment = false
        client = try HTTPClient(configuration)
    }

    deinit {
        try? input.fileHandleForWriting.close()  // This ends the child; the pipe may be closed already.
        process.withLock { $0.waitUntilExit() }
        // A folder that stays behind in the temporary folder does no harm.
        try? FileManager.default.removeItem(atPath: URL(filePath: startup.key).deletingLastPathComponent().path())
    }

    package func endpoint(_ environment: String) -> String { "https://localhost:\(startup.ports[environment] ?? 1)" }

    // MARK: The control port

    package func script(_ token: String, _ answers: String) async throws {
        _ = try await control("POST", "/script", #"{"token":"\#(token)","answers":[\#(answers)]}"#)
    }

    package func device(_ json: String) async throws { _ = try await control("POST", "/devices", json) }

    package func config(_ json: String) async throws { _ = try await control("POST", "/config", json) }

    package func stats() async throws -> Stats {
        try JSONDecoder().decode(Stats.self, from: await control("GET", "/stats"))
    }

    package func pushes(query: String = "") async throws -> [Push] {
        struct Answer: Decodable { let pushes: [Push] }
        return try JSONDecoder().decode(Answer.self, from: await control("GET", "/pushes" + query)).pushes
    }

    private func control(_ method: String, _ path: String, _ body: String = "") async throws -> Data {
        var request = HTTPRequest(
            method: method,
            url: "http://127.0.0.1:\(startup.control)\(path)",
            body: [UInt8](body.utf8),
            timeoutMilliseconds: 30_000
        )
        request.bodyLimit = 64 << 20
        let response = try await client.response(to: request)
        guard response.status == 200 else {
            throw FakeAPNsMissing(
                description: "The fake refused \(path): \(String(decoding: response.body, as: UTF8.self))"
            )
        }
        return Data(response.body)
    }
}

/// The reason why the fake server cannot be used.
package struct FakeAPNsMissing: Error, CustomStringConvertible {
    package let description: String
}

/// Returns the time of the wall clock, in milliseconds since 1970.
package func testNow() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

extension HTTPClient {
    package func response(to request: HTTPRequest) async throws -> HTTPResponse {
        try await withCheckedThrowingContinuation { continuation in
            send(request) { continuation.resume(with: $0.mapError { $0 as any Error }) }
        }
    }
}
