import CallCore
import CallPorts
import LibWebSockets
import ServerLog
import ServerTesting
import Testing
import Threads

@testable import Gateway

extension EveryTest {
    @Suite("The opening of a gateway")
    struct GatewayOpeningTests {
        /// A configuration whose port for operators cannot be bound: 192.0.2.1 is reserved for documents (RFC 5737), so
        /// no machine has it.
        private func configuration() -> GatewayConfiguration {
            var configuration = GatewayConfiguration()
            configuration.server.host = "127.0.0.1"
            configuration.server.port = 0
            configuration.mayWaitForStore = true
            configuration.admin = ("192.0.2.1", 0)
            return configuration
        }

        private func gateway() -> Gateway {
            Gateway(configuration: configuration(), authenticator: NobodysAuthenticator(), log: .silent)
        }

        @Test("The store is closed again if the operators' port cannot be bound after it was opened")
        func store() {
            let store = RecordingStore()
            #expect(throws: ServerError.self) {
                try gateway().open(store: store, senders: Senders(push: SilentPushSender()), ports: .none)
            }
            #expect(store.calls == ["open", "close"])
        }

        @Test("A node leaves the list of nodes again if the operators' port cannot be bound")
        func register() throws {
            let register = RecordingRegister()
            let node = NodeConfiguration(id: try #require(NodeID("n")), listen: ("127.0.0.1", 0))
            #expect(throws: ServerError.self) {
                try gateway().open(
                    as: node,
                    register: register,
                    senders: Senders(push: SilentPushSender()),
                    ports: { _ in .none }
                )
            }
            #expect(register.calls == ["open", "close"])
        }

        @Test("While the store is opened, /readyz says why that takes long, if it is known")
        func delay() throws {
            var configuration = configuration()
            let port = try unusedPort()
            configuration.admin = ("127.0.0.1", port)
            let gateway = Gateway(configuration: configuration, authenticator: NobodysAuthenticator(), log: .silent)
            let found = Monitor<[String]>([])
            let store = RecordingStore(onOpen: {
                for delay in [nil, StartDelay.storeUnavailable, .storeInUse] {
                    if let delay { gateway.startIsDelayed(by: delay) }
                    let response = Peer(port: port).get("/readyz")
                    found.withLock { $0.append("\(response?.status ?? 0) \(response?.body ?? "")") }
                }
            })
            try gateway.open(store: store, senders: Senders(push: SilentPushSender()), ports: .none)
            let wanted = ["starting", "store unavailable", "store in use"]
            #expect(found.withLock { $0 } == wanted.map { #"503 {"status":"\#($0)","version":"dev"}"# })
        }
    }
}
