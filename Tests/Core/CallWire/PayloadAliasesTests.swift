import CallCore
import Testing

@testable import CallWire

@Suite("The keys that an app wants in the payload of a call's push")
struct PayloadAliasesTests {
    private func payload(_ keys: [(String, String)], capability: String? = nil) throws -> String {
        var payload = IncomingCallPayload(
            callID: "c-1",
            epoch: 2,
            caller: "11",
            name: "Taro \"T\"",
            callee: "10",
            room: "p2p:11-10",
            hasVideo: true,
            uuid: "u-1",
            ringUntil: Moment(milliseconds: 45_000),
            capability: capability
        )
        for (key, member) in keys { try payload.aliases.add(key, for: member) }
        return String(decoding: payload.bytes(at: Moment(milliseconds: 7)), as: UTF8.self)
    }

    /// Returns the end of a payload, behind its own members.
    private func added(_ keys: [(String, String)]) throws -> String {
        let (plain, full) = (try payload([]), try payload(keys))
        #expect(full.hasPrefix(plain.dropLast()))
        return String(full.dropFirst(plain.count - 1))
    }

    @Test("A key repeats a member with its type and its escapes")
    func members() throws {
        #expect(
            try added([("UUID", "callUUID"), ("nameCaller", "callerName")])
                == #","UUID":"u-1","nameCaller":"Taro \"T\""}"#
        )
        #expect(try added([("isVideo", "hasVideo"), ("n", "epoch")]) == #","isVideo":true,"n":2}"#)
        #expect(try added([("me", "toUserId"), ("at", "sentAt")]) == #","me":"10","at":7}"#)
    }

    @Test("Each member can be repeated, and says the same")
    func all() throws {
        // There may be 16 keys, and the payload of an ordinary call has no member `scheduled`.
        let members = PayloadAliases.Member.allCases.filter { $0 != .scheduled }
        let text = try payload(members.map { ("x-\($0.rawValue)", $0.rawValue) }, capability: "a")
        for member in members {
            let parts = text.components(between: "\"\(member.rawValue)\":", and: "\"x-\(member.rawValue)\":")
            #expect(parts.0 == parts.1, "\(member)")
        }
    }

    @Test("A key with dots makes objects, and keys with the same beginning share one")
    func dots() throws {
        #expect(
            try added([("data.id", "callId"), ("info", "room"), ("data.user.id", "fromUserId"), ("data.v", "hasVideo")])
                == #","data":{"id":"c-1","user":{"id":"11"},"v":true},"info":"p2p:11-10"}"#
        )
    }

    @Test("In a Firebase message a key keeps its dots, its value is a string, and reserved keys are left out")
    func data() throws {
        var payload = IncomingCallPayload(
            callID: "c-1",
            epoch: 2,
            caller: "11",
            name: "Taro",
            callee: "10",
            room: "p2p:11-10",
            hasVideo: true,
            uuid: "u-1",
            ringUntil: Moment(milliseconds: 45_000),
            capability: nil
        )
        payload.form = .data
        let plain = payload.encoded(at: Moment(milliseconds: 7))
        for (key, member) in [
            ("data.id", "callId"), ("v", "hasVideo"), ("from", "fromUserId"), ("google.x", "epoch"), ("gcm", "room"),
        ] { try payload.aliases.add(key, for: member) }
        let full = payload.encoded(at: Moment(milliseconds: 7))
        let (short, long) = (String(decoding: plain.bytes, as: UTF8.self), String(decoding: full.bytes, as: UTF8.self))
        #expect(long == short.dropLast() + #","data.id":"c-1","v":"true"}"#)
        #expect(full.size - plain.size == "data.idc-1vtrue".utf8.count)
    }

    @Test(
        "A schedule's data is left out where an app's key takes its place, so that no name comes twice",
        arguments: [("data.id", PushForm.voip, false), ("data", .alert, false), ("data", .data, false)]
            + [("data.id", .web, false), ("data.id", .data, true), ("database", .voip, true)]
    )
    func scheduledData(_ key: String, _ form: PushForm, _ isKept: Bool) throws {
        var payload = IncomingCallPayload(
            callID: "c-1",
            epoch: 1,
            caller: "wake",
            name: "Wake",
            callee: "10",
            room: "p2p:wake-10",
            hasVideo: false,
            uuid: "u-1",
            ringUntil: Moment(milliseconds: 45_000),
            capability: nil
        )
        payload.form = form
        payload.data = ArraySlice(#"{"voice":"a"}"#.utf8)
        try payload.aliases.add(key, for: "callId")
        let text = String(decoding: payload.bytes(at: Moment(milliseconds: 7)), as: UTF8.self)
        #expect(text.contains("voice") == isKept, "\(text)")
        #expect(text.split(separator: #""data":"#).count <= 2, "\(text)")
        #expect(text.contains("c-1\"}"), "\(text)")
    }

    @Test("A member that the payload does not have is left out")
    func absent() throws { #expect(try added([("token", "act"), ("n", "epoch")]) == #","n":2}"#) }

    @Test(
        "A key that cannot be in the payload is refused",
        arguments: [
            "", ".", "a.", ".a", "a..b", "a b", "é", "a\"", "aps", "aps.alert", "callId", "callId.x", "offer", "act",
            "toUserId", String(repeating: "k", count: 65),
        ]
    )
    func refused(_ key: String) {
        var aliases = PayloadAliases()
        #expect(throws: PayloadAliases.Fault.self) { try aliases.add(key, for: "callId") }
        #expect(aliases == PayloadAliases())
    }

    @Test("A key that is another one, or a part of it, is refused", arguments: ["a.b", "a", "a.b.c"])
    func conflict(_ key: String) throws {
        var aliases = PayloadAliases()
        try aliases.add("a.b", for: "callId")
        let before = aliases
        #expect(throws: PayloadAliases.Fault.self) { try aliases.add(key, for: "epoch") }
        #expect(aliases == before)
    }

    @Test("There are at most 16 keys of at most 64 bytes, each for a known member")
    func limits() throws {
        var aliases = PayloadAliases()
        for number in 0..<16 { try aliases.add("k\(number)." + String(repeating: "k", count: 60), for: "epoch") }
        #expect(throws: PayloadAliases.Fault(message: "is one too many: there may be 16")) {
            try aliases.add("k", for: "epoch")
        }
        var others = PayloadAliases()
        for member in ["offer", "aps", "", "callid"] {
            #expect(throws: PayloadAliases.Fault.self) { try others.add("k", for: member) }
        }
    }
}

extension String {
    /// Returns the JSON values that follow two names.
    fileprivate func components(between first: String, and second: String) -> (Substring?, Substring?) {
        func value(_ name: String) -> Substring? {
            range(of: name).map { self[$0.upperBound...].prefix { $0 != "," && $0 != "}" } }
        }
        return (value(first), value(second))
    }

    private func range(of text: String) -> Range<Index>? {
        indices.first { self[$0...].hasPrefix(text) }.map { $0..<index($0, offsetBy: text.count) }
    }
}
