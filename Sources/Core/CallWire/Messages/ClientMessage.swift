public import CallCore
public import JSON

/// One text frame from a client (protocol, section 3).
///
/// It cannot be copied, because a copy and its destruction cost a tenth of a relayed candidate.
public struct ClientMessage: ~Copyable, Sendable {
    /// The `id` that the ack or error repeats, if the client gave one.
    public let id: SignalID?
    /// The request.
    public let request: Request
    /// The names of members that the server does not know.
    public let unknownNames: [String]

    /// A request that a client sends on its connection.
    public enum Request: ~Copyable, Sendable {
        /// Relay a signal.
        case signal(SignalMessage)
        /// Enter a room, independently of any call.
        case join(room: String)
        /// Leave a room.
        case leave(room: String)
        /// Continue with a new bearer token.
        case auth(token: String)
        /// Replay the entries after these cursors.
        case sync([CallID: Cursor])
        /// Send a text to another user.
        case message(TextMessage)
        /// Report whether a user is online: now, and at each change.
        case presence(UserID)
        /// Report the timeline events of calls: of those under a callId, of those of a user, or of all.
        case watch(callID: CallID?, user: UserID?)
    }

    /// A position in a call's log.
    public struct Cursor: Equatable, Sendable {
        /// The epoch that the cursor belongs to; `nil` means the current one.
        public var epoch: UInt32?
        /// The number of the newest entry that the client has seen.
        public var seq: UInt64

        /// Creates a position in a log.
        public init(epoch: UInt32? = nil, seq: UInt64) {
            self.epoch = epoch
            self.seq = seq
        }
    }

    /// The reason why a frame is refused, and the frame's `id` if that could be read.
    public struct Refusal: Error, Equatable, Sendable {
        /// The error.
        public var error: WireError
        /// The `id` that the ack or error repeats, if the client gave one.
        public var id: SignalID?
    }

    /// Whether the request is a signal.
    public var isSignal: Bool {
        switch request {
        case .signal: true
        default: false
        }
    }

    /// Takes the request out of the message.
    public consuming func takeRequest() -> Request { request }

    /// Reads a frame.
    ///
    /// `ringTimeout`: The ring time of an offer that names none.
    /// `scratch`: The ``SignalMessage/scratch`` of the frame that was read before this one.
    public init(
        _ frame: [UInt8],
        ringTimeout: Moment.Duration,
        scratch: consuming [JSONObject.Member] = []
    ) throws(Refusal) {
        let object: JSONObject
        do throws(JSONFault) { object = try JSONObject(frame, scratch: consume scratch) } catch {
            throw Refusal(error: .json(error), id: nil)
        }
        let id: SignalID?
        let request: Request
        do throws(WireError) { id = try object.signalID() } catch { throw Refusal(error: error, id: nil) }
        do throws(WireError) { request = try Self.request(object, id: id, ringTimeout: ringTimeout) } catch {
            throw Refusal(error: error, id: id)
        }
        self.id = id
        self.request = request
        unknownNames = object.unknownNames
    }

    private static func request(
        _ object: borrowing JSONObject,
        id: SignalID?,
        ringTimeout: Moment.Duration
    ) throws(WireError) -> Request {
        guard let member = object[.type] else { throw .invalid(.type, "missing") }
        guard let type = object.number(ofText: member, in: MessageType.names).flatMap({ MessageType(rawValue: $0) })
        else {
            throw .unknown(.type, try object.required(.type))
        }
        if let kind = type.signal {
            return .signal(
                try SignalMessage.read(kind, id: id, fields: object, envelope: object, ringTimeout: ringTimeout)
            )
        }
        switch type {
        case .join: return .join(room: try object.required(.room))
        case .leave: return .leave(room: try object.required(.room))
        case .auth: return .auth(token: try object.required(.token))
        case .sync: return .sync(try object.cursors())
        case .message: return .message(try TextMessage(copy object))
        case .presence:
            guard let user = try object.user(.userId) else { throw .invalid(.userId, "missing") }
            return .presence(user)
        case .watch: return .watch(callID: try object.callID(), user: try object.user(.userId))
        case .offer, .ringing, .answer, .ice, .connected, .update, .dtmf, .info, .end:
            preconditionFailure("a signal was handled above")
        }
    }
}

/// The values of `type` in a client's frame.
private enum MessageType: UInt8, CaseIterable {
    case offer, ringing, answer, ice, connected, update, dtmf, info, end
    case join, leave, auth, sync, message, presence, watch

    /// The texts; the number of a text is the raw value.
    static let names = MemberNames(allCases.map { "\($0)" })

    var signal: SignalKind? {
        switch self {
        case .offer: .offer
        case .ringing: .ringing
        case .answer: .answer
        case .ice: .ice
        case .connected: .connected
        case .update: .update
        case .dtmf: .dtmf
        case .info: .info
        case .end: .end
        case .join, .leave, .auth, .sync, .message, .presence, .watch: nil
        }
    }
}

extension JSONObject {
    /// Returns a string that must be present.
    public func required(_ field: Field) throws(WireError) -> String {
        guard let text = try text(field) else { throw .invalid(field, "missing") }
        return text
    }

    /// Returns the cursors of a `sync`.
    fileprivate func cursors() throws(WireError) -> [CallID: ClientMessage.Cursor] {
        let problem = "must be an object of at most \(WireLimits.syncedCalls) callIds, each with a seq or {epoch, seq}"
        guard let member = self[.calls], member.kind == .object, let calls = inner(member),
            calls.members.count <= WireLimits.syncedCalls
        else { throw .invalid(.calls, problem) }
        var cursors: [CallID: ClientMessage.Cursor] = [:]
        for call in calls.members {
            guard let name = calls.name(of: call), let id = CallID(name) else { throw .invalid(.calls, problem) }
            if let seq = calls.integer(call) {
                cursors[id] = .init(seq: UInt64(seq))
            } else if let cursor = calls.inner(call), let member = cursor[.seq], let seq = cursor.integer(member) {
                cursors[id] = .init(epoch: try cursor.epoch(), seq: UInt64(seq))
            } else {
                throw .invalid(.calls, problem)
            }
        }
        return cursors
    }

    /// Scans a member that is an object; returns `nil` if it is not an object or contains a field twice.
    public func inner(_ member: Member) -> JSONObject? {
        guard member.kind == .object else { return nil }
        return try? JSONObject(bytes, in: member.value)  // The grammar was checked with the whole text.
    }
}
