import Foundation
import LibWebSockets
import Testing

extension EveryTest {
    @Suite("A renewed certificate")
    struct CertificateTests {
        private let folder: String

        init() throws {
            folder = NSTemporaryDirectory() + "ringline-certificates-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }

        private func clear() { try? FileManager.default.removeItem(atPath: folder) }

        /// A self-signed certificate for a name, with a key of a kind as `openssl req -newkey` has it.
        private func issue(_ name: String, _ kind: [String]) throws -> ServerConfiguration.TLS {
            let openssl = Process()
            openssl.executableURL = URL(filePath: "/usr/bin/env")
            let files = ["-keyout", "\(folder)/\(name).key", "-out", "\(folder)/\(name).crt"]
            openssl.arguments =
                ["openssl", "req", "-x509", "-newkey"] + kind + ["-nodes", "-days", "1", "-subj", "/CN=\(name)"] + files
            openssl.standardError = FileHandle.nullDevice
            try openssl.run()
            openssl.waitUntilExit()
            return .init(certificatePath: "\(folder)/\(name).crt", keyPath: "\(folder)/\(name).key")
        }

        /// The name in the certificate that a new connection gets.
        private func served(_ port: Int, _ version: String) throws -> String {
            let openssl = Process()
            let output = Pipe()
            openssl.executableURL = URL(filePath: "/usr/bin/env")
            openssl.arguments = ["openssl", "s_client", "-connect", "127.0.0.1:\(port)", version]
            openssl.standardInput = FileHandle.nullDevice
            openssl.standardOutput = output
            openssl.standardError = FileHandle.nullDevice
            try openssl.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            openssl.waitUntilExit()
            let subject = text.split(separator: "\n").first { $0.hasPrefix("subject=") }
            return subject.map { String($0.split { " =".contains($0) }.last ?? "") } ?? ""
        }

        @Test("is what new connections get, whatever kind of key it has, while sessions go on")
        func renewed() throws {
            defer { clear() }
            let ec = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
            let first = try issue("first", ec)
            let others = try [("second", ["rsa:2048"]), ("third", ec), ("fourth", ["rsa:2048"])].map {
                (name: $0.0, certificate: try ServerCertificate(try issue($0.0, $0.1)))
            }
            try TestServer.run({ $0.tls = first }, { $0.onMessage = { $0.send(frame($1), to: $2) } }) { test throws in
                let client = TestClient("wss://127.0.0.1:\(test.port)/ws") { $0.isInsecure = true }
                client.client.send("before")
                #expect(client.hears(.text("before")))
                for version in ["-tls1_2", "-tls1_3"] { #expect(try served(test.port, version) == "first") }
                for (name, certificate) in others {
                    _ = test.onLoop { $0.serve(certificate) }
                    for version in ["-tls1_2", "-tls1_3"] { #expect(try served(test.port, version) == name) }
                }
                client.client.send("after")
                #expect(client.hears(.text("after")))
                client.client.close()
            }
        }

        @Test("is refused where a file is missing, is no certificate, or is of another key")
        func refused() throws {
            defer { clear() }
            let (one, other) = (try issue("one", ["rsa:2048"]), try issue("other", ["rsa:2048"]))
            for (certificate, key) in [
                (one.certificatePath, other.keyPath), (one.keyPath, one.keyPath),
                (one.certificatePath, one.certificatePath), ("/nowhere.pem", one.keyPath),
            ] {
                #expect(throws: ServerError.self) {
                    try ServerCertificate(.init(certificatePath: certificate, keyPath: key))
                }
            }
        }
    }
}
