public import CallCore

/// The payload of a push for an incoming call (protocol, section 6).
///
/// This type is the only code that writes this payload.
public struct IncomingCallPayload: Sendable {
    /// The callId.
    public var callID: String
    /// The epoch of the call.
    public var epoch: UInt32
    /// The calling user.
    public var caller: String
    /// The caller's displayed name.
    public var name: String
    /// The user whose device is woken.
    public var callee: String
    /// The room as the caller named it.
    public var room: String
    /// Whether the call has video.
    public var hasVideo: Bool
    /// The UUID by which CallKit identifies the call.
    public var uuid: String
    /// When ringing stops.
    public var ringUntil: Moment
    /// The capability that the woken app presents to the server; `nil` leaves it out.
    public var capability: String?
    /// The description as a JSON string; `nil` leaves it out.
    public var offer: ArraySlice<UInt8>?
    /// Whether the server itself begins the call, as a schedule asks.
    public var isScheduled = false
    /// The address of the caller for CallKit; `nil` = ``caller``.
    public var handle: String?
    /// The data of a schedule, a JSON value; `nil` leaves it out.
    public var data: ArraySlice<UInt8>?
    /// The kind of address that ``caller`` is, for CallKit's handle.
    public var handleType = HandleType.generic
    /// The name of the sound of an alert; `nil` = the system's.
    public var sound: String?
    /// Additional payload keys that the app has asked for.
    public var aliases = PayloadAliases()
    /// The form of the payload.
    public var form = PushForm.voip

    /// The kinds of address that CallKit knows (`CXHandle.HandleType`).
    public enum HandleType: String, Sendable {
        /// Any text.
        case generic
        /// A telephone number.
        case phoneNumber
        /// An e-mail address.
        case emailAddress
    }

    /// Creates a payload with the given members.
    public init(
        callID: String,
        epoch: UInt32,
        caller: String,
        name: String,
        callee: String,
        room: String,
        hasVideo: Bool,
        uuid: String,
        ringUntil: Moment,
        capability: String?,
        offer: ArraySlice<UInt8>? = nil
    ) {
        self.callID = callID
        self.epoch = epoch
        self.caller = caller
        self.name = name
        self.callee = callee
        self.room = room
        self.hasVideo = hasVideo
        self.uuid = uuid
        self.ringUntil = ringUntil
        self.capability = capability
        self.offer = offer
    }

    /// Returns the payload that is sent at a moment, and its size as ``PushForm/limit`` counts it.
    public func encoded(at now: Moment) -> (bytes: [UInt8], size: Int) {
        var writer = PushPayloadWriter(form, capacity: 1_024)
        switch form {
        case .voip: writer.addContentAvailable()
        case .alert:
            writer.addAlert(
                hasVideo ? "Incoming video call" : "Incoming call",
                name,
                thread: caller,
                .ring,
                sound: sound,
                isMutable: aliases.isMutable
            )
        case .data, .web: break
        }
        for member in PayloadAliases.Member.allCases {
            if let value = value(of: member, at: now) { writer.add(member.rawValue, value) }
        }
        if let offer { writer.add("offer", encoded: offer) }
        // An app that reads one of its keys there finds the schedule's data in the call that it fetches.
        if let data, !aliases.takeData(in: form) {
            // Firebase takes only strings.
            if form == .data {
                writer.add("data", .text(String(decoding: data, as: UTF8.self)))
            } else {
                writer.add("data", encoded: data)
            }
        }
        writer.add(aliases) { value(of: $0, at: now) }
        return writer.finish()
    }

    /// Returns the payload that is sent at a moment.
    public func bytes(at now: Moment) -> [UInt8] { encoded(at: now).bytes }

    /// Returns the payload that is sent at a moment, cut until it fits.
    ///
    /// If it does not fit, the description is left out; then the name is cut, unless it is the user id; if that is not
    /// enough, the app's keys are left out instead: a push that is refused wakes nobody, and the app may still find the
    /// standard members.
    public consuming func fitted(at now: Moment) -> [UInt8] {
        let limit = form.limit
        let full = encoded(at: now)
        if full.size <= limit { return full.bytes }
        offer = nil
        data = nil
        let whole = name
        var isUserID = name == caller
        while true {
            let (bytes, size) = encoded(at: now)
            guard size > limit else { return bytes }
            if isUserID || name.isEmpty {
                guard aliases.count > 0 else { return bytes }
                let isMutable = aliases.isMutable
                aliases = PayloadAliases()
                aliases.isMutable = isMutable
                name = whole
                isUserID = name == caller
                continue
            }
            var excess = size - limit
            while excess > 0, let last = name.popLast() { excess -= copiesOfName * last.utf8.count }
            // The cut may be between an isolate and its end, and what is left of a name may not be visible.
            if let shown = name.shown() { name = shown } else { (name, isUserID) = (caller, true) }
        }
    }

    /// The number of times that the payload contains the caller's name.
    var copiesOfName: Int { (form == .alert ? 3 : 2) + aliases.count(of: [.fromDisplayName, .callerName]) }

    // The code of the first app reads `callerId` and `callerName`, although that app's documents name `fromUserId` and
    // `fromDisplayName`.
    private func value(of member: PayloadAliases.Member, at now: Moment) -> PayloadAliases.Value? {
        switch member {
        case .type: .text("call.incoming")
        case .callId: .text(callID)
        case .epoch: .number(Int64(epoch))
        case .fromUserId, .callerId: .text(caller)
        case .handle: .text(handle?.shown() ?? caller)
        case .fromDisplayName, .callerName: .text(name)
        case .toUserId: .text(callee)
        case .handleType: .text(handleType.rawValue)
        case .room: .text(room)
        case .hasVideo: .flag(hasVideo)
        case .callUUID: .text(uuid)
        case .sentAt: .number(now.milliseconds)
        case .ringUntil: .number(ringUntil.milliseconds)
        case .act: capability.map { .text($0) }
        case .scheduled: isScheduled ? .flag(true) : nil
        }
    }
}
