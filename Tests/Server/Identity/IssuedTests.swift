import CallCore
import Crypto
import Foundation
import Testing

@testable import Identity

@Suite("Tokens, capabilities and TURN credentials from the server")
struct IssuedTests {
    private let key = [UInt8](repeating: 7, count: 32)

    private func fields(
        _ call: String,
        epoch: UInt32,
        _ user: String,
        _ peer: String,
        _ device: String,
        until: Int64
    ) throws -> RingCapability.Fields {
        .init(
            callId: try #require(CallID(call)),
            epoch: epoch,
            user: try #require(UserID(user)),
            peer: try #require(UserID(peer)),
            device: try #require(DeviceID(device)),
            validUntilMs: until
        )
    }

    @Test("A token is accepted by a verifier with the same secret and rules")
    func token() throws {
        let rules = TokenRules(issuer: "i\"\\\u{1}é", audience: "a")
        let issuer = TokenIssuer(secret: TestKeys.secret, rules: rules)
        let verifier = try TokenVerifier(keys: [.secret(TestKeys.secret)], rules: rules)
        let token = issuer.issue(
            user: "11",
            name: "山田\n\"太郎\"\\",
            device: "iphone-a",
            rooms: ["room:x", "room:y"],
            service: true,
            ttlSeconds: 100,
            now: TestKeys.now
        )
        let claims = try verifier.verify(token, atSeconds: TestKeys.now)
        #expect(
            claims
                == Claims(
                    user: try #require(UserID("11")),
                    userIsInteger: false,
                    name: "山田\n\"太郎\"\\",
                    device: DeviceID("iphone-a"),
                    rooms: ["room:x", "room:y"],
                    isService: true,
                    expiresAtSeconds: TestKeys.now + 100,
                    issuedAtSeconds: TestKeys.now,
                    fingerprint: claims.fingerprint
                )
        )
        #expect(throws: TokenError.expired) { try verifier.verify(token, atSeconds: TestKeys.now + 160) }

        let plain = issuer.issue(user: "a", now: TestKeys.now)
        let again = try verifier.verify(plain, atSeconds: TestKeys.now)
        #expect(again.name == nil && again.device == nil && again.rooms.isEmpty && !again.isService)
        #expect(again.expiresAtSeconds == TestKeys.now + 3600 && again.fingerprint != claims.fingerprint)
        #expect(throws: TokenError.claim("sub")) {
            try verifier.verify(issuer.issue(user: "a b", now: TestKeys.now), atSeconds: TestKeys.now)
        }
        let byPhone = TokenRules(userClaim: "phone")
        let device = TokenIssuer(secret: TestKeys.secret, rules: byPhone).issue(user: "5", now: TestKeys.now)
        let phoneVerifier = try TokenVerifier(keys: [.secret(TestKeys.secret)], rules: byPhone)
        #expect(try phoneVerifier.verify(device, atSeconds: TestKeys.now).user.text == "5")
        #expect(throws: TokenError.expired) {
            try verifier.verify(issuer.issue(user: "a", ttlSeconds: -60, now: TestKeys.now), atSeconds: TestKeys.now)
        }
    }

    @Test("A capability is valid for its fields until its last moment, and not after it")
    func capability() throws {
        let fields = try self.fields("11-10", epoch: 3, "10", "11", "iphone-a", until: 1_000)
        let text = RingCapability(serverKey: key).issue(fields)
        // This is a new object with the same key, as after a restart.
        let capability = RingCapability(serverKey: key)
        #expect(capability.verify(text, nowMs: 1_000) == fields)
        #expect(capability.verify(text, nowMs: 1_001) == nil)
        #expect(RingCapability(serverKey: Array(key.dropLast())).verify(text, nowMs: 0) == nil)
        let longest = String(repeating: "a", count: 128)
        let long = try self.fields(longest, epoch: .max, longest, longest, longest, until: .max)
        #expect(capability.verify(capability.issue(long), nowMs: .max) == long)
        #expect(text.utf8.count < 120)
    }

    @Test("Capabilities for different fields have different texts")
    func capabilityFields() throws {
        let capability = RingCapability(serverKey: key)
        var texts: Set<String> = []
        let parts = ["a", "b", "ab", "ba", "aa", "a-b"]
        for call in parts {
            for user in parts {
                for peer in parts {
                    for device in parts {
                        let fields = try self.fields(call, epoch: 1, user, peer, device, until: 5)
                        let text = capability.issue(fields)
                        #expect(texts.insert(String(text.dropLast(22))).inserted)
                        #expect(capability.verify(text, nowMs: 5) == fields)
                    }
                }
            }
        }
    }

    @Test("A capability is refused after a change of any bit, and if it is cut short or extended")
    func capabilityForged() throws {
        let capability = RingCapability(serverKey: key)
        let fields = try self.fields("11-10", epoch: 3, "10", "11", "a", until: 1_000)
        let good = Array(capability.issue(fields).utf8)
        let decoded = Base64URL.decode(good.span) ?? []
        for index in decoded.indices {
            for bit in 0..<8 {
                var bytes = decoded
                bytes[index] ^= 1 << UInt8(bit)
                #expect(capability.verify(Base64URL.encode(bytes), nowMs: 0) == nil)
            }
            #expect(capability.verify(Base64URL.encode(Array(decoded.prefix(index))), nowMs: 0) == nil)
        }
        let text = String(decoding: good, as: UTF8.self)
        for other in ["", "=", text + "=", text + "A", " " + text, text + "\n", String(repeating: "A", count: 100_000)]
        {
            #expect(capability.verify(other, nowMs: 0) == nil)
        }
        // A plain HMAC under the server's own key is not a capability, because the key for capabilities is derived from
        // the server's key.
        let body = Array(decoded.dropLast(16))
        let raw = Base64URL.encode(body + HMACSHA256.code(of: body, key: key).prefix(16))
        #expect(capability.verify(raw, nowMs: 0) == nil)
    }

    @Test("A TURN credential equals the credential that coturn computes")
    func turn() {
        // The expected credential: echo -n '1800003600:11' | openssl dgst -sha1 -hmac north -binary | base64
        let credential = TimeLimitedCredential(
            user: "11",
            secret: Array("north".utf8),
            ttlSeconds: 3600,
            now: TestKeys.now
        )
        #expect(credential.username == "1800003600:11")
        #expect(credential.credential == "64Cbam73zOtFS/n1WUdjrWIhvYM=")
        #expect(credential.ttlSeconds == 3600)
    }
}

