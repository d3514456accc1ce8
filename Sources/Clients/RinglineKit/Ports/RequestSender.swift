import Foundation

/// A port: sends HTTP requests to the server.
///
/// ``URLSessionTransport`` implements it.
@MainActor
public protocol RequestSender: AnyObject {
    /// Sends a request.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - reply: takes the response. It is called once; if no response comes, with ``SignalingResponse/none``.
    func send(_ request: SignalingRequest, reply: @escaping @MainActor @Sendable (SignalingResponse) -> Void)
}

/// A request to the server, whose body is JSON.
public struct SignalingRequest: Equatable, Sendable {
    /// The method, such as `POST`.
    public var method: String
    /// The address, `http://` or `https://`.
    public var url: String
    /// The body in UTF-8; empty = none.
    public var body: [UInt8]
    /// The value of the header `Authorization`.
    public var authorization: String

    /// Creates a request from its parts.
    public init(method: String, url: String, body: [UInt8] = [], authorization: String) {
        self.method = method
        self.url = url
        self.body = body
        self.authorization = authorization
    }
}

/// The response to a request.
public struct SignalingResponse: Equatable, Sendable {
    /// The HTTP status; 0 = no response came.
    public var status: Int
    /// The body.
    public var body: [UInt8]

    /// Creates a response from its parts.
    public init(status: Int, body: [UInt8] = []) {
        self.status = status
        self.body = body
    }

    /// No response came: there is no network, or the server is down.
    public static let none = Self(status: 0)
}

extension SignalingResponse {
    /// The members of a body that say what was wrong, or what the server cannot do.
    struct Members: Decodable {
        var code: String?
        var message: String?
    }

    /// The members; `nil` = the body is no JSON object.
    // A body of another form says nothing more than its status.
    var members: Members? { try? JSONDecoder().decode(Members.self, from: Data(body)) }

    /// Why the request failed, such as `400 invalid_field: bundleId: missing`; `nil` = it succeeded.
    var problem: String? {
        guard !(200..<300).contains(status) else { return nil }
        guard status != 0 else { return "no response: the server cannot be reached, or there is no token" }
        let said = [members?.code, members?.message].compactMap(\.self).joined(separator: ": ")
        return said.isEmpty ? "\(status)" : "\(status) \(said)"
    }
}
