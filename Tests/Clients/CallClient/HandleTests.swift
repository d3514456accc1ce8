import CallClient
import CallCore
import JSON
import Testing

@Suite("The address under which a user is shown")
struct HandleTests {
    @Test(
        "A phone number is sent and compared as its digits after a leading +",
        arguments: [
            ("+82 10-1234-5678", "+821012345678"), ("+82\u{A0}10\u{2011}1234\u{2011}5678", "+821012345678"),
            ("\u{202A}+82 (0)10.1234/5678\u{202C}", "+821012345678"), ("010-1234-5678", "01012345678"),
            ("\u{2068}+49 30 1234\u{2069}", "+49301234"), ("+", "+"), (" taro ", "taro"), ("+82x", "+82x"),
            ("82+10", "82+10"), ("", ""), ("\u{202A}\u{202C}", ""), ("00", "00"), ("82 10", "8210"),
            // What the server takes for one number, the kits write in one form.
            ("0082 10 1234 5678", "+821012345678"), ("tel:+82-10-1234-5678;ext=5", "+821012345678"),
            ("＋８２（１０）１２３４．５６７８", "+821012345678"), ("+82·10・1234•5678", "+821012345678"),
            ("010-1234-5678 x5", "01012345678"),
            ("(+82) 10 [1234] 5678", "+821012345678"), ("+82\u{200B}10\u{AD}1234\u{2212}5678", "+821012345678"),
        ]
    )
    func number(_ text: String, _ normalized: String) {
        #expect(CallClient.HandleType.phoneNumber.normalized(text) == normalized)
    }

    @Test("Any other address only loses the blanks around it")
    func others() {
        for type in [CallClient.HandleType.generic, .emailAddress] {
            #expect(type.normalized(" a-b@example.com\u{A0}") == "a-b@example.com")
            #expect(type.normalized("-1 (2)") == "-1 (2)")
        }
    }

    private func offers(_ change: (inout CallClient.Configuration) -> Void) -> [String] {
        var bench = ClientBench { change(&$0) }
        bench.start()
        return bench.history.compactMap(\.sent).filter { $0.kind == .offer }.map {
            String(decoding: $0.frame, as: UTF8.self)
        }
    }

    @Test("Each offer has the configured handle and its kind; without them it has neither")
    func sent() {
        let plain = offers { _ in }
        #expect(plain.count == 1 && !plain.contains { $0.contains("handle") })
        let number = offers {
            $0.handle = "+82 10-1234-5678"
            $0.handleType = .phoneNumber
        }
        #expect(number.first?.contains(#","handle":"+821012345678","handleType":"phoneNumber""#) == true, "\(number)")
        let kind = offers { $0.handleType = .emailAddress }
        #expect(kind.first?.contains(#""handleType":"emailAddress""#) == true)
        #expect(kind.first?.contains(#""handle":"#) == false)
    }

    @Test("Later offers have the handle too, because a push has the newest offer's handle")
    func renegotiation() {
        var bench = ClientBench.talkingAsCaller { $0.handle = "a@example.com" }
        bench.take(.renegotiate(ClientBench.ownUUID, hasVideo: true))
        bench.take(.localDescription(ClientBench.ownUUID, round: 2, .offer, sdp: "v=0 2"))
        let last = bench.history.compactMap(\.sent).last { $0.kind == .offer }
        let frame = String(decoding: last?.frame ?? [], as: UTF8.self)
        #expect(frame.contains(#""handle":"a@example.com""#))
    }

    @Test("The callee of an own call is shown by their user id, with the kind of user ids")
    func ownCall() {
        for (handle, type) in [(nil, CallClient.HandleType.phoneNumber), ("+82 10", .generic)] {
            var bench = ClientBench {
                $0.handle = handle
                $0.handleType = .phoneNumber
            }
            bench.start()
            let peer = bench.client.calls.last?.displayedPeer
            #expect(peer?.handleType == type && peer?.handle == "11")
        }
    }

    @Test("An incoming call is shown under the offer's handle, and a push for it changes nothing")
    func incoming() throws {
        var bench = ClientBench()
        let frame =
            #"{"type":"offer","callId":"c1","epoch":1,"seq":1,"from":"11","fromDevice":"d","id":"o","room":"p2p:11-10","#
            + #""sdp":"v=0 offer","hasVideo":false,"handle":"+821012345678","handleType":"phoneNumber"}"#
        let outputs = bench.take(.received(ServerMessage(Array(frame.utf8))))
        guard case .reportIncoming(let uuid, let peer)? = outputs.first else {
            return #expect(Bool(false), "\(outputs)")
        }
        #expect(peer.handle == "+821012345678" && peer.handleType == .phoneNumber)
        let push: [String: PushValue] = [
            "handle": .string("+821012345678"), "handleType": .string("phoneNumber"),
            "callUUID": .string(uuid.text),
        ]
        let repeated = bench.take(.pushed(ClientBench.push(at: bench.now, push)))
        #expect(repeated.first == .reportRepeated(uuid, peer))
    }

    @Test("A handle without a kind is generic, and an offer without a handle keeps what was shown")
    func kinds() {
        var bench = ClientBench()
        func offer(_ seq: Int, _ sdp: String, _ more: String) -> [UInt8] {
            Array(
                (#"{"type":"offer","callId":"c1","epoch":1,"seq":\#(seq),"from":"11","fromDevice":"d","id":"o\#(seq)","#
                    + #""room":"p2p:11-10","sdp":"\#(sdp)","hasVideo":false\#(more)}"#).utf8
            )
        }
        bench.take(.received(ServerMessage(offer(1, "v=0 1", #","handle":"a","handleType":"emailAddress""#))))
        bench.take(.received(ServerMessage(offer(2, "v=0 2", ""))))
        #expect(bench.client.calls.last?.displayedPeer.handleType == .emailAddress)
        bench.take(.received(ServerMessage(offer(3, "v=0 3", #","handle":"b""#))))
        #expect(bench.client.calls.last?.displayedPeer.handleType == .generic)
        #expect(bench.client.calls.last?.displayedPeer.handle == "b")
    }

    @Test(
        "A handle is shown without what cannot be seen; if nothing is visible, the caller's user id is shown",
        arguments: [
            ("a\u{202E}b", "ab"), ("\u{2066}a", "a"), ("a\u{1B}[31m", "a[31m"), ("\u{200B}", "11"), ("\u{3164} ", "11"),
            ("", "11"), ("Jos\u{E9} \u{1F468}\u{200D}\u{1F469}", "Jos\u{E9} \u{1F468}\u{200D}\u{1F469}"),
        ]
    )
    func shown(_ handle: String, _ shown: String) throws {
        var bench = ClientBench()
        var frame = JSONWriter(capacity: 256)
        frame.beginObject()
        for (name, value) in [
            ("type", "offer"), ("callId", "c1"), ("from", "11"), ("fromDevice", "d"), ("id", "o"),
            ("room", "p2p:11-10"), ("sdp", "v=0 offer"), ("handle", handle),
        ] {
            frame.name(name)
            frame.value(value)
        }
        for name in ["epoch", "seq"] {
            frame.name(name)
            frame.value(1)
        }
        frame.endObject()
        bench.take(.received(ServerMessage(Array(frame.bytes))))
        #expect(bench.client.calls.last?.displayedPeer.handle == shown)
    }
}
