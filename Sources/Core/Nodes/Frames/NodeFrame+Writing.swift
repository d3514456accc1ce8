import CallCore
import CallPorts
import CallWire

extension NodeFrame {
    /// Appends the frame with its length to the bytes of a turn, in the version of the protocol that both sides speak.
    ///
    /// - Returns: `false` if a reader would not accept the frame, because it or one of its fields is too long; nothing
    ///   is appended then. A client must not be able to end a link by a long header.
    package func encode(into bytes: inout [UInt8], version: UInt16 = Hello.currentVersion) -> Bool {
        var writer = FrameWriter()
        writer.version = version
        swap(&writer.bytes, &bytes)
        defer { swap(&writer.bytes, &bytes) }
        let start = writer.bytes.count
        writer.number(UInt32(0))
        write(to: &writer)
        let length = writer.bytes.count - start - 4
        guard writer.fits, length <= NodeLimits.frameBytes else {
            writer.bytes.removeSubrange(start...)
            return false
        }
        for place in 0..<4 { writer.bytes[start + place] = UInt8(truncatingIfNeeded: length >> (24 - 8 * place)) }
        return true
    }

    func write(to writer: inout FrameWriter) {
        writer.byte(kind.rawValue)
        switch self {
        case .hello(let hello): writer.hello(hello)
        case .proof(let proof): writer.data(proof)
        case .refused(let refusal): writer.byte(refusal.rawValue)
        case .ping(let number), .pong(let number), .confirmed(let number): writer.number(number)
        case .storeStalled(let isStalled): writer.flag(isStalled)
        case .event(let number, let event):
            writer.number(number)
            writer.event(event)
        case .command(let command): writer.command(command)
        case .adopt(let socket): writer.adopted(socket)
        case .adoptionComplete: break
        case .released(let heir): writer.optional(heir) { $0.text($1.text) }
        case .deposed(let epoch): writer.number(epoch.rawValue)
        case .revocation(let user, let moment):
            writer.text(user.text)
            writer.number(moment.milliseconds)
        }
    }

    /// The first byte of a frame.
    enum Kind: UInt8 {
        case hello = 1
        case proof = 2
        case refused = 3
        case ping = 4
        case pong = 5
        case storeStalled = 6
        case event = 7
        case confirmed = 8
        case command = 9
        case adopt = 10
        case adoptionComplete = 11
        case released = 12
        case deposed = 13
        case revocation = 14
    }

    private var kind: Kind {
        switch self {
        case .hello: .hello
        case .proof: .proof
        case .refused: .refused
        case .ping: .ping
        case .pong: .pong
        case .storeStalled: .storeStalled
        case .event: .event
        case .confirmed: .confirmed
        case .command: .command
        case .adopt: .adopt
        case .adoptionComplete: .adoptionComplete
        case .released: .released
        case .deposed: .deposed
        case .revocation: .revocation
        }
    }
}

extension SocketEvent {
    enum Kind: UInt8 {
        case opened = 1
        case openedSocketIO = 2
        case received = 3
        case ponged = 4
        case signOfLife = 5
        case tooSlow = 6
        case closed = 7
        case requested = 8
        case abandoned = 9
    }
}

extension SocketCommand {
    enum Kind: UInt8 {
        case send = 1
        case ping = 2
        case close = 3
        case bind = 4
        case respond = 5
        case markAuthenticated = 6
        case revoke = 7
        case assign = 8
    }
}

extension FrameWriter {
    fileprivate mutating func hello(_ hello: Hello) {
        number(hello.version)
        number(hello.oldestVersion)
        text(hello.node.text)
        number(hello.epoch.rawValue)
        flag(hello.isOwner)
        data(hello.challenge)
    }

