import CallCore
import CallPorts
import CallWire

extension NodeFrame {
    /// Reads a frame from its bytes, which do not contain its length.
    ///
    /// The bytes may be anything: an error names the first field that is wrong, and nothing traps.
    package init(
        decoding bytes: ArraySlice<UInt8>,
        version: UInt16 = Hello.currentVersion
    ) throws(NodeFrameError) {
        var reader = FieldReader(bytes, version: version)
        guard let kind = Kind(rawValue: try reader.byte("frame.kind")) else {
            throw NodeFrameError("frame.kind", .unknown)
        }
        switch kind {
        case .hello: self = .hello(try reader.hello())
        case .proof: self = .proof(try reader.data("proof.code", exactly: NodeLimits.proofBytes))
        case .refused:
            guard let refusal = LinkRefusal(rawValue: try reader.byte("refused.reason")) else {
                throw NodeFrameError("refused.reason", .unknown)
            }
            self = .refused(refusal)
        case .ping: self = .ping(try reader.number("ping.number"))
        case .pong: self = .pong(try reader.number("pong.number"))
        case .storeStalled: self = .storeStalled(try reader.flag("storeStalled.isStalled"))
        case .event:
            let number = try reader.number("event.number", as: UInt64.self)
            self = .event(number, try reader.event())
        case .confirmed: self = .confirmed(upTo: try reader.number("confirmed.upTo"))
        case .command: self = .command(try reader.command())
        case .adopt: self = .adopt(try reader.adopted())
        case .adoptionComplete: self = .adoptionComplete
        case .released:
            self = .released(
                heir: try reader.optional("released.heir") { reader throws(NodeFrameError) in
                    try reader.value("released.heir", atMost: NodeID.maximumBytes, NodeID.init)
                }
            )
        case .deposed: self = .deposed(by: OwnerEpoch(rawValue: try reader.number("deposed.epoch")))
        case .revocation:
            self = .revocation(
                try reader.value("revocation.user", UserID.init),
                upTo: Moment(milliseconds: try reader.number("revocation.upTo"))
            )
        }
        try reader.end("frame.end")
    }
}

extension FieldReader {
    fileprivate mutating func hello() throws(NodeFrameError) -> Hello {
        Hello(
            version: try number("hello.version"),
            oldestVersion: try number("hello.oldestVersion"),
            node: try value("hello.node", atMost: NodeID.maximumBytes, NodeID.init),
            epoch: OwnerEpoch(rawValue: try number("hello.epoch")),
            isOwner: try flag("hello.isOwner"),
            challenge: try data("hello.challenge", exactly: NodeLimits.challengeBytes)
        )
    }

    fileprivate mutating func event() throws(NodeFrameError) -> SocketEvent {
        guard let kind = SocketEvent.Kind(rawValue: try byte("event.kind")) else {
            throw NodeFrameError("event.kind", .unknown)
        }
        switch kind {
        case .opened:
            return .opened(
                try socket("opened.socket"),
                try principal(),
                device: try device("opened.device")
            )
        case .openedSocketIO: return .openedSocketIO(try socket("openedSocketIO.socket"), try head())
        case .received:
            return .received(
                try socket("received.socket"),
                try data("received.message", atMost: NodeLimits.frameBytes)
            )
        case .ponged: return .ponged(try socket("ponged.socket"), try number("ponged.number"))
        case .signOfLife: return .signOfLife(try socket("signOfLife.socket"))
        case .tooSlow: return .tooSlow(try socket("tooSlow.socket"))
        case .closed:
            let socket = try socket("closed.socket")
            let hasCode = try flag("closed.code")
            return .closed(socket, code: hasCode ? try number("closed.code") : nil)
        case .requested:
            return .requested(
                try request("requested.exchange"),
                try head(),
                body: try data("requested.body", atMost: NodeLimits.frameBytes)
            )
        case .abandoned: return .abandoned(try request("abandoned.exchange"))
        }
    }

    fileprivate mutating func command() throws(NodeFrameError) -> SocketCommand {
        guard let kind = SocketCommand.Kind(rawValue: try byte("command.kind")) else {
            throw NodeFrameError("command.kind", .unknown)
        }
        switch kind {
        case .send:
            let socket = try socket("send.socket")
            // The message is copied once, to behind the free bytes that the edge's transport needs.
            let message = Frame(try bytes("send.message", atMost: NodeLimits.frameBytes))
            return .send(message, socket, marks: try marks("send.marks"))
        case .ping: return .ping(try socket("ping.socket"), try number("ping.number"))
        case .close:
            return .close(
                try socket("close.socket"),
                code: try number("close.code"),
                reason: try text("close.reason"),
                discardingQueue: try flag("close.discardingQueue")
            )
        case .bind: return .bind(try socket("bind.socket"), try flag("bind.isBound"))
        case .assign: return .assign(try socket("assign.socket"), try value("assign.device", DeviceID.init))
        case .respond: return .respond(try request("respond.exchange"), try response())
        case .markAuthenticated: return .markAuthenticated(try request("markAuthenticated.exchange"))
        case .revoke:
            return .revoke(
                try value("revoke.user", UserID.init),
                upTo: Moment(milliseconds: try number("revoke.upTo"))
            )
        }
    }

