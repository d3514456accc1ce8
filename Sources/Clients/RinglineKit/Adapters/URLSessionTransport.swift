#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// Sends the kit's requests and opens its sockets with `URLSession`.
///
/// On Linux this compiles, but every socket fails, because Debian's libcurl has no WebSockets (`NSURLErrorDomain` -1002).
/// [URLSessionWebSocketTask](https://developer.apple.com/documentation/foundation/urlsessionwebsockettask) is the source.
@MainActor
public final class URLSessionTransport: SocketOpener, RequestSender {
    private let session: URLSession

    /// Creates a transport with a session of its own, or with yours, which may trust certificates of your own, for example.
    public init(session: URLSession? = nil) { self.session = session ?? URLSession(configuration: Self.configuration) }

    /// The configuration of the kit's own session.
    ///
    /// It caches nothing, and a request fails after 10 s without data. No request waits for a network, because the core itself
    /// tries again.
    public static var configuration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 10
        #if canImport(Darwin)
        configuration.waitsForConnectivity = false
        configuration.networkServiceType = .callSignaling
        #endif
        return configuration
    }

    /// Opens a socket; see ``SocketOpener``.
    public func open(
        _ request: SocketRequest,
        events: @escaping @MainActor @Sendable (SocketEvent) -> Void
    ) -> any SignalingSocket {
        guard let url = URL(string: request.url) else {
            onMain { events(.closed(SocketClosure(reason: "invalid address \(request.url)"))) }
            return ClosedSocket()
        }
        var upgrade = URLRequest(url: url)
        upgrade.setValue(request.authorization, forHTTPHeaderField: "Authorization")
        return URLSessionSocket(session.webSocketTask(with: upgrade), events)
    }

    /// Sends a request; see ``RequestSender``.
    public func send(_ request: SignalingRequest, reply: @escaping @MainActor @Sendable (SignalingResponse) -> Void) {
        guard let url = URL(string: request.url) else { return onMain { reply(.none) } }
        var message = URLRequest(url: url)
        message.httpMethod = request.method
        message.setValue(request.authorization, forHTTPHeaderField: "Authorization")
        if !request.body.isEmpty {
            message.setValue("application/json", forHTTPHeaderField: "Content-Type")
            message.httpBody = Data(request.body)
        }
        session.dataTask(with: message) { data, response, _ in
            let status = (response as? HTTPURLResponse)?.statusCode ?? 0
            let body = [UInt8](data ?? Data())
            onMain { reply(SignalingResponse(status: status, body: body)) }
        }
        .resume()
    }
}

/// Runs a function on the main queue, which keeps the order: frames must stay in order, and tasks do not promise that.
private func onMain(_ work: @escaping @MainActor @Sendable () -> Void) {
    DispatchQueue.main.async { MainActor.assumeIsolated(work) }
}

/// A socket whose address was invalid.
private final class ClosedSocket: SignalingSocket {
    func send(_ text: String) {}
    func ping() {}
    func close() {}
}

private final class URLSessionSocket: SignalingSocket {
    private let task: URLSessionWebSocketTask
    private let events: @MainActor @Sendable (SocketEvent) -> Void
    private var isClosed = false

    init(_ task: URLSessionWebSocketTask, _ events: @escaping @MainActor @Sendable (SocketEvent) -> Void) {
        self.task = task
        self.events = events
        task.maximumMessageSize = 1 << 20
        receive()
        task.resume()
    }

    func send(_ text: String) {
        // The error needs no report: the end of the socket follows, and the core sends the signal again.
        task.send(.string(text)) { _ in }
    }

    func ping() {
        task.sendPing { [weak self] error in
            guard error == nil else { return }
            onMain { self?.report(.pong) }
        }
    }

    func close() {
        isClosed = true
        task.cancel(with: .normalClosure, reason: nil)
    }

    private func receive() {
        task.receive { [weak self] result in onMain { self?.received(result) } }
    }

    private func received(_ result: Result<URLSessionWebSocketTask.Message, any Error>) {
        switch result {
        case .success(.string(let text)): report(.text(text))
        case .success: break  // The server sends text only.
        case .failure(let error): return end(error)
        }
        if !isClosed { receive() }
    }

    private func end(_ error: any Error) {
        let code = task.closeCode == .invalid ? nil : task.closeCode.rawValue
        let status = (task.response as? HTTPURLResponse)?.statusCode
        let reason = task.closeReason.map { String(decoding: $0, as: UTF8.self) } ?? String(describing: error)
        report(
            .closed(SocketClosure(code: code, reason: reason, status: status == 101 ? nil : status))
        )
        isClosed = true
    }

    private func report(_ event: SocketEvent) {
        if !isClosed { events(event) }
    }
}
