import CallCore
import Testing

@Suite("An identifier")
struct IdentifierTests {
    static let shared = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-")

    @Test("A user id or device id may contain every character of its alphabet and no other ASCII character")
    func userAlphabet() {
        let allowed = Set(Self.shared + ["@", "+"])
        for byte in UInt8(0)..<128 {
            let character = Character(UnicodeScalar(byte))
            #expect((UserID("a\(character)b") != nil) == allowed.contains(character), "byte \(byte)")
            #expect((DeviceID("a\(character)b") != nil) == allowed.contains(character), "byte \(byte)")
        }
    }

    @Test("A callId may contain the characters of a user id except @ and +")
    func callAlphabet() {
        let allowed = Set(Self.shared)
        for byte in UInt8(0)..<128 {
            let character = Character(UnicodeScalar(byte))
            #expect((CallID("a\(character)b") != nil) == allowed.contains(character), "byte \(byte)")
        }
    }

    @Test("A user id, device id or callId is ASCII", arguments: ["é", "日本", "a\u{301}", "１", "\u{80}", "😀", "ﬀ"])
    func beyondASCII(_ text: String) {
        #expect(UserID(text) == nil)
        #expect(DeviceID(text) == nil)
        #expect(CallID(text) == nil)
    }

    @Test("A user id or callId has 1 to 128 bytes")
    func length() {
        #expect(UserID("") == nil)
        #expect(CallID("") == nil)
        #expect(UserID("x") != nil)
        #expect(UserID(String(repeating: "x", count: 128)) != nil)
        #expect(UserID(String(repeating: "x", count: 129)) == nil)
        #expect(CallID(String(repeating: "x", count: 128)) != nil)
        #expect(CallID(String(repeating: "x", count: 129)) == nil)
    }

    @Test("The id of a signal has 1 to 64 bytes of any characters")
    func signalID() {
        #expect(SignalID("") == nil)
        #expect(SignalID("日本 \n") != nil)
        #expect(SignalID(String(repeating: "x", count: 64)) != nil)
        #expect(SignalID(String(repeating: "é", count: 33)) == nil)
    }

    @Test("Identifiers are ordered by their bytes")
    func order() throws {
        #expect(try call("B") < call("a"))
        #expect(try call("10-11") < call("9"))
        #expect(try call("a") < call("aa"))
        #expect(try !(call("a") < call("a")))
        #expect(try user("Z") < user("a"))
    }
}

@Suite("A pair of users")
struct PairTests {
    @Test("A pair is the same in either order")
    func order() throws {
        let pair = Pair(try user("11"), try user("10"))
        #expect(pair == Pair(try user("10"), try user("11")))
        #expect(pair.low == (try user("10")))
        #expect(pair.high == (try user("11")))
    }

    @Test("A pair contains its two users and no other, and returns each user's peer")
    func holding() throws {
        let pair = Pair(try user("11"), try user("10"))
        #expect(pair.contains(try user("11")))
        #expect(pair.contains(try user("10")))
        #expect(!pair.contains(try user("1")))
        #expect(pair.other(than: try user("11")) == (try user("10")))
        #expect(pair.other(than: try user("10")) == (try user("11")))
    }
}

@Suite("A device")
struct DeviceIdentityTests {
    @Test("A device without an id is given the id `t-` with the 16 hex digits of its token's fingerprint")
    func unnamed() {
        let device = DeviceIdentity(unnamed: TokenFingerprint(rawValue: 0xAB))
        #expect(device.id.text == "t-00000000000000ab")
        #expect(device.isUnnamed)
        #expect(DeviceIdentity(unnamed: TokenFingerprint(rawValue: .max)).id.text == "t-ffffffffffffffff")
    }

    @Test("An id that only resembles an id made from a token is a device's own id")
    func lookalike() throws {
        #expect(try !device("t-00000000000000ab", fingerprint: 1).isUnnamed)
        #expect(try !device("t-x", fingerprint: 1).isUnnamed)
    }