    private mutating func response() throws(NodeFrameError) -> Response {
        let status = try number("respond.status", as: UInt16.self)
        guard (200...599).contains(status) else { throw NodeFrameError("respond.status", .invalid) }
        return Response(
            status: Int(status),
            contentType: try optionalText("respond.contentType"),
            headers: try fields("respond.headers"),
            body: try data("respond.body", atMost: NodeLimits.frameBytes),
            problem: try problem()
        )
    }

    private mutating func problem() throws(NodeFrameError) -> Response.Problem? {
        guard try flag("respond.problem") else { return nil }
        return Response.Problem(code: try text("problem.code"), message: try text("problem.message"))
    }

    fileprivate mutating func adopted() throws(NodeFrameError) -> AdoptedSocket {
        AdoptedSocket(
            try socket("adopt.socket"),
            try principal(),
            device: try device("adopt.device"),
            assigned: try device("adopt.assigned"),
            openFor: .milliseconds(try number("adopt.openFor")),
            seen: try marks("adopt.seen")
        )
    }

    private mutating func socket(_ field: StaticString) throws(NodeFrameError) -> SocketID {
        SocketID(rawValue: try number(field))
    }

    private mutating func request(_ field: StaticString) throws(NodeFrameError) -> RequestID {
        RequestID(rawValue: try number(field))
    }

    private mutating func device(_ field: StaticString) throws(NodeFrameError) -> DeviceID? {
        try flag(field) ? try value(field, DeviceID.init) : nil
    }

    private mutating func moment(_ field: StaticString) throws(NodeFrameError) -> Moment? {
        try flag(field) ? Moment(milliseconds: try number(field)) : nil
    }

    private mutating func marks(_ field: StaticString) throws(NodeFrameError) -> [LogMark] {
        try list(field) { reader throws(NodeFrameError) in
            LogMark(
                CallNumber(rawValue: try reader.number("mark.call")),
                seq: try reader.number("mark.seq")
            )
        }
    }

    private mutating func head() throws(NodeFrameError) -> RequestHead {
        RequestHead(
            method: try text("head.method"),
            path: try text("head.path"),
            query: try fields("head.query"),
            authorization: try optionalText("head.authorization"),
            origin: try optionalText("head.origin"),
            host: try optionalText("head.host"),
            contentType: try optionalText("head.contentType"),
            protocols: try list("head.protocols") { reader throws(NodeFrameError) in
                try reader.text("head.protocols")
            },
            isTLS: try flag("head.isTLS"),
            clientNetwork: ClientNetwork(
                high: try number("head.clientNetwork"),
                low: try number("head.clientNetwork")
            )
        )
    }

    private mutating func fields(_ field: StaticString) throws(NodeFrameError) -> [HTTPField] {
        try list(field) { reader throws(NodeFrameError) in
            HTTPField(try reader.text("field.name"), try reader.text("field.value"))
        }
    }

    private mutating func principal() throws(NodeFrameError) -> Principal {
        var principal = Principal(
            user: try value("principal.user", UserID.init),
            fingerprint: TokenFingerprint(rawValue: try number("principal.fingerprint")),
            name: try optionalText("principal.name"),
            device: try device("principal.device"),
            rooms: try rooms(),
            isService: try flag("principal.isService"),
            expiresAt: try moment("principal.expiresAt"),
            issuedAt: try moment("principal.issuedAt"),
            userIsInteger: try flag("principal.userIsInteger")
        )
        if try flag("principal.scope") { principal.scope = try scope() }
        if version >= 3 { principal.claims = try data("principal.claims", atMost: Principal.claimsBytes) }
        return principal
    }

    private mutating func rooms() throws(NodeFrameError) -> Set<String> {
        let list = try list("principal.rooms") { reader throws(NodeFrameError) in try reader.text("principal.rooms") }
        // The writer's order is the only one that is accepted: one identity has one form.
        guard zip(list, list.dropFirst()).allSatisfy({ $0 < $1 }) else {
            throw NodeFrameError("principal.rooms", .invalid)
        }
        return Set(list)
    }

    private mutating func scope() throws(NodeFrameError) -> CallScope {
        CallScope(
            call: try value("scope.call", CallID.init),
            epoch: try number("scope.epoch"),
            peer: try value("scope.peer", UserID.init),
            device: try value("scope.device", DeviceID.init)
        )
    }
}
