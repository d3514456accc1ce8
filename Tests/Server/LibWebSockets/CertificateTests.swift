import Foundation
import LibWebSockets
import ServerTesting
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

        /// Issues a self-signed certificate for a name.
        ///
        /// `kind` is the kind of its key, as in the arguments of `openssl req -newkey`.
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

        /// Returns the name in the certificate that a new connection gets; empty if there is no certificate.
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

        @Test("New connections get the renewed certificate, whatever its kind of key, and open connections go on")
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

        /// Returns whether a new connection resumes a TLS session with the ticket in the file `old`.
        ///
        /// The ticket of the new connection is written to the file `new`.
        private func isResumed(_ port: Int, _ version: String, from old: String?, to new: String) throws -> Bool {
            let openssl = Process()
            let (input, output) = (Pipe(), Pipe())
            openssl.executableURL = URL(filePath: "/usr/bin/env")
            let sessions = ["-sess_out", "\(folder)/\(new)"] + (old.map { ["-sess_in", "\(folder)/\($0)"] } ?? [])
            openssl.arguments =
                ["openssl", "s_client", "-connect", "127.0.0.1:\(port)", version, "-ign_eof"] + sessions
            (openssl.standardInput, openssl.standardOutput) = (input, output)
            openssl.standardError = FileHandle.nullDevice
            try openssl.run()
            // TLS 1.3 sends tickets after the handshake, so the client makes a request and reads to the end.
            input.fileHandleForWriting.write(Data("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".utf8))
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            openssl.waitUntilExit()
            #expect(text.contains("New, TLS") != text.contains("Reused, TLS"))
            return text.contains("Reused, TLS")
        }

        @Test(
            "The ticket key changes every 12 hours; a ticket is valid under its own key and the next key only",
            arguments: ["-tls1_2", "-tls1_3"]
        )
        func tickets(_ version: String) throws {
            defer { clear() }
            let tls = try issue("one", ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
            try TestServer.run({ $0.tls = tls }) { test throws in
                let hour: Int64 = 3_600_000
                test.server.renewTickets(at: 0)
                #expect(try !isResumed(test.port, version, from: nil, to: "first"))
                test.server.renewTickets(at: 12 * hour - 1)
                #expect(try isResumed(test.port, version, from: "first", to: "same"))
                test.server.renewTickets(at: 12 * hour)
                #expect(try isResumed(test.port, version, from: "first", to: "same"), "the previous key is still valid")
                #expect(try !isResumed(test.port, version, from: nil, to: "second"))
                test.server.renewTickets(at: 24 * hour)
                #expect(try !isResumed(test.port, version, from: "first", to: "third"), "the ticket's key is gone")
                #expect(try isResumed(test.port, version, from: "second", to: "same"))
                // A new certificate brings one new key, no matter how many event loops begin to serve it.
                for name in ["two", "three"] {
                    let certificate = try ServerCertificate(try issue(name, ["rsa:2048"]))
                    for _ in 0..<3 { _ = test.onLoop { $0.serve(certificate) } }
                    if name == "two" {
                        #expect(try isResumed(test.port, version, from: "third", to: "same"))
                    } else {
                        #expect(try !isResumed(test.port, version, from: "third", to: "fourth"))
                    }
                }
            }
        }

        @Test("A certificate is refused if its file is missing, a file is of the wrong kind, or the key does not fit")
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
