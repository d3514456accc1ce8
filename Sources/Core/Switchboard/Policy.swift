package import CallCore
package import CallPorts
package import CallWire

/// The settings of an operator; the defaults are those of the protocol, sections 3, 6 and 8.
package struct Policy: Sendable {
    /// How long a callee is rung if the offer does not say how long.
    package var ringTimeout = Moment.Duration.seconds(45)
    /// How long a connection may take to answer the ping that goes with an offer.
    package var probeTimeout = Moment.Duration.seconds(2)
    /// How long a side may be gone once the call is answered.
    package var grace = Moment.Duration.seconds(30)
    /// How often a connection is pinged.
    package var heartbeat = Moment.Duration.seconds(25)
    /// How long a connection may be silent before it is closed.
    package var silenceTimeout = Moment.Duration.seconds(60)
    /// How long a connection stays open after its token has expired, because the issuer's clock may differ.
    package var tokenLeeway = Moment.Duration.seconds(60)
    /// How long an ended call can be fetched.
    package var fetchableFor = Moment.Duration.seconds(600)
    /// How long the history is kept.
    package var historyFor = Moment.Duration.seconds(30 * 86_400)
    /// The treatment of a second call to a callee that is in a call.
    package var whenBusy = BusyPolicy.waiting
    /// The source of a caller's displayed name.
    package var callerName = CallerName.any
    /// The kinds of push whose service is configured; those of APNs count in any case, because their pushes are logged at
    /// least.
    package var pushKinds: Set<PushKind> = []
    /// What clients and operators are told of the push services.
    package var pushServices: [PushService] = []
    /// The public key that browsers need to subscribe to this server's Web Push messages, in base64url; `nil` = the server
    /// sends none.
    package var applicationServerKey: String?
    /// The hosts to which Web Push messages may be sent.
    package var webPushHosts = WebPushHosts()
    /// Additional keys of a call's push that an app has asked for, by its bundle id.
    package var payloadAliases: [String: PayloadAliases] = [:]
    /// The APNs environment for devices that do not report theirs; `nil` = found out by trial.
    package var apnsEnvironment: APNsEnvironment?
    /// Frames that a connection, and requests that a user, may send a second, on average; an `end` does not count.
    package var signalsPerSecond = 50
    /// Frames that a connection, and requests that a user, may send in one burst; an `end` does not count.
    package var signalBurst = 200
    /// Ends without effect that a user may send a second, on average.
    package var endsPerSecond = 50
    /// Ends without effect that a user may send in one burst.
    package var endBurst = 200
    /// Bytes of logs and timelines that are stored for a user in a day: some 10,000 calls.
    package var storedBytesPerDay = 256 << 20
    /// Connections that may be present in one room: each connection that enters or leaves is reported to all others.
    package var connectionsPerRoom = 256
    /// Connections that a user may open a minute, on average and in one burst.
    package var connectsPerMinute = 60
    /// Calls that a user may begin a minute.
    package var callsPerMinute = 30
    /// Rings a minute of one caller to one callee, on average and in one burst; 0 = unlimited.
    ///
    /// Each direction counts separately: calls of the callee to the caller have a limit of their own.
    package var ringsPerPair = 6
    /// Rings a minute of one callee by all callers together; 0 = unlimited.
    package var ringsPerCallee = 30
    /// Callers that may ring one callee at the same time; further callers are told that the callee is busy.
    package var callersPerCallee = 5
    /// Unconfirmed bytes to a connection above which candidates, updates, digits, infos and texts to it are refused: a
    /// quarter of its queue.
    ///
    /// Those of up to 1 KiB are refused above twice as many bytes.
    package var backlogBytes = 256 * 1_024
    /// Bytes of a replay that are sent before the connection must confirm them; most calls fit in one slice.
    package var replaySlice = 32 * 1_024
    /// Connections that a user may have open.
    package var connectionsPerUser = 16
    /// Devices that a user may register.
    package var devicesPerUser = 32
    /// Users that a user may block.
    package var blocksPerUser = 1_000
    /// Phone numbers that a user may block.
    package var blockedNumbersPerUser = 10_000
    /// Numbers with a name for all users that the call directory may have.
    package var directoryNumbers = 2_000_000
    /// Numbers with a name for one user that the call directory may have.
    package var directoryNumbersPerUser = 10_000
    /// Frames above the rate after which a connection is closed.
    package var refusedFrames = 1_000
    /// Frames in a row that are not JSON after which a connection is closed.
    package var badFrames = 10
    /// Schedules that a user may have.
    package var schedulesPerUser = 50
    /// The STUN servers that clients are sent: a JSON array of `RTCIceServer`, as bytes.
    ///
    /// A user's TURN server, which needs a credential, is appended.
    package var iceServers = Array("[]".utf8)
    /// The longest time that a long poll waits.
    package var longestPoll = Moment.Duration.seconds(30)
    /// How long after an unclean start a client may still remember a `seq` that the crash lost.
    ///
    /// It is somewhat longer than the longest ring.
    package var crashShadow = Moment.Duration.seconds(180)

    /// The decisions of the app's backend about offers; `nil` = it is asked nothing.
    package var decisions: DecisionPolicy?

    /// The events for the app's backend; `nil` = none are stored or sent.
    package var events: EventPolicy?

    /// Whether a change of a call's course is shown only when it is durable, and a push sent only then.
    ///
    /// Several servers that share one database need it: the loser of a take-over shows nothing that was not committed.
    package var withholdsDecisions = false
    /// Whether ``Switchboard/Output/marked(_:_:seq:)`` and ``Switchboard/Output/bound(_:_:)`` are put out, and refusals
    /// that tell of a call wait for a commit.
    ///
    /// Several servers that share one database need it: the next owner of the calls adopts the connections, and a
    /// deposed owner does not know the newest calls.
    package var marksLogs = false
    /// The address at which other nodes reach this one, for the timelines of the calls that it takes over; `nil` = there are
    /// no other nodes.
    package var nodeAddress: String?

    /// The default settings.
    package init() {}

    /// Whether a push of this kind can be sent.
    func canPush(by kind: PushKind) -> Bool { kind.isThroughAPNs || pushKinds.contains(kind) }

    /// Returns what is told of the service that carries a kind of push; `nil` = nothing.
    func service(of kind: PushKind) -> PushService? { pushServices.first { $0.kinds.contains(kind) } }

    /// Returns the keys that a device's app wants in the pushes of calls: those that the device registered, and the
    /// operator's.
    package func aliases(for device: DeviceRecord) -> PayloadAliases {
        let registered = device.payloadKeys.map { PayloadAliases(text: $0) } ?? PayloadAliases()
        return payloadAliases[device.bundleID].map { registered.adding($0) } ?? registered
    }

    /// The source of the displayed name of a caller or of a text's sender.
    package enum CallerName: String, Sendable, CaseIterable {
        /// The client's name, or the token's if the client sends none.
        case any
        /// The token's name alone, so that no client can call under another name. A service, which may act for any
        /// user, may also set the name.
        case token
        /// The name of the app's backend alone, which it gives with its decision. A service may also set the name.
        case decision
    }

    /// The treatment of a second call to a user that is in a call.
    package enum BusyPolicy: String, Sendable, CaseIterable {
        /// The call rings, and is marked as waiting.
        case waiting
        /// The caller is told that the callee is busy.
        case busy
    }
}