    @Test("A device without an id is the same as every device with the same token")
    func sameToken() throws {
        let nameless = DeviceIdentity(unnamed: TokenFingerprint(rawValue: 5))
        #expect(nameless.isSame(as: try device("a1", fingerprint: 5)))
        #expect(try device("a1", fingerprint: 5).isSame(as: nameless))
        #expect(!nameless.isSame(as: try device("a1", fingerprint: 6)))
    }

    @Test("Two ids are two devices even with the same token; the same id is the same device with any token")
    func twoNames() throws {
        #expect(try !device("a1", fingerprint: 5).isSame(as: device("a2", fingerprint: 5)))
        #expect(try device("a1", fingerprint: 5).isSame(as: device("a1", fingerprint: 6)))
    }

    @Test("The ids that the server makes for connections and registrations are distinguished from clients' device ids")
    func prefixes() throws {
        #expect(try device("c-1").isOfConnection)
        #expect(try device("d-1").isOfUnnamedRegistration)
        #expect(try !device("iphone").isOfConnection)
        #expect(try !device("iphone").isOfUnnamedRegistration)
    }
}

@Suite("A UUID of version 5")
struct UUIDv5Tests {
    @Test("The UUID of a URL equals the UUID that Python makes in the URL namespace")
    func known() {
        // The output of uuid.uuid5(uuid.NAMESPACE_URL, "http://www.example.com/") in Python.
        #expect(UUIDv5.url("http://www.example.com/") == "fcde3c85-2270-590f-9e7c-ee003d65e0e2")
        #expect(UUIDv5.url("") == "1b4db7eb-4057-5ddf-91e0-36dec72071f5")
    }

    @Test(
        "The UUID of a name has the known value, wherever the name ends in SHA-1's blocks of 64 bytes",
        arguments: [
            (39, "f4eaee1e-e483-528b-88bd-6b8932ab6e2b"), (40, "f562c38a-a8fe-5cdd-b523-6f30cfb54847"),
            (47, "b18474ae-5fc6-5d04-aa24-a5be94234955"), (48, "8fa6ffa9-9280-5899-a2d8-b082ccdf6380"),
            (111, "aab99202-50f3-534a-bc28-c118fe72986d"), (112, "f531054f-eafa-5f71-a62b-6dd48019d086"),
            (200, "cd3580b9-d244-586a-8077-74317319b48d"),
        ]
    )
    func long(_ count: Int, _ uuid: String) {
        // The output of uuid.uuid5(uuid.NAMESPACE_URL, "x" * count) in Python.
        #expect(UUIDv5.url(String(repeating: "x", count: count)) == uuid)
    }

    @Test("The UUID of a call is its callId in lower case if the callId is a UUID and the epoch is 1")
    func ofCall() throws {
        let id = try call("6BA7B811-9DAD-11D1-80B4-00C04FD430C8")
        #expect(UUIDv5.call(id, epoch: 1) == "6ba7b811-9dad-11d1-80b4-00c04fd430c8")
        #expect(UUIDv5.call(id, epoch: 2) == UUIDv5.url("ringline:\(id.text)/2"))
        #expect(UUIDv5.call(try call("11-10"), epoch: 1) == UUIDv5.url("ringline:11-10/1"))
        #expect(UUIDv5.call(try call("11-10"), epoch: 1) != UUIDv5.call(try call("11-10"), epoch: 2))
    }

    @Test(
        "A text that only resembles a UUID is not accepted as one",
        arguments: [
            "6ba7b811-9dad-11d1-80b4-00c04fd430c", "6ba7b811-9dad-11d1-80b4-00c04fd430cg",
            "6ba7b8119dad-11d1-80b4-00c04fd430c8-", "6ba7b811_9dad_11d1_80b4_00c04fd430c8", "",
        ]
    )
    func lookalike(_ text: String) { #expect(!UUIDv5.isUUID(text)) }
}
