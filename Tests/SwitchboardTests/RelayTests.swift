import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("The ICE servers for a client")
struct RelayTests {
    private struct Relays: RelayIssuer {
        func credential(for user: UserID, at now: Moment) -> RelayCredential {
            RelayCredential(
                username: "1:\(user.text)",
                credential: "c/+=",
                ttlSeconds: 60,
                urls: ["turn:a", "turns:b"]
            )
        }
    }

    private let relay = #"{"urls":["turn:a","turns:b"],"username":"1:11","credential":"c/+="}"#

    private func board(_ iceServers: String = "[]", relay: (any RelayIssuer)? = Relays()) -> Switchboard {
        var policy = Policy()
        policy.iceServers = Array(iceServers.utf8)
        return Switchboard(
            policy: policy,
            stored: StoredState(),
            capabilities: Capabilities(),
            relay: relay,
            random: SystemRandomNumberGenerator(),
            at: World.start
        )
    }

    private func told(_ board: borrowing Switchboard, _ who: Who) -> String {
        String(decoding: board.iceServers(for: who, at: World.start), as: UTF8.self)
    }

    @Test("The ICE servers are the STUN servers, followed by the TURN server with the user's own credential")
    func both() throws {
        let stun = #"{"urls":["stun:s"]}"#
        let who = try SwitchboardTests.who("11")
        #expect(told(board("[\(stun)]"), who) == "[\(stun),\(relay)]")
        #expect(told(board(), who) == "[\(relay)]")
        #expect(told(board("[\(stun)]", relay: nil), who) == "[\(stun)]")
    }

    @Test("A client with a push's capability gets no credential, because the capability is for one call alone")
    func capability() throws {
        let scope = CallScope(call: try call("c-1"), epoch: 1, peer: try user("10"), device: try device("a1"))
        let who = Who(user: try user("11"), scope: scope)
        #expect(told(board(), who) == "[]")
        var outputs: [Switchboard.Output] = []
        var board = board()
        board.handle(.requested(RequestID(rawValue: 1), who, .relayCredential), at: World.start, into: &outputs)
        guard case .reply(_, let reply)? = outputs.first else { throw Missing("no reply") }
        #expect(reply.status == 403)
    }

    @Test("The response to a request for the credential contains the ICE servers too")
    func asked() throws {
        var outputs: [Switchboard.Output] = []
        let who = try SwitchboardTests.who("11")
        var board = board()
        board.handle(.requested(RequestID(rawValue: 1), who, .relayCredential), at: World.start, into: &outputs)
        guard case .reply(_, let reply)? = outputs.first else { throw Missing("no reply") }
        #expect(
            String(decoding: reply.body, as: UTF8.self)
                == #"{"username":"1:11","credential":"c/+=","ttl":60,"urls":["turn:a","turns:b"],"iceServers":[\#(relay)]}"#
        )
    }
}
