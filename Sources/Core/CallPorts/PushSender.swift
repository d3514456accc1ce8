package import CallCore

/// The port to the push services, which wake devices.
///
/// Both methods return immediately, and may be called only on the event loop that owns the switchboard. Each push gets
/// exactly one report, even a push that was cancelled too late or could not be sent. The adapter passes the report, on
/// that event loop, to the receiver that the adapter was created with.
package protocol PushSender: AnyObject, Sendable {
    /// Sends one push; its result comes back as a report with the push's `id`.
    func send(_ push: OutgoingPush)
    /// Cancels a push, if it was not yet handed to the network; the push is then reported as ``PushResult/cancelled``.
    func cancel(_ id: PushID)
}

/// The number of a push, which its report repeats.
package struct PushID: Hashable, Sendable {
    /// The number; counts up from 1 in one run of the server.
    package let rawValue: UInt64

    /// The push with this number.
    @inlinable
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A push that is ready to be sent: its content, its route, and how long it is useful.
package struct OutgoingPush: Equatable, Sendable {
    /// The number that the report repeats.
    package var id: PushID
    /// The way to the device.
    package var route: PushRoute
    /// A lower-case UUID, the same for every retry of one push; `apns-id` for APNs.
    package var uuid: String
    /// For APNs the JSON payload, at most 5,120 bytes for VoIP and 4,096 for an alert; for Firebase the JSON object
    /// `data`, whose names and values, all of them strings, have at most 4,096 bytes; for Web Push the JSON object to
    /// encrypt, at most 3,993 bytes.
    package var payload: [UInt8]
    /// How long the push service keeps the push for a device that it cannot reach.
    package var kept: Kept
    /// A UUID that is the same for all pushes of a call; `nil` = the push replaces none.
    ///
    /// For APNs it is `apns-collapse-id`: a push replaces an earlier one on the screen. For Web Push `Topic` is
    /// made of it: a push replaces an earlier one that was not delivered.
    package var collapseID: String?
    /// The moment after which the push is useless.
    ///
    /// A request that is still under way at this moment is given up and reported as ``PushResult/unreachable(_:)``.
    package var expiresAt: Moment
    /// The callId of the call that the push is for, for the server's log only; `nil` = the push is for a text.
    package var call: CallID?
    /// The device that the push goes to, for the server's log only.
    package var device: DeviceID?
    /// The device's user, among whom connection attempts are shared out; `nil` = the push has none.
    package var user: UserID?

    /// Whether the device can be rung by another route if this push cannot be sent soon.
    ///
    /// The sender then waits only briefly for what it needs, such as an access token.
    package var hasOtherRoute = false

    /// How long a push service keeps a push for a device that it cannot reach.
    package enum Kept: Sendable {
        /// Not at all: a VoIP push rings now or not at all.
        case never
        /// Until the push expires (``OutgoingPush/expiresAt``), because then the call has stopped ringing.
        case untilExpiry
        /// For a day: a notice is useful even if it is late.
        case aDay

        /// How long a notice is kept, in seconds.
        package static let noticeSeconds: Int64 = 24 * 60 * 60
    }

    /// The push's TTL in seconds, at least 1: FCM and Web Push have no "never".
    ///
    /// `left`: The milliseconds until the push expires.
    package func secondsKept(left: Int64) -> Int64 {
        switch kept {
        case .never, .untilExpiry: max(1, left / 1_000)
        case .aDay: Kept.noticeSeconds
        }
    }

    /// A push with the given members.
    package init(
        id: PushID,
        route: PushRoute,
        uuid: String,
        payload: [UInt8],
        kept: Kept,
        collapseID: String? = nil,
        expiresAt: Moment,
        call: CallID? = nil,
        device: DeviceID? = nil,
        user: UserID? = nil
    ) {
        self.id = id
        self.route = route
        self.uuid = uuid
        self.payload = payload
        self.kept = kept
        self.collapseID = collapseID
        self.expiresAt = expiresAt
        self.call = call
        self.device = device
        self.user = user
    }
}

/// The result of a push.
package enum PushResult: Equatable, Sendable {
    /// The push service accepted the push (``isAccepted``), or responded with an error and its reason ("BadDeviceToken").
    ///
    /// For APNs' 410 there is also the `timestamp` since which the push token is invalid.
    case response(status: Int, reason: String?, timestamp: Moment?)
    /// The push service responded with an error that passes, and asks not to be tried again before `until`.
    case deferred(status: Int, reason: String?, until: Moment)
    /// There was no response, because the connection failed, was lost or timed out. The text says so in plain words,
    /// without addresses.
    case unreachable(String)
    /// The push was not sent, for a reason that may pass, such as an access token that could not be fetched. The text
    /// says so in plain words, without addresses.
    case notSent(String)
    /// The push cannot be sent on this route, and another attempt would be no better.
    case impossible(Fault)
    /// The push was cancelled before it was sent.
    case cancelled
    /// The service is not configured: the push was only logged.
    case onlyLogged

    /// Why a push cannot be sent on its route.
    package enum Fault: String, Sendable, CaseIterable {
        /// The host of a browser's endpoint is not on the list, which was longer when the browser was registered.
        case hostNotAllowed = "the push service's host is not among the allowed ones"
        /// The host of a browser's endpoint has no public address.
        case privateAddress = "the push service's host has an address of a private network"
        /// The keys of a browser's subscription cannot be used.
        case unusableKeys = "the message could not be encrypted with the subscription's keys"
    }

    /// Whether the push service accepted the push.
    package var isAccepted: Bool {
        guard case .response(let status, _, _) = self else { return false }
        return Self.isAcceptance(status)
    }

    /// Whether a push service's status says that it accepted the push.
    ///
    /// That of APNs and Firebase is 200, and that of a browser's service 201 or 202. Each of the three counts for all
    /// services.
    package static func isAcceptance(_ status: Int) -> Bool { (200...202).contains(status) }

    /// Returns whether this response alone says that a push token of this kind is dead; one of APNs may belong to the
    /// other environment.
    ///
    /// The status belongs to it: a proxy, or the endpoint that gives out access tokens, may respond with the same words.
    /// Sources: "ErrorCode", Firebase Cloud Messaging HTTP v1 API; RFC 8030, section 7.3, to which the documentation of
    /// the browsers' services adds 410.
    package func condemnsToken(of kind: PushKind) -> Bool {
        guard case .response(let status, let reason, _) = self else { return false }
        return switch kind {
        case .voip, .alert: false
        case .firebase:
            status == 404 && reason == FirebaseReason.unregistered
                || status == 400 && reason == FirebaseReason.invalidToken
        case .web: status == 404 || status == 410
        }
    }
}
