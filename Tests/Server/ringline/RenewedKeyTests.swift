import CallCore
import FoundationEssentials
import Identity
import ServerLog
import Switchboard
import Testing

@testable import ringline

@Suite("Keys that are renewed or read again")
struct RenewedKeyTests {
    private static let start: Int64 = 1_800_000_000_000

    private final class Folder {
        let path = FileManager.default.temporaryDirectory.path + "/ringline-keys-\(UInt64.random(in: 0...UInt64.max))"
        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }

        func settings(_ flags: [String: [String]] = [:]) throws -> ServeSettings {
            try ServeSettings(SettingsSource(flags: flags.merging(["data": [path]]) { $1 }))
        }

        func write(_ text: String, to name: String) {
            _ = FileManager.default.createFile(atPath: "\(path)/\(name)", contents: Data(text.utf8))
        }
    }

    private func issue(_ keys: CapabilityKeys, until: Int64) throws -> String {
        RingCapabilities(keys: keys).capability(
            call: try #require(CallID("c-1")),
            epoch: 1,
            user: try #require(UserID("10")),
            peer: try #require(UserID("11")),
            device: try #require(DeviceID("b1")),
            until: Moment(milliseconds: until)
        )
    }

    @Test("A key for capabilities is replaced once a day; earlier keys still verify capabilities, also after a restart")
    func rotation() throws {
        let folder = try Folder()
        let keys = try CapabilityKeys(try folder.settings(), at: Self.start)
        let due = Self.start + ServerKeys.periodMilliseconds
        #expect(try !keys.rotate(at: due - 1))
        let old = try issue(keys, until: due + 100_000)
        #expect(try keys.rotate(at: due))
        #expect(try !keys.rotate(at: due + 1))
        let new = try issue(keys, until: due + 100_000)
        for ring in [keys.signer, try CapabilityKeys(try folder.settings(), at: due + 1).signer] {
            for text in [old, new] { #expect(ring.verify(text, nowMs: due + 100_000) != nil) }
        }
    }

    @Test("If a new key for capabilities cannot be written, the old key stays, and the next attempt is a minute later")
    func refused() throws {
        let folder = try Folder()
        let keys = try CapabilityKeys(try folder.settings(), at: Self.start)
        let due = Self.start + ServerKeys.periodMilliseconds
        let capability = try issue(keys, until: .max)
        try FileManager.default.removeItem(atPath: folder.path)
        #expect(throws: UsageError.self) { try keys.rotate(at: due) }
        #expect(try !keys.rotate(at: due + 59_999))
        #expect(keys.signer.verify(capability, nowMs: due) != nil)
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        #expect(try keys.rotate(at: due + 60_000))
    }

    @Test("Keys for capabilities stay if their file contains no key, and are replaced if the file was removed")
    func removed() throws {
        let folder = try Folder()
        let keys = try CapabilityKeys(try folder.settings(), at: Self.start)
        let capability = try issue(keys, until: .max)
        folder.write("noise", to: ServerKeys.fileName)
        #expect(throws: UsageError.self) { try keys.load(at: Self.start) }
        #expect(keys.signer.verify(capability, nowMs: Self.start) != nil)
        try FileManager.default.removeItem(atPath: "\(folder.path)/\(ServerKeys.fileName)")
        try keys.load(at: Self.start)
        #expect(keys.signer.verify(capability, nowMs: Self.start) == nil)
    }

    @Test("A start is refused if the file of keys for capabilities contains no key, whatever it was overwritten with")
    func overwritten() throws {
        let folder = try Folder()
        for text in ["noise", String(repeating: "\0", count: 4_096), "noise 1800000000000"] {
            folder.write(text, to: ServerKeys.fileName)
            #expect(throws: UsageError.self, "\(text.count)") {
                try CapabilityKeys(try folder.settings(), at: Self.start)
            }
        }
        // The first key is in the form of `openssl rand -base64 32`, the second in that of earlier versions.
        for text in ["+/AHBgUEAwIBAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", String(repeating: "c", count: 43)] {
            folder.write(text, to: ServerKeys.fileName)
            #expect(throws: Never.self) { try CapabilityKeys(try folder.settings(), at: Self.start) }
        }
    }

    @Test("Keys for tokens stay if the changed file contains no usable key, and the error contains the file's path")
    func tokens() throws {
        let folder = try Folder()
        folder.write(String(repeating: "a", count: 40), to: "jwt")
        let settings = try folder.settings(["jwt-secret-file": ["\(folder.path)/jwt"]])
        let keys = try TokenKeys(settings, .silent) { _ in }
        func token(_ letter: String) -> String {
            TokenIssuer(secret: Array(String(repeating: letter, count: 40).utf8)).issue(
                user: "10",
                name: nil,
                device: nil,
                rooms: [],
                service: false,
                ttlSeconds: 60,
                now: 1
            )
        }
        #expect(try keys.verify(token("a"), atSeconds: 1).user.text == "10")
        folder.write("", to: "jwt")
        do {
            try keys.load(settings) { _ in }
            Issue.record("an empty secret was taken")
        } catch {
            #expect(error.description.contains("\(folder.path)/jwt"))
        }
        #expect(try keys.verify(token("a"), atSeconds: 1).user.text == "10")
        folder.write(String(repeating: "b", count: 40), to: "jwt")
        try keys.load(settings) { _ in }
        #expect(try keys.verify(token("b"), atSeconds: 1).user.text == "10")
        #expect(throws: TokenError.signature) { try keys.verify(token("a"), atSeconds: 1) }
    }
}

@Suite("The address of published keys")
struct PublishedKeysTests {
    @Test(
        "An address is accepted if TLS protects it, or if it is on this machine",
        arguments: [
            "https://auth.example.com/.well-known/jwks.json", "https://auth.example.com:8443/keys?v=1",
            "https://[2001:db8::1]/keys", "http://127.0.0.1:8080/keys", "http://localhost/keys", "http://[::1]:80/keys",
        ]
    )
    func safe(_ url: String) { #expect(PublishedKeys.isSafe(url)) }

    @Test(
        "Any other address is refused; an address with a password also, because addresses are shown",
        arguments: [
            "", "auth.example.com", "http://auth.example.com/keys", "http://127.0.0.1.example.com/", "ftp://127.0.0.1/",
            "https://", "https:///keys", "https://user:secret@auth.example.com/", "http://127.0.0.1@example.com/",
            "http://localhost\\@example.com/", "https://a b/", "https://a/#b", "file:///etc/passwd", "HTTPS:/a",
            "http://[::1].example.com/",
        ]
    )
    func unsafe(_ url: String) {
        #expect(!PublishedKeys.isSafe(url))
        #expect(throws: UsageError.self) {
            try PublishedKeys(SettingsSource(flags: ["jwks-url": [url]], environment: [:], file: [:]))
        }
    }
}
