import CallWire
import JSON
import LibWebSockets
import Threads

/// A phone of `ringline try`: its app has one WebSocket, and nobody sees it.
final class TrialPhone: Sendable {
    private struct State {
        var messages: [(type: String, message: JSONObject)] = []
        var isOpen = false
        var fault: String?
    }

    private let state = Monitor(State())
    private let client: WebSocketClient
    private let thread: WorkThread

    /// Starts the app, which connects to a server.
    init(named name: String, _ server: ClientTarget, token: String) throws(UsageError) {
        var target = server
        target.path = "/ws?device=\(name)"
        var configuration = WebSocketClient.Configuration(url: target.url)
        configuration.authorization = "Bearer \(token)"
        let client = WebSocketClient(configuration) { [state] event in Self.socketReported(event, into: state) }
        self.client = client
        do throws(WorkThread.Refused) { thread = try WorkThread(named: name) { client.run() } } catch {
            throw UsageError("the system cannot start a thread: \(error.reason)")
        }
    }

    private static func socketReported(_ event: WebSocketClient.Event, into state: Monitor<State>) {
        switch event {
        case .opened, .pong: break
        case .text(let text):
            // The server of this process sends nothing else.
            guard let message = try? JSONObject(Array(text.utf8)), let type = message.word("type") else { return }
            state.withLock { state in
                state.isOpen = state.isOpen || type == "welcome"
                state.messages.append((type, message))
            }
        case .closed: state.withLock { $0.isOpen = false }
        case .failed(let why): state.withLock { $0.fault = why }
        }
    }

    /// Whether the server has accepted the app.
    var isConnected: Bool { state.withLock { $0.isOpen } }

    /// Why the app could not connect.
    var fault: String? { state.withLock { $0.fault } }

    /// Returns whether a message of this type, and with this state of the call, has arrived.
    func has(_ type: String, state callState: String? = nil) -> Bool {
        state.withLock { state in
            state.messages.contains { entry in
                entry.type == type && (callState == nil || entry.message.word("state") == callState)
            }
        }
    }

    /// Sends a signal.
    func sendFrame(_ type: String, _ write: (inout JSONWriter) -> Void) {
        var json = JSONWriter()
        json.beginObject()
        json.name("type")
        json.plain(type)
        write(&json)
        json.endObject()
        client.send(String(decoding: json.bytes, as: UTF8.self))
    }

    /// Ends the app: the system closes its connection.
    func kill() {
        client.close()
        thread.join()
    }
}
