import CallCore
import CallPorts
import CallWire
import Crypto
import LibWebSockets
import Switchboard

/// The operation that a request's method and path name (protocol, section 5).
enum Route: Equatable {
    case postSignal(String?)
    case getSignal(String?)
    case deleteSignal(String)
    case history
    case callJustBegun
    case call(String)
    case timeline(String)
    case register
    case devices
    case removeDevice(String)
    case turnCredential
    case webPushKey
    case blocks
    case block
    case unblock(String)
    case directory
    case updateDirectory(String?)
    case doNotDisturb
    case schedules(Schedules)
    case revokeTokens

    init(method: String, path: String) throws(RoutingFault) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
        guard parts != ["ws"] else { throw .upgradeRequired }
        let routes = Self.routes(parts)
        guard !routes.isEmpty else { throw .wire(WireError(.notFound, "unknown path")) }
        // RFC 9110, section 9.3.2: HEAD is handled as GET, and the server leaves out the body of its response.
        let meant = method == "HEAD" ? "GET" : method
        guard let route = routes.first(where: { $0.method == meant }) else {
            throw .methodNotAllowed(routes.flatMap { $0.method == "GET" ? ["GET", "HEAD"] : [$0.method] })
        }
        self = route.route
    }

    /// Returns the operations at a path, by method.
    ///
    /// The words of a path are compared as the client wrote them, so that no other spelling bypasses a proxy's rule.
    /// Only ids are decoded.
    private static func routes(_ parts: [String]) -> [(method: String, route: Route)] {
        let id = { (index: Int) in RequestHead.decoded(parts[index]) }
        return switch (parts.count, parts.dropFirst().first) {
        case (2, "calls") where parts[0] == "api": [("GET", .history), ("POST", .callJustBegun)]
        case (2, "turn-cred") where parts[0] == "api": [("GET", .turnCredential)]
        case (2, "web-push") where parts[0] == "api": [("GET", .webPushKey)]
        case (2, "logout-all") where parts[0] == "api": [("POST", .revokeTokens)]
        case (2, "blocks") where parts[0] == "api": [("GET", .blocks), ("POST", .block)]
        case (3, "calls") where parts[0] == "api" && parts[2] == "signal":
            [("GET", .getSignal(nil)), ("POST", .postSignal(nil))]
        case (3, "calls") where parts[0] == "api": [("GET", .call(id(2)))]
        case (3, "blocks") where parts[0] == "api": [("DELETE", .unblock(id(2)))]
        case (3, "me") where parts[0] == "api" && parts[2] == "devices":
            [("GET", .devices), ("PUT", .register), ("POST", .register)]
        case (3, "me") where parts[0] == "api" && parts[2] == "dnd": [("PUT", .doNotDisturb)]
        case (2, "directory") where parts[0] == "api": [("PUT", .updateDirectory(nil))]
        case (3, "me") where parts[0] == "api" && parts[2] == "directory": [("GET", .directory)]
        case (4, "users") where parts[0] == "api" && parts[3] == "directory": [("PUT", .updateDirectory(id(2)))]
        case (4, "calls") where parts[0] == "api" && parts[2] == "signal":
            [("GET", .getSignal(id(3))), ("POST", .postSignal(id(3))), ("DELETE", .deleteSignal(id(3)))]
        case (4, "calls") where parts[0] == "api" && parts[3] == "timeline": [("GET", .timeline(id(2)))]
        case (4, "me") where parts[0] == "api" && parts[2] == "devices": [("DELETE", .removeDevice(id(3)))]
        default: Schedules.routes(parts)
        }
    }

    /// Returns the switchboard's request, from the path, the query and the body.
    func request(
        _ head: RequestHead,
        body: [UInt8],
        ringTimeout: Moment.Duration
    ) throws(WireError) -> Switchboard.Request {
        switch self {
        case .postSignal(let id):
            try head.checkJSON()
            var message = try SignalMessage(
                body: body,
                callIDInPath: try id.map(Self.callID),
                idempotencyKey: head.idempotencyKey,
                ringTimeout: ringTimeout
            )
            let device = try head.device()
            message.device = message.device ?? device
            return .signal(message)
        case .getSignal(let id):
            guard let text = id ?? head.parameter("callId") else { throw .invalid(.callId, "missing") }
            return .fetch(try Self.callID(text), try head.fetch())
        case .deleteSignal(let id):
            return .end(try Self.callID(id), peer: try head.peer(), device: try head.device())
        case .history:
            try head.checkParameters(["limit", "before"])
            return .history(
                limit: Int(try head.number("limit", in: 1...500) ?? 50),
                before: try head.number("before", in: 0...Int64.max).map { CallNumber(rawValue: $0) }
            )
        case .callJustBegun:
            try head.checkJSON()
            return .callJustBegun(with: try RequestBody.callee(in: body))
        case .call(let id): return .call(try Self.callID(id), peer: try head.peer(), epoch: try head.epoch())
        case .timeline(let id): return .timeline(try Self.callID(id), peer: try head.peer(), epoch: try head.epoch())
        case .register:
            try head.checkJSON()
            let registration = try DeviceRegistration(body: body, device: try head.device())
            try registration.webPush?.checkKeys()
            return .register(registration)
        case .devices:
            try head.checkParameters([])
            return .devices
        case .removeDevice(let id):
            guard let device = DeviceID(id) else { throw WireError(.notFound, "no such device") }
            return .removeDevice(device)
        case .turnCredential: return .turnCredential
        case .webPushKey: return .webPushKey
        case .blocks:
            try head.checkParameters([])
            return .blocks
        case .block:
            try head.checkJSON()
            switch try RequestBody.blocked(in: body) {
            case .user(let user): return .block(user)
            case .number(let number): return .blockNumber(number)
            }
        case .unblock(let id):
            if let number = try Self.blockedNumber(id) { return .unblockNumber(number) }
            return .unblock(try Self.user(id))
        case .directory:
            try head.checkParameters(["list", "since", "limit"])
            return .numbers(try head.numberQuery())
        case .updateDirectory(let id):
            try head.checkPlainText()
            return .updateNumbers(try id.map(Self.user), try NumberUpdate(body: body))
        case .schedules(let schedules):
            if schedules.hasBody { try head.checkJSON() }
            return try schedules.request(head, body: body)
        case .doNotDisturb:
            try head.checkJSON()
            return .doNotDisturb(until: try RequestBody.doNotDisturbEnd(in: body))
        case .revokeTokens:
            // Most clients send no body at all.
            guard !body.isEmpty else { return .revokeTokens(nil) }
            try head.checkJSON()
            return .revokeTokens(try RequestBody.revokedUser(in: body))
        }
    }

    /// The path of the call directory's pages, whose responses may be compressed.
    static let directoryPath = "/api/me/directory"

    /// Whether a request changes the call directory, so that its body may be larger than those of others.
    var mayHaveLargeBody: Bool { if case .updateDirectory = self { true } else { false } }

    private static func user(_ text: String) throws(WireError) -> UserID {
        guard let user = UserID(text) else {
            throw .invalid(
                .userId,
                "must be a user id: \(CallCore.Limits.identifierForm)"
            )
        }
        return user
    }

    /// Returns the number that the id of a blocked number contains; `nil` if it is the id of a user.
    private static func blockedNumber(_ id: String) throws(WireError) -> PhoneNumber? {
        guard id.hasPrefix(BlockBody.numberPrefix) else { return nil }
        // A blank in a path has become a plus sign, which has no place behind a digit.
        var hasDigit = false
        let written = id.dropFirst(BlockBody.numberPrefix.count).map { (character: Character) -> Character in
            hasDigit = hasDigit || character.isNumber
            return character == "+" && hasDigit ? " " : character
        }
        guard let number = PhoneNumber(normalizing: String(written)) else {
            throw .invalid(named: "number", "must be 1 to 18 digits, the country code first")
        }
        return number
    }

    static func callID(_ text: String) throws(WireError) -> CallID {
        guard let id = CallID(text) else {
            throw .invalid(.callId, "must be \(CallCore.Limits.identifierForm)")
        }
        return id
    }
}

