import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("The ICE servers for a client")
struct TURNTests {
    private struct FixedIssuer: TURNCredentialIssuer {
        func credential(for user: UserID, at now: Moment) -> TURNCredential {
            TURNCredential(
                username: "1:\(user.text)",
                credential: "c/+=",
                ttlSeconds: 60,
                urls: ["turn:a", "turns:b"]
            )
        }
    }

    private let relay = #"{"urls":["turn:a","turns:b"],"username":"1:11","credential":"c/+="}"#

    private func switchboard(
        _ iceServers: String = "[]",
        turnCredentials: (any TURNCredentialIssuer)? = FixedIssuer()
    ) -> Switchboard {
        var policy = Policy()
        policy.iceServers = Array(iceServers.utf8)
        return Switchboard(
            policy: policy,
            stored: StoredState(),
            ports: .init(
                capabilities: Capabilities(),
                turnCredentials: turnCredentials,
                random: SystemRandomNumberGenerator()
            ),
            at: SwitchboardWorld.start
        )
    }

    private func iceServers(_ switchboard: borrowing Switchboard, _ principal: Principal) -> String {
        String(decoding: switchboard.iceServers(for: principal), as: UTF8.self)
    }

    /// Returns the response to a request for the TURN credential.
    private func response(to principal: Principal) throws -> Reply {
        var outputs: [Switchboard.Output] = []
        var switchboard = switchboard()
        switchboard.handle(
            .requested(RequestID(rawValue: 1), principal, .credentials(.turn)),
            at: SwitchboardWorld.start,
            into: &outputs
        )
        guard case .reply(_, let reply)? = outputs.first else { throw Missing("no reply") }
        return reply
    }

    @Test("The ICE servers are the STUN servers, followed by the TURN server with the user's own credential")
    func both() throws {
        let stun = #"{"urls":["stun:s"]}"#
        let principal = try SwitchboardTests.principal("11")
        #expect(iceServers(switchboard("[\(stun)]"), principal) == "[\(stun),\(relay)]")
        #expect(iceServers(switchboard(), principal) == "[\(relay)]")
        #expect(iceServers(switchboard("[\(stun)]", turnCredentials: nil), principal) == "[\(stun)]")
    }

    @Test("A client with a push's capability gets no TURN credential, because the capability is for one call alone")
    func capability() throws {
        let scope = CallScope(call: try call("c-1"), epoch: 1, peer: try user("10"), device: try device("a1"))
        let principal = Principal(user: try user("11"), scope: scope)
        #expect(iceServers(switchboard(), principal) == "[]")
        #expect(try response(to: principal).status == 403)
    }

    @Test("The response to a request for the TURN credential contains the ICE servers too")
    func asked() throws {
        #expect(
            String(decoding: try response(to: SwitchboardTests.principal("11")).body, as: UTF8.self)
                == #"{"username":"1:11","credential":"c/+=","ttl":60,"urls":["turn:a","turns:b"],"iceServers":[\#(relay)]}"#
        )
    }
}
