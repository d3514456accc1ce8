import CallCore
import CallWire
import Testing

@Suite("A request's body with one value")
struct RequestBodyTests {
    /// Returns the value that a parser reads from a body, or the message with which it refuses the body.
    private func result<Value>(
        _ body: String,
        _ parse: ([UInt8]) throws(WireError) -> Value
    ) -> Result<Value, WireError> {
        do throws(WireError) { return .success(try parse(bytes(body))) } catch { return .failure(error) }
    }

    private func invalid(_ field: Field, _ problem: String) -> WireError { .invalid(field, problem) }

    @Test("A request for a call's record names the callee; `call_type` is `audio`, `video` or absent")
    func callee() throws {
        let ten = try #require(UserID("10"))
        for type in ["", #","call_type":"audio""#, #","call_type":"video""#, #","call_type":null"#] {
            #expect(result(#"{"callee_id":10\#(type)}"#, RequestBody.callee) == .success(ten))
        }
        #expect(result("{}", RequestBody.callee) == .failure(invalid(.callee_id, "missing")))
        let wrong = invalid(.call_type, "must be audio or video")
        #expect(result(#"{"callee_id":"10","call_type":"fax"}"#, RequestBody.callee) == .failure(wrong))
        #expect(result("{", RequestBody.callee).error?.code == .invalidJSON)
    }

    @Test("A request to block names the user in `userId` or `blocked_user_id`; `userId` takes precedence")
    func block() throws {
        let ten = try #require(UserID("10"))
        #expect(result(#"{"userId":"10","blocked_user_id":"11"}"#, RequestBody.blockedUser) == .success(ten))
        #expect(result(#"{"blocked_user_id":10}"#, RequestBody.blockedUser) == .success(ten))
        #expect(result("{}", RequestBody.blockedUser) == .failure(invalid(.userId, "missing")))
        #expect(result(#"{"userId":"é"}"#, RequestBody.blockedUser).error?.field == "userId")
    }

    @Test("Do-not-disturb ends at the moment `until`, or now if `until` is null")
    func doNotDisturb() {
        #expect(result(#"{"until":5}"#, RequestBody.doNotDisturbEnd) == .success(Moment(milliseconds: 5)))
        #expect(result(#"{"until":null}"#, RequestBody.doNotDisturbEnd) == .success(nil))
        #expect(result("{}", RequestBody.doNotDisturbEnd) == .failure(invalid(.until, "missing")))
        let wrong = invalid(.until, "must be milliseconds since 1970, or null")
        for value in [#""5""#, "-1", "1.5", "true"] {
            #expect(result(#"{"until":\#(value)}"#, RequestBody.doNotDisturbEnd) == .failure(wrong))
        }
    }

    @Test("A revocation of tokens may name another user")
    func revokedUser() throws {
        #expect(result(#"{"userId":10}"#, RequestBody.revokedUser) == .success(UserID("10")))
        #expect(result("{}", RequestBody.revokedUser) == .success(nil))
        #expect(result(#"{"userId":[]}"#, RequestBody.revokedUser).error?.field == "userId")
    }
}

@Suite("A device's registration")
struct DeviceRegistrationTests {
    private static let token = String(repeating: "aB", count: 32)

    private func registration(_ body: String, device: DeviceID? = nil) throws(WireError) -> DeviceRegistration {
        try DeviceRegistration(body: bytes(body), device: device)
    }

    private func refusal(_ body: String) -> String? {
        do throws(WireError) {
            _ = try registration(body)
            return nil
        } catch { return error.message }
    }

    @Test("An iPhone registers both push tokens, in lower case, with its bundle id and environment")
    func iPhone() throws {
        let read = try registration(
            #"{"platform":"ios","bundleId":"com.example.chat","deviceId":"d1","environment":"development","#
                + #""voipDeviceToken":"\#(Self.token)","apnsDeviceToken":"\#(Self.token)"}"#
        )
        let expected = DeviceRegistration(
            tokens: [.voip: .plain(Self.token.lowercased()), .alert: .plain(Self.token.lowercased())],
            bundleID: "com.example.chat",
            platform: "ios",
            device: DeviceID("d1"),
            environment: .sandbox
        )
        #expect(read == expected)
    }

    @Test("A registration may have only a Firebase token; the request's address then names the device")
    func firebase() throws {
        let device = DeviceID("a1")
        let expected = DeviceRegistration(
            tokens: [.firebase: .plain("f")],
            bundleID: "",
            platform: "android",
            device: device
        )
        #expect(try registration(#"{"fcm_token":"f"}"#, device: device) == expected)
        #expect(try registration(#"{"fcm_token":"f","deviceId":"b"}"#, device: device).device == DeviceID("b"))
    }

