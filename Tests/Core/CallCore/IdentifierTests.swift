import CallCore
import Testing

@Suite("An identifier")
struct IdentifierTests {
    static let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._@:+|#~-")

    @Test("All identifiers may contain every character of one alphabet and no other ASCII character")
    func alphabet() {
        for byte in UInt8(0)..<128 {
            let character = Character(UnicodeScalar(byte))
            let isAllowed = Self.allowed.contains(character)
            #expect((UserID("a\(character)b") != nil) == isAllowed, "byte \(byte)")
            #expect((DeviceID("a\(character)b") != nil) == isAllowed, "byte \(byte)")
            #expect((CallID("a\(character)b") != nil) == isAllowed, "byte \(byte)")
            #expect((ScheduleID("a\(character)b") != nil) == isAllowed, "byte \(byte)")
        }
    }

    @Test(
        "The user ids of the services that apps use are user ids, and two of them make a callId and a room",
        arguments: [
            "auth0|5f7c8ec7c33c6c004bbafe82", "google-oauth2|103547991597142817347", "samlp|corp|a.b@example.com",
            "us-east-1:0a1b2c3d-4e5f-6789-abcd-ef0123456789", "+821012345678", "@user:matrix.org", "user#1234",
            "Zk3vT9xQpLhYw2JmN8sR5uB1oC7d", "first.last+tag@sub.example.co.uk", "f:0a1b:user", "000123.0a1b.0456",
        ]
    )
    func services(_ text: String) throws {
        let (caller, callee) = (try #require(UserID(text)), try user("10"))
        let id = try #require(CallID("\(text)-10"))
        #expect(Room.peer(inCallID: id, for: caller) == callee)
        #expect(try Room(Room.name(caller: caller, callee: callee), for: callee) == .pair(with: caller))
        #expect(CallID("\(text)-\(text)") != nil)
        #expect(CallID(Array(text.utf8), 0..<text.utf8.count)?.text == text)
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

@Suite("A callId that is a UUID")
struct UUIDCallIDTests {
    private static let lower = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"

    @Test(
        "A UUID is one callId in lower, upper and mixed case, which keeps its text",
        arguments: [lower.uppercased(), "3F2504E0-4f89-41d3-9a0c-0305e82c3301", "3f2504e0-4f89-41d3-9A0C-0305E82C3301"]
    )
    func cases(_ text: String) throws {
        let (lower, other) = (try call(Self.lower), try call(text))
        #expect(lower == other && lower.hashValue == other.hashValue && other.text == text)
        #expect(!(lower < other) && !(other < lower))
        #expect(other.folded == Self.lower)
        let bytes = Array(#"{"callId":"\#(text)"}"#.utf8)
        let read = try #require(CallID(bytes, 11..<47))
        #expect(read == lower && read.hashValue == lower.hashValue && read.text == text)
        let pair = Pair(try user("10"), try user("11"))
        #expect([CallKey(id: lower, pair: pair): 1][CallKey(id: other, pair: pair)] == 1)
    }

    @Test(
        "A callId that only resembles a UUID is another one in the other case",
        arguments: [
            "3f2504e0-4f89-41d3-9a0c-0305e82c330g", "3f2504e0-4f89-41d3-9a0c_0305e82c3301",
            "3f2504e04f89-41d3-9a0c-0305e82c33010a", "a", "3f2504e0-4f89-41d3-9a0c-0305e82c330",
        ]
    )
    func lookalikes(_ text: String) throws {
        #expect(try call(text) != call(text.uppercased()))
        #expect(try call(text.uppercased()).folded == text.uppercased())
    }

    @Test("The order of two UUIDs, which decides a glare, does not depend on their case")
    func order() throws {
        let (first, second) = ("a0000000-0000-4000-8000-000000000000", "b0000000-0000-4000-8000-000000000000")
        for one in [first, first.uppercased()] {
            for other in [second, second.uppercased()] {
                #expect(try call(one) < call(other))
                #expect(try Glare.winner(call(one), call(other)) == Glare.winner(call(first), call(second)))
            }
        }
    }

    @Test("The UUID in CallKit does not depend on the case of the callId, in any epoch", arguments: [UInt32(1), 2, 7])
    func ofCall(_ epoch: UInt32) throws {
        let upper = try call(Self.lower.uppercased())
        #expect(try UUIDv5.call(upper, epoch: epoch) == UUIDv5.call(call(Self.lower), epoch: epoch))
    }

    @Test("A store keeps a UUID as it was written, or in lower case if it has letters of both cases")
    func stored() throws {
        #expect(try call(Self.lower).storedText == Self.lower)
        #expect(try call(Self.lower.uppercased()).storedText == Self.lower.uppercased())
        #expect(try call("3F2504e0-4f89-41d3-9a0c-0305e82c3301").storedText == Self.lower)
        #expect(try call("A-b").storedText == "A-b")
        let spellings = try call(Self.lower.uppercased()).storedSpellings
        #expect(spellings?.lower == Self.lower && spellings?.upper == Self.lower.uppercased())
        #expect(try call("A-b").storedSpellings == nil)
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
        #expect(UUIDv5.call(id, epoch: 2) == UUIDv5.url("ringline:\(id.folded)/2"))
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
