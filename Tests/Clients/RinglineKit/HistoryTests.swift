import CallClient
import CallCore
import KitFakes
import RinglineKit
import Testing

@MainActor
@Suite("The history of the user's calls")
struct HistoryTests {
    private let server = FakeServer()
    private let hanako: FakeDevice

    init() { hanako = server.add("10", "hanako-1", FakeSystem()) }

    private let body = #"""
        [{"id":7,"callId":"c-2","epoch":1,"room":"p2p:10-11","caller_id":10,"callee_id":11,"call_type":"audio","hasVideo":false,
        "state":"active","reason":null,"direction":"outgoing","started_at":"2026-11-21T18:13:27.519Z","duration":0,
        "startedAt":1795284807519,"answeredAt":1795284807586,"activeAt":null,"endedAt":null,"ringMilliseconds":67},
        {"id":6,"callId":"c-1","epoch":2,"room":"p2p:wake-10","caller_id":"wake","callee_id":"10","call_type":"video",
        "hasVideo":true,"state":"ended","reason":"a later reason","direction":"missed","startedAt":1,"answeredAt":null,
        "activeAt":null,"endedAt":2,"scheduled":{"schedule":"morning","occurrence":1,"ring":1},"later":{}}]
        """#

    @Test("It has the server's calls, even if a later version adds members and reasons")
    func calls() async throws {
        hanako.forcedBody = body
        let calls = try await history()
        #expect(calls.map(\.id) == [7, 6] && calls.map(\.peer) == ["11", "wake"])
        #expect(calls.map(\.isOutgoing) == [true, false] && calls.map(\.isMissed) == [false, true])
        #expect(calls[0].endedAt == nil && calls[0].reason == nil && calls[0].answeredAt != nil)
        #expect(calls[1].hasVideo && calls[1].schedule == "morning" && calls[1].reason == nil && calls[1].epoch == 2)
    }

    @Test("A page begins after the call that it names")
    func pages() async throws {
        hanako.forcedBody = "[]"
        #expect(try await history(limit: 2, before: 6).isEmpty)
        #expect(hanako.requests.last?.url.hasSuffix("/api/calls?limit=2&before=6") == true)
    }

    @Test("A refusal, a malformed response and a missing one are errors that say so")
    func errors() async {
        for (status, body, text) in [
            (503, #"{"code":"store_unavailable","message":"later"}"#, "503 store_unavailable: later"),
            (200, "{}", "the response is no history"), (0, "", "no response"),
        ] {
            hanako.forcedStatus = status == 200 ? nil : status
            hanako.forcedBody = body
            do throws(RinglineRequestError) {
                _ = try await history()
                #expect(Bool(false), "\(status)")
            } catch {
                #expect(error.status == status && error.description.hasPrefix(text), "\(error)")
            }
        }
    }

    private func history(limit: Int = 50, before: Int64? = nil) async throws(RinglineRequestError) -> [PastCall] {
        let kit = hanako.kit ?? hanako.launch(inForeground: false)
        let settling = Task { while !Task.isCancelled { await server.settle() } }
        defer { settling.cancel() }
        return try await kit.history(limit: limit, before: before)
    }
}