    @Test("A refusal names the field and its rule")
    func refused() {
        let hex = "must be an even number of hexadecimal digits, 16 to 512"
        let apple = #""voipDeviceToken":"\#(Self.token)""#
        #expect(refusal("{}") == "voipDeviceToken: missing; give it, apnsDeviceToken, fcm_token or webPush")
        #expect(refusal(#"{"voipDeviceToken":"zz"}"#) == "voipDeviceToken: \(hex)")
        #expect(refusal(#"{"apnsDeviceToken":"\#(Self.token)a"}"#) == "apnsDeviceToken: \(hex)")
        for token in ["", "a b", #"a\n"#, #"a\u0000"#, "é"] {
            #expect(refusal("{\"fcm_token\":\"\(token)\"}") == "fcm_token: must be 1 to 4,096 visible ASCII characters")
        }
        #expect(refusal("{\(apple)}") == "bundleId: missing")
        #expect(
            refusal(#"{\#(apple),"bundleId":"a b"}"#) == "bundleId: must be 1 to 155 characters of A–Z a–z 0–9 . - _"
        )
        #expect(refusal(#"{\#(apple),"bundleId":"a"}"#) == "platform: missing")
        for platform in ["", #"\u001b[31m"#, #"a\u0000"#, String(repeating: "a", count: 33)] {
            #expect(
                refusal(#"{\#(apple),"bundleId":"a","platform":"\#(platform)"}"#)
                    == "platform: must be 1 to 32 bytes without control characters"
            )
        }
        #expect(
            refusal(#"{\#(apple),"bundleId":"a","platform":"ios","environment":"test"}"#)
                == "environment: must be sandbox or production"
        )
    }

    @Test("A bundle id has 1 to 155 letters, digits, dots, hyphens and underscores, as Android's application ids have")
    func bundleIDs() {
        let ids = ["a", "com.example.Chat-2", "com.example.my_app", String(repeating: "a", count: 155)]
        #expect(ids.allSatisfy(DeviceRegistration.isBundleID))
        let others = ["", "a b", "a/b", "é", String(repeating: "a", count: 156)]
        #expect(!others.contains(where: DeviceRegistration.isBundleID))
    }

    @Test(
        "The topic of VoIP pushes stands for the app's bundle id, unless too little would remain for one",
        arguments: [
            ("com.example.app.voip", "com.example.app"), ("com.example.my_app.VoIP", "com.example.my_app"),
            ("com.example.voip", "com.example.voip"), ("voip", "voip"),
            ("com.example.app.voipy", "com.example.app.voipy"),
            ("com.example.voip.voip", "com.example.voip"), ("com.example.app", "com.example.app"),
        ]
    )
    func topic(_ given: String, _ bundle: String) throws {
        let body = #"{"voipDeviceToken":"\#(Self.token)","platform":"ios","bundleId":"\#(given)"}"#
        #expect(try DeviceRegistration(body: Array(body.utf8), device: nil).bundleID == bundle)
    }
}

@Suite("A response's body")
struct ResponseBodyTests {
    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test("The credential for the TURN server comes with the ICE servers, and the TURN server is the last of them")
    func turn() {
        let urls = ["turn:a", "turns:b"]
        let server = #"{"urls":["turn:a","turns:b"],"username":"1:11","credential":"c/+="}"#
        let stun = #"{"urls":["stun:s"]}"#
        let servers = TURNCredentialBody.iceServers(
            username: "1:11",
            credential: "c/+=",
            urls: urls,
            after: bytes("[]")
        )
        #expect(text(servers) == "[\(server)]")
        let body = TURNCredentialBody.bytes(
            username: "1:11",
            credential: "c/+=",
            ttlSeconds: 60,
            urls: urls,
            after: bytes("[\(stun)]")
        )
        #expect(
            text(body)
                == #"{"username":"1:11","credential":"c/+=","ttl":60,"urls":["turn:a","turns:b"],"iceServers":[\#(stun),\#(server)]}"#
        )
    }

    @Test("The response to an accepted request has ok, or the new value")
    func accepted() throws {
        let call = try #require(CallID("c-1"))
        #expect(
            text(AcceptedBody.signal(call, epoch: 2, seq: 7, StateChange(.ended, reason: .hangup)))
                == #"{"ok":true,"callId":"c-1","epoch":2,"seq":7,"state":"ended","reason":"hangup"}"#
        )
        #expect(text(AcceptedBody.ok) == #"{"ok":true}"#)
        #expect(text(AcceptedBody.tokensRevoked(before: Moment(milliseconds: 5))) == #"{"ok":true,"before":5}"#)
        #expect(text(AcceptedBody.doNotDisturb(until: nil)) == #"{"until":null}"#)
        #expect(text(AcceptedBody.doNotDisturb(until: Moment(milliseconds: 5))) == #"{"until":5}"#)
    }
}

extension Result where Failure == WireError {
    fileprivate var error: WireError? { if case .failure(let error) = self { error } else { nil } }
}
