import CallCore
import CallPorts
import CallWire
import LibWebSockets
import Switchboard

/// An operation of the REST API (protocol, section 5): a method and a path, and what the gateway knows about it.
///
/// The operations of a group stand in a file of this folder. What they do stands in the switchboard's file with the
/// group's requests, such as `Switchboard.BlockRequest`.
struct Operation: Sendable {
    /// Whose token a request may have, as far as the gateway checks it.
    enum Bearer {
        /// The switchboard decides.
        case any
        /// The request means the user of its token, so that a service, which is no user, cannot make it.
        case user
        /// Only a service may make the request, which changes the call directory; its body may be larger than others.
        case service
        /// Only a service may make the request: it concerns the app's backend.
        case backend
    }

    /// The form of a body.
    enum Body {
        /// No body is read.
        case none
        case json
        /// JSON, or no body at all.
        case jsonOrNone
        case plainText
    }

    /// What a request contains.
    struct Content {
        let head: RequestHead
        let body: [UInt8]
        /// The time for which a call rings if its offer does not say it.
        let ringTimeout: Moment.Duration
        fileprivate let path: PathTemplate
        fileprivate let parts: [String]

        /// The part of the path that a variable stands for, decoded; the operation's path has that variable.
        subscript(_ variable: PathTemplate.Variable) -> String {
            guard let text = part(variable) else { preconditionFailure("the path has no \(variable)") }
            return text
        }

        /// Returns the part of the path that a variable stands for, decoded; `nil` = the operation's path has no such
        /// variable.
        func part(_ variable: PathTemplate.Variable) -> String? {
            path.place(of: variable).map { RequestHead.decoded(parts[$0]) }
        }
    }

    let method: String
    let path: PathTemplate
    let bearer: Bearer
    let body: Body
    /// The parameters that a list has; `nil` = other parameters are ignored.
    let parameters: [String]?
    private let read: @Sendable (Content) throws(WireError) -> Switchboard.Request

    /// `read`: Returns the switchboard's request, after the form of the body and the parameters were checked.
    init(
        _ method: String,
        _ path: PathTemplate,
        bearer: Bearer = .any,
        body: Body = .none,
        parameters: [String]? = nil,
        read: @escaping @Sendable (Content) throws(WireError) -> Switchboard.Request
    ) {
        self.method = method
        self.path = path
        self.bearer = bearer
        self.body = body
        self.parameters = parameters
        self.read = read
    }

    /// Refuses a token whose bearer cannot make the request.
    func checkBearer(_ principal: Principal) throws(WireError) {
        switch bearer {
        case .any: break
        case .user: if principal.isService { throw Switchboard.refusedToServices }
        case .backend: if !principal.isService { throw Switchboard.onlyServices }
        case .service: if !principal.isService { throw Switchboard.onlyServicesChangeNumbers }
        }
    }

    /// Returns the switchboard's request; `parts` are those of the request's path.
    func request(
        _ head: RequestHead,
        _ parts: [String],
        body bytes: [UInt8],
        ringTimeout: Moment.Duration
    ) throws(WireError) -> Switchboard.Request {
        switch body {
        case .none: break
        case .json: try head.checkJSON()
        case .jsonOrNone: if !bytes.isEmpty { try head.checkJSON() }
        case .plainText: try head.checkPlainText()
        }
        if let parameters { try head.checkParameters(parameters) }
        return try read(Content(head: head, body: bytes, ringTimeout: ringTimeout, path: path, parts: parts))
    }
}