extension WebPushMember {
    /// Refuses keys with which no message can be encrypted.
    fileprivate func checkKeys() throws(WireError) {
        // The key error says no more than that the point is not on the curve.
        guard let point = Base64URL.decode(p256dh), (try? PublicKey(p256Point: point)) != nil else {
            throw .invalid(named: "webPush.keys.p256dh", "must be a point on P-256")
        }
        guard Base64URL.decode(auth) != nil else {
            throw .invalid(named: "webPush.keys.auth", "must be 16 bytes in canonical base64url, 22 characters")
        }
    }
}

extension RequestHead {
    /// Refuses a body with a content type other than JSON; a body without a content type is taken as JSON.
    func checkJSON() throws(WireError) {
        guard let type = contentType?.split(separator: ";").first?.lowercased() else { return }
        let name = type.filter { $0 != " " }
        guard name == "application/json" || name.hasSuffix("+json") else {
            throw WireError(.unsupportedMediaType, "Content-Type must be application/json")
        }
    }

    /// Refuses a body with a content type other than plain text; a body without a content type is taken as plain text.
    fileprivate func checkPlainText() throws(WireError) {
        guard let type = contentType?.split(separator: ";").first?.lowercased() else { return }
        guard type.filter({ $0 != " " }) == "text/plain" else {
            throw WireError(.unsupportedMediaType, "Content-Type must be text/plain")
        }
    }

