import CallClient
package import CallCore
import Foundation
package import RinglineKit

/// A device with a kit whose ports are fakes, and its connection to a ``FakeServer``.
@MainActor
package final class FakeDevice: SocketOpener, RequestSender {
    package let user: UserID
    package let name: String
    package let clock: FakeClock
    package let store = FakeStore()
    package let tokens = FakeTokens()
    package let system: any CallSystem
    package private(set) lazy var media = FakeMedia(name) { [unowned self] work in server.turns.append(work) }
    /// The requests and the attempts to connect, in order.
    package var requests: [SignalingRequest] = []
    package var sockets: [FakeSocket] = []
    /// Whether the server can be reached.
    package var isOnline = true
    /// The status of the next responses instead of the server's own; `nil` = the server's own.
    package var forcedStatus: Int?
    /// The body of the next responses instead of the server's own; `nil` = the server's own.
    package var forcedBody: String?
    /// How far the device's clock is ahead of the server's.
    package var clockSkew = Moment.Duration.seconds(0)
    /// The user name of its TURN credentials instead of the server's own; `nil` = the server's own.
    package var turnUsername: String?
    /// The events for the screens.
    package var heard: [RinglineEvent] = []
    package private(set) var kit: Ringline?

    // A strong reference: tasks of the kit may outlive their test.
    let server: FakeServer

    init(_ user: UserID, _ name: String, _ clock: FakeClock, _ system: any CallSystem, _ server: FakeServer) {
        self.user = user
        self.name = name
        self.clock = clock
        self.system = system
        self.server = server
        store["device"] = name
    }

    /// Launches the app: makes the kit.
    @discardableResult
    package func launch(
        inForeground: Bool = true,
        readsEvents: Bool = true,
        _ change: (inout Ringline.Configuration) -> Void = { _ in }
    ) -> Ringline {
        var configuration = Ringline.Configuration(
            server: FakeServer.address,
            user: user,
            bundleID: "com.example.chat"
        )
        configuration.displayName = name
        change(&configuration)
        let ports = Ringline.Ports(
            media: media,
            system: system,
            tokens: tokens,
            store: store,
            socket: self,
            requests: self,
            clock: clock
        )
        let kit = Ringline(configuration, ports)
        kit.isInForeground = inForeground
        if readsEvents { kit.onEvent = { [unowned self] in heard.append($0) } }
        self.kit = kit
        return kit
    }

    /// The time of the server's clock.
    var serverTime: Moment { Moment(milliseconds: clock.now.milliseconds - clockSkew.milliseconds) }

    /// The newest open socket; `nil` = there is none.
    package var socket: FakeSocket? { sockets.last { $0.isOpen } }

    /// Another connection of the same device replaces the open one.
    package func replace() { socket?.end(SocketClosure(code: 4409, reason: "replaced")) }

    package func open(
        _ request: SocketRequest,
        events: @escaping @MainActor @Sendable (SocketEvent) -> Void
    ) -> any SignalingSocket {
        let socket = FakeSocket(request, self, events)
        sockets.append(socket)
        server.turns.append { [self] in
            guard !socket.isClosed else { return }
            guard isOnline else { return socket.end(SocketClosure(reason: "no network")) }
            if let status = forcedStatus { return socket.end(SocketClosure(status: status)) }
            socket.isOpen = true
            var welcome: [String: Any] = ["type": "welcome", "iceServers": server.iceServers(for: self)]
            welcome["user"] = server.tokenUser
            socket.arrives(welcome)
            guard !socket.isClosed else { return }
            for entry in server.log(for: self) { socket.arrives(entry) }
        }
        return socket
    }

    package func send(_ request: SignalingRequest, reply: @escaping @MainActor @Sendable (SignalingResponse) -> Void) {
        requests.append(request)
        server.turns.append { [self] in
            guard isOnline else { return reply(.none) }
            if forcedStatus != nil || forcedBody != nil {
                return reply(SignalingResponse(status: forcedStatus ?? 200, body: Array((forcedBody ?? "").utf8)))
            }
            reply(server.response(to: request, from: self))
        }
    }

    /// The paths of the requests with their methods, without queries.
    package var paths: [String] {
        requests.map { request in
            let path = request.url.dropFirst(FakeServer.address.absoluteString.count)
            return "\(request.method) \(path.prefix { $0 != "?" })"
        }
    }
}

/// A socket of a ``FakeDevice``.
@MainActor
package final class FakeSocket: SignalingSocket {
    package let request: SocketRequest
    package internal(set) var isOpen = false
    package private(set) var isClosed = false
    /// The number of pings.
    package private(set) var pings = 0
    /// Whether the server answers pings and frames; a device without network does not notice that it does not.
    package var isDead = false
    private let device: FakeDevice
    private let events: @MainActor @Sendable (SocketEvent) -> Void

    init(
        _ request: SocketRequest,
        _ device: FakeDevice,
        _ events: @escaping @MainActor @Sendable (SocketEvent) -> Void
    ) {
        self.request = request
        self.device = device
        self.events = events
    }

    package func send(_ text: String) {
        guard isOpen, !isDead else { return }
        device.server.turns.append { [self] in
            guard isOpen else { return }
            arrives(device.server.take(FakeServer.object([UInt8](text.utf8)), from: device))
        }
    }

    package func ping() {
        pings += 1
        guard isOpen, !isDead else { return }
        device.server.turns.append { [self] in if isOpen { events(.pong) } }
    }

    package func close() { (isOpen, isClosed) = (false, true) }

    /// A frame arrives.
    package func arrives(_ object: [String: Any]) {
        guard isOpen, !isDead else { return }
        events(.text(String(decoding: FakeServer.bytes(object), as: UTF8.self)))
    }

    /// The server closes the socket.
    package func end(_ closure: SocketClosure) {
        guard !isClosed else { return }
        close()
        events(.closed(closure))
    }
}