    fileprivate mutating func event(_ event: SocketEvent) {
        switch event {
        case .opened(let socket, let principal, let device):
            beginEvent(.opened, socket)
            self.principal(principal)
            optional(device) { $0.text($1.text) }
        case .openedSocketIO(let socket, let head):
            beginEvent(.openedSocketIO, socket)
            self.head(head)
        case .received(let socket, let bytes):
            beginEvent(.received, socket)
            data(bytes)
        case .ponged(let socket, let number):
            beginEvent(.ponged, socket)
            self.number(number)
        case .signOfLife(let socket): beginEvent(.signOfLife, socket)
        case .tooSlow(let socket): beginEvent(.tooSlow, socket)
        case .closed(let socket, let code):
            beginEvent(.closed, socket)
            optional(code) { $0.number($1) }
        case .requested(let request, let head, let body):
            byte(SocketEvent.Kind.requested.rawValue)
            number(request.rawValue)
            self.head(head)
            data(body)
        case .abandoned(let request):
            byte(SocketEvent.Kind.abandoned.rawValue)
            number(request.rawValue)
        }
    }

    private mutating func beginEvent(_ kind: SocketEvent.Kind, _ socket: SocketID) {
        byte(kind.rawValue)
        number(socket.rawValue)
    }

    fileprivate mutating func command(_ command: SocketCommand) {
        switch command {
        case .send(let message, let socket, let marks):
            beginCommand(.send, socket.rawValue)
            data(message.message)
            self.marks(marks)
        case .ping(let socket, let number):
            beginCommand(.ping, socket.rawValue)
            self.number(number)
        case .close(let socket, let code, let reason, let discardingQueue):
            beginCommand(.close, socket.rawValue)
            number(code)
            text(reason)
            flag(discardingQueue)
        case .bind(let socket, let isBound):
            beginCommand(.bind, socket.rawValue)
            flag(isBound)
        case .assign(let socket, let device):
            beginCommand(.assign, socket.rawValue)
            text(device.text)
        case .respond(let request, let response):
            beginCommand(.respond, request.rawValue)
            number(UInt16(clamping: response.status))
            optional(response.contentType) { $0.text($1) }
            fields(response.headers)
            data(response.body)
            optional(response.problem) { writer, problem in
                writer.text(problem.code)
                writer.text(problem.message)
            }
        case .markAuthenticated(let request): beginCommand(.markAuthenticated, request.rawValue)
        case .revoke(let user, let moment):
            byte(SocketCommand.Kind.revoke.rawValue)
            text(user.text)
            number(moment.milliseconds)
        }
    }

    private mutating func beginCommand(_ kind: SocketCommand.Kind, _ target: UInt64) {
        byte(kind.rawValue)
        number(target)
    }

    fileprivate mutating func adopted(_ adopted: AdoptedSocket) {
        number(adopted.socket.rawValue)
        principal(adopted.principal)
        optional(adopted.device) { $0.text($1.text) }
        optional(adopted.assigned) { $0.text($1.text) }
        number(adopted.openFor.milliseconds)
        marks(adopted.seen)
    }

    private mutating func marks(_ marks: [LogMark]) {
        list(marks) { writer, mark in
            writer.number(mark.call.rawValue)
            writer.number(mark.seq)
        }
    }

    private mutating func head(_ head: RequestHead) {
        text(head.method)
        text(head.path)
        fields(head.query)
        for header in [head.authorization, head.origin, head.host, head.contentType] {
            optional(header) { $0.text($1) }
        }
        list(head.protocols) { $0.text($1) }
        flag(head.isTLS)
        number(head.clientNetwork.high)
        number(head.clientNetwork.low)
    }

    private mutating func fields(_ fields: [HTTPField]) {
        list(fields) { writer, field in
            writer.text(field.name)
            writer.text(field.value)
        }
    }

    private mutating func principal(_ principal: Principal) {
        text(principal.user.text)
        number(principal.fingerprint.rawValue)
        optional(principal.name) { $0.text($1) }
        optional(principal.device) { $0.text($1.text) }
        // Sorted, so that equal identities have equal bytes.
        list(principal.rooms.sorted()) { $0.text($1) }
        flag(principal.isService)
        optional(principal.expiresAt) { $0.number($1.milliseconds) }
        optional(principal.issuedAt) { $0.number($1.milliseconds) }
        flag(principal.userIsInteger)
        optional(principal.scope) { writer, scope in
            writer.text(scope.call.text)
            writer.number(scope.epoch)
            writer.text(scope.peer.text)
            writer.text(scope.device.text)
        }
        if version >= 3 { data(principal.claims, atMost: Principal.claimsBytes) }
    }
}