    fileprivate func numberQuery() throws(WireError) -> Switchboard.NumberQuery {
        let list: NumberList
        switch parameter("list") {
        case nil, "identities": list = .identities
        case "blocks": list = .blocks
        default: throw .invalid(named: "list", "must be identities or blocks")
        }
        var query = Switchboard.NumberQuery(list)
        if let text = parameter("since") {
            guard let cursor = NumberCursor(text), cursor.list == list else {
                throw .invalid(named: "since", "must be a cursor that this server gave for this list")
            }
            query.cursor = cursor
        }
        let most = Switchboard.NumberQuery.mostLines
        query.limit = Int(try number("limit", in: 1...Int64(most)) ?? Int64(most))
        query.knownTags = ifNoneMatch.map(EntityTags.init)?.tags ?? []
        return query
    }

    func number(_ name: String, in range: ClosedRange<Int64>) throws(WireError) -> Int64? {
        guard let text = parameter(name) else { return nil }
        guard let number = Int64(text), range.contains(number) else {
            let upper = range.upperBound == Int64.max ? "" : " to \(range.upperBound)"
            throw WireError(
                .invalidField,
                "\(name): must be a whole number from \(range.lowerBound)\(upper)",
                field: name
            )
        }
        return number
    }

    /// Returns the peer that the query parameter `peer` names.
    func peer() throws(WireError) -> UserID? { try user("peer") }

    /// Returns the user that a query parameter names.
    func user(_ name: String) throws(WireError) -> UserID? {
        guard let text = parameter(name) else { return nil }
        guard let user = UserID(text) else {
            throw WireError(
                .invalidField,
                "\(name): must be a user id: \(CallCore.Limits.identifierForm)",
                field: name
            )
        }
        return user
    }

    func epoch() throws(WireError) -> UInt32? {
        try number("epoch", in: 1...Int64(UInt32.max)).map { UInt32($0) }
    }

    fileprivate func fetch() throws(WireError) -> Switchboard.Fetch {
        var fetch = Switchboard.Fetch(peer: try peer(), device: try device())
        let epoch = try epoch()
        if let seq = try number("since", in: 0...Int64.max) { fetch.since = .init(epoch: epoch, seq: UInt64(seq)) }
        if let text = parameter("wait") {
            guard let seconds = Double(text), seconds.isFinite, seconds >= 0 else {
                throw WireError(.invalidField, "wait: must be seconds from 0 to 30", field: "wait")
            }
            fetch.wait = .milliseconds(Int64(min(seconds, 3_600) * 1_000))
        }
        switch parameter("format") {
        case nil, "object": break
        case "array": fetch.isArray = true
        default: throw WireError(.invalidField, "format: must be array or object", field: "format")
        }
        return fetch
    }
}