@Suite("A secret file")
struct SecretFileTests {
    private func inFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/ringline-" + Hex.encode(SecureRandom.bytes(8))
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer {
            // A folder that stays behind in the temporary folder does no harm.
            try? FileManager.default.removeItem(atPath: folder)
        }
        try await body(folder)
    }

    @Test("A secret is read byte for byte, except for one newline at its end")
    func raw() async throws {
        try await inFolder { folder in
            let rows: [([UInt8], [UInt8])] = [
                ([65], [65]), ([65, 10], [65]), ([65, 10, 10], [65, 10]), ([65, 13, 10], [65, 13]), ([32, 10], [32]),
                ([10, 65], [10, 65]), ([0, 255, 10], [0, 255]), ([10, 10], [10]),
            ]
            for (bytes, expected) in rows {
                try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/f"))
                #expect(try SecretFile.read("\(folder)/f") == expected)
            }
            let largest = [UInt8](repeating: 65, count: SecretFile.maximumByteCount)
            try Data(largest + [10]).write(to: URL(fileURLWithPath: "\(folder)/f"))
            #expect(try SecretFile.read("\(folder)/f") == largest)
        }
    }

    @Test("An empty, missing or too large secret file is refused in one line that contains its path")
    func refused() async throws {
        try await inFolder { folder in
            for (bytes, error) in [
                ([], SecretFileError.empty("\(folder)/f")), ([10], .empty("\(folder)/f")),
                ([UInt8](repeating: 65, count: SecretFile.maximumByteCount + 1), .tooLarge("\(folder)/f")),
                ([UInt8](repeating: 65, count: 1_000_000), .tooLarge("\(folder)/f")),
            ] as [([UInt8], SecretFileError)] {
                try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/f"))
                #expect(throws: error) { try SecretFile.read("\(folder)/f") }
                #expect(error.description.contains("\(folder)/f") && !error.description.contains("\n"))
            }
            let missing = SecretFileError.cannot("read", "\(folder)/g", ENOENT)
            #expect(throws: missing) { try SecretFile.read("\(folder)/g") }
            #expect(missing.description == "cannot read \(folder)/g: No such file or directory")
            #expect(throws: SecretFileError.cannot("read", folder, EISDIR)) { try SecretFile.read(folder) }
            let wanted = "\(folder)/none/development-jwt-secret"
            #expect(throws: SecretFileError.cannot("create", wanted, ENOENT)) {
                try DevelopmentKey.loadOrCreate(inFolder: "\(folder)/none")
            }
        }
    }

    @Test("Neither a pipe without a writer nor a device is opened, and a link to a file is", .timeLimit(.minutes(1)))
    func otherKinds() async throws {
        try await inFolder { folder in
            let (pipe, link) = ("\(folder)/pipe", "\(folder)/link")
            #expect(mkfifo(pipe, 0o600) == 0 && symlink("pipe", link) == 0)
            for path in [pipe, link] {
                #expect(throws: SecretFileError.otherKind(path, "a named pipe")) { try SecretFile.read(path) }
                #expect(NamedFile.fault(of: path) == .otherKind(path, "a named pipe"))
            }
            for device in ["/dev/zero", "/dev/tty", "/dev/null"] {
                #expect(throws: SecretFileError.self) { try SecretFile.read(device) }
            }
            try Data("secret".utf8).write(to: URL(fileURLWithPath: "\(folder)/f"))
            #expect(unlink(link) == 0 && symlink("f", link) == 0)
            #expect(try SecretFile.read(link) == Array("secret".utf8))
            #expect(NamedFile.fault(of: link) == nil && NamedFile.fault(of: folder) == .cannot("read", folder, EISDIR))
        }
    }

    @Test("A pipe that is open already is read to its end")
    func openPipe() throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        #expect(write(ends[1], "secret\n", 7) == 7)
        close(ends[1])
        defer { close(ends[0]) }
        #expect(try SecretFile.read("/dev/fd/\(ends[0])") == Array("secret".utf8))
    }

    @Test(
        "Traces of an editor or a shell in a secret are reported",
        arguments: [
            ("s3cret", nil), ("\u{FEFF}s3cret", "byte order mark"), ("s3cret\r", "carriage return"),
            ("s3cret\n", "empty line"), ("s3cret ", "blank"), ("\ts3cret", "begins with a blank"), ("s3 cret", nil),
        ] as [(String, String?)]
    )
    func oddity(_ secret: String, _ word: String?) {
        let oddity = SecretFile.suspiciousTrait(of: Array(secret.utf8))
        #expect(oddity.map { word.map($0.contains) ?? false } ?? (word == nil), "\(oddity ?? "nothing")")
        #expect(oddity?.contains("s3cret") != true)
        #expect(SecretFile.suspiciousTrait(of: [0xFF, 0xFE, 0x73, 0]) == "is UTF-16")
    }

    @Test(
        "A path is shown if it leads somewhere or looks like a path, and hidden if it may be the secret itself",
        arguments: [
            ("/usr/none/secret", true), ("/usr/secret", true), ("/dev/null", true), ("/usr/../usr/none", true),
            ("s3cret", false), ("./s3cret", false), ("/s3cret", false), ("s3/cret+w==", false), ("", false),
            ("-----BEGIN PRIVATE KEY-----\ns3/cret", false), ("../s3cret", false), ("//s3cret", false),
            ("secret", true), ("jwt.key", true), ("./jwt_secret", true), ("../keys/jwt.key", true), ("keys/jwt", true),
            ("/none/secrets/jwt-secret", true), ("AuthKey_ABCDE12345.p8", true), ("v2/jwt.pem", true),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMSJ9.c2lnbmF0dXJlIG9mIHRoaXJ0eS10d28", false), ("s3cret.", false),
            ("two words", false), ("line\nline.key", false), (String(repeating: "n", count: 65), false),
            (String(repeating: "n/", count: 2_100) + "n.key", false),
        ]
    )
    func shown(_ path: String, _ isShown: Bool) {
        #expect(SecretFile.shown(path) == (isShown ? path : "******"))
    }

    @Test("The secret of a data folder is made once, readable by its owner only; later starts read it")
    func kept() async throws {
        try await inFolder { folder in
            let secret = try DevelopmentKey.loadOrCreate(inFolder: folder)
            #expect(Base64URL.decode(secret.span)?.count == 32)
            #expect(try DevelopmentKey.loadOrCreate(inFolder: folder) == secret)
            #expect(try SecretFile.read("\(folder)/development-jwt-secret") == secret)
            #expect(try ServerKeys.loadOrCreate(inFolder: folder, at: 1).newest.secret != secret)
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/development-jwt-secret")
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
            let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(files.sorted() == ["development-jwt-secret", "server-key"])
            #expect(try TokenVerifier(keys: [.secret(secret)]).warnings.isEmpty)
        }
    }

    @Test("A secret file that exists already is not replaced")
    func existing() async throws {
        try await inFolder { folder in
            try SecretFile.create("\(folder)/f")
            let first = try SecretFile.read("\(folder)/f")
            try SecretFile.create("\(folder)/f")
            #expect(try SecretFile.read("\(folder)/f") == first)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["f"])
        }
    }

    @Test("Concurrent first starts all get the same secret")
    func race() async throws {
        try await inFolder { folder in
            for round in 0..<20 {
                let path = "\(folder)/\(round)"
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
                let secrets = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                    for _ in 0..<8 { group.addTask { try DevelopmentKey.loadOrCreate(inFolder: path) } }
                    return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
                }
                #expect(secrets.count == 1)
                #expect(try FileManager.default.contentsOfDirectory(atPath: path).count == 1)
            }
        }
    }
}
