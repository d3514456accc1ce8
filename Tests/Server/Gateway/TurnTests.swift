import CallCore
import CallPorts
import LibWebSockets
import ServerLog
import ServerTesting
import Testing
import Threads

@testable import Gateway

extension EveryTest {
    @Suite("The turns of a gateway")
    struct TurnTests {
        @Test("A signal is relayed before its commit is handed to the store")
        func relayBeforeCommit() throws {
            let callee = Monitor<Peer?>(nil)
            let heard = Monitor<[String]>([])
            // The store hands control back only after the callee has read, or after five seconds in which it could not.
            let store = CommitWatchingStore {
                guard let peer = callee.withLock({ $0.take() }), let frame = peer.readFrame() else { return }
                heard.withLock { $0.append(frame.text) }
            }
            var configuration = GatewayConfiguration()
            configuration.server.host = "127.0.0.1"
            configuration.server.port = 0
            let gateway = Gateway(configuration: configuration, authenticator: UserNamingAuthenticator(), log: .silent)
            try gateway.open(store: store, senders: Senders(push: SilentPushSender()), ports: .none)
            let isOver = Monitor(false)
            _ = try WorkThread(named: "gateway") {
                gateway.run()
                isOver.withLock { $0 = true }
            }
            let (caller, reader) = (Peer(port: gateway.port), Peer(port: gateway.port))
            for (peer, user) in [(caller, "11"), (reader, "10")] {
                #expect(peer.upgrade(headers: "Authorization: Bearer \(user)\r\n")?.status == 101)
                #expect(peer.readFrame()?.text.contains("welcome") == true)
            }
            callee.withLock { $0 = reader }
            caller.sendText(#"{"type":"offer","id":"o","callId":"c-1","to":"10","sdp":"v=0\r\n"}"#)
            let first = heard.wait(until: .now + .seconds(10)) { $0.first }
            #expect(first?.contains(#""type":"offer""#) == true)
            caller.close()
            reader.close()
            gateway.drain()
            #expect(isOver.wait(until: .now + .seconds(10)) { $0 ? true : nil } == true)
        }
    }
}

/// A store that calls a function in each commit, and reports nothing.
private final class CommitWatchingStore: CallStore {
    private let onCommit: @Sendable () -> Void

    init(onCommit: @escaping @Sendable () -> Void) { self.onCommit = onCommit }

    func open(at now: Moment) -> StoredState { StoredState() }

    func commit(_ changes: [Change], as ticket: Ticket) -> Bool {
        onCommit()
        return false
    }

    func submit(_ query: StoreQuery, as id: StoreQueryID) {}
    func close() {}
}

/// An authenticator for which each token is the name of its user.
private struct UserNamingAuthenticator: Authenticator {
    func authenticate(_ token: String, atSeconds now: Int64) throws(AuthenticationError) -> Principal {
        guard let user = UserID(token) else { throw .invalid("no user") }
        return Principal(user: user, fingerprint: TokenFingerprint(rawValue: 1))
    }

    func authenticate(capability: String, atMilliseconds now: Int64) throws(AuthenticationError) -> Principal {
        throw .invalid("nobody is known")
    }
}
