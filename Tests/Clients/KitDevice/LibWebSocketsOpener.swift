import Dispatch
import Foundation
import LibWebSockets
import RinglineKit

/// The kit's sockets on Linux, where `URLSession` has none: libwebsockets, a thread for each.
final class LibWebSocketsOpener: SocketOpener {
    func open(
        _ request: SocketRequest,
        events: @escaping @MainActor @Sendable (SocketEvent) -> Void
    ) -> any SignalingSocket {
        var configuration = WebSocketClient.Configuration(url: request.url)
        configuration.authorization = request.authorization
        let client = WebSocketClient(configuration) { event in
            guard let event = SocketEvent(event) else { return }
            DispatchQueue.main.async { MainActor.assumeIsolated { events(event) } }
        }
        Thread { client.run() }.start()
        return LibWebSocketsSocket(client)
    }
}

private final class LibWebSocketsSocket: SignalingSocket {
    private let client: WebSocketClient

    init(_ client: WebSocketClient) { self.client = client }

    func send(_ text: String) { client.send(text) }
    func ping() { client.ping() }
    func close() { client.close() }
}

extension SocketEvent {
    /// The same event; `nil` for `opened`, because a connection counts as open at `welcome`.
    fileprivate init?(_ event: WebSocketClient.Event) {
        switch event {
        case .opened: return nil
        case .text(let text): self = .text(text)
        case .pong: self = .pong
        case .closed(let code, let reason): self = .closed(SocketClosure(code: code.map(Int.init), reason: reason))
        case .failed(let reason):
            // The library says the status only in words, and these are its words for 401.
            let isUnauthorized = reason.contains("ws upgrade unauthorized")
            self = .closed(SocketClosure(reason: reason, status: isUnauthorized ? 401 : nil))
        }
    }
}
