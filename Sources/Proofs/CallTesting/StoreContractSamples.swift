import CallCore
import CallPorts

/// Sample records for testing a store.
enum Sample {
    static let alice = user("alice@example.org")
    static let bob = user("b.o_b:+-")
    static let carol = user("11")

    static func user(_ text: String) -> UserID {
        guard let id = UserID(text) else { preconditionFailure("\(text) is no user id") }
        return id
    }

    static func device(_ text: String) -> DeviceID {
        guard let id = DeviceID(text) else { preconditionFailure("\(text) is no device id") }
        return id
    }

    static func callID(_ text: String) -> CallID {
        guard let id = CallID(text) else { preconditionFailure("\(text) is no call id") }
        return id
    }

    static func phone(_ number: Int64) -> PhoneNumber {
        guard let phone = PhoneNumber(rawValue: number) else { preconditionFailure("\(number) is no phone number") }
        return phone
    }

    /// The latest moment that a store must accept.
    static let lastMoment = Moment(milliseconds: StorableRange.moments.upperBound)
    /// The highest call number that a store must accept.
    static let lastNumber = StorableRange.numbers.upperBound

    static func moment(_ milliseconds: Int64) -> Moment { Moment(milliseconds: milliseconds) }

    static func number(_ number: Int64) -> CallNumber { CallNumber(rawValue: number) }

    /// Returns a call without any optional part, except for its end if `endedAt` is given.
    static func call(
        _ number: Int64,
        _ id: String = "11-10",
        from caller: UserID = alice,
        to callee: UserID = bob,
        endedAt: Int64? = nil
    ) -> CallRecord {
        CallRecord(
            number: CallNumber(rawValue: number),
            id: callID(id),
            epoch: 1,
            room: "p2p:\(caller.text)-\(callee.text)",
            caller: caller,
            callee: callee,
            displayName: nil,
            hasVideo: false,
            startedAt: moment(1_000 + number),
            ringUntil: moment(46_000),
            endedAt: endedAt.map(moment),
            reason: endedAt == nil ? nil : .hangup
        )
    }

    /// Returns a call with every part present, at the limits of the allowed ranges.
    static func fullCall(_ number: Int64) -> CallRecord {
        var call = CallRecord(
            number: CallNumber(rawValue: number),
            id: callID("a:b.c_d-E0"),
            epoch: UInt32(StorableRange.epochs.upperBound),
            room: "p2p:a-\u{1F4DE}\0-b",
            caller: alice,
            callee: bob,
            displayName: "山田 \"太郎\" \u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467} e\u{301}\\\n\u{1}",
            hasVideo: true,
            startedAt: moment(StorableRange.moments.lowerBound),
            ringUntil: lastMoment,
            answeredAt: moment(0),
            activeAt: moment(1),
            endedAt: lastMoment,
            reason: .answeredElsewhere,
            replacedBy: callID("other"),
            hidden: .doNotDisturb,
            legs: [
                Leg(device: identity("iphone-a", fingerprint: .max), side: .caller, phase: .answered),
                Leg(
                    device: DeviceIdentity(unnamed: TokenFingerprint(rawValue: 1)),
                    side: .callee,
                    phase: .endNotDelivered
                ),
                Leg(device: identity("x", fingerprint: 0), side: .callee, phase: .left),
                Leg(device: identity("y", fingerprint: 2), side: .callee, phase: .ringing),
                Leg(device: identity("z", fingerprint: 3), side: .callee, phase: .notified),
            ]
        )
        call.session.answeringDevice = identity("x", fingerprint: .max)
        call.session.ending?.declinedBy = identity("y", fingerprint: 2)
        call.session.callerMedia = MediaUpdate(hold: true, audioMuted: false)
        call.session.calleeMedia = MediaUpdate(videoMuted: true)
        call.isWaiting = true
        call.wasSilencedByDoNotDisturb = true
        call.pushes = [device("x"): .accepted, device("d-1"): .refused]
        call.ends = [
            acceptedSignal(.end(.answeredElsewhere), "a b\nc"), acceptedSignal(.end(nil), "\u{301} \u{1F4DE}"),
            acceptedSignal(.end(.busy), "plain id"),
        ]
        call.descriptions = [
            acceptedSignal(.description(digest: .max), "7"), acceptedSignal(.description(digest: 0), "\u{7F}00"),
        ]
        return call
    }

    static func identity(_ id: String, fingerprint: UInt64) -> DeviceIdentity {
        DeviceIdentity(id: device(id), fingerprint: TokenFingerprint(rawValue: fingerprint))
    }

    private static func acceptedSignal(_ kind: AcceptedSignal.Kind, _ id: String) -> AcceptedSignal {
        AcceptedSignal(
            kind: kind,
            user: bob,
            device: identity("y", fingerprint: 0xFF),
            id: signalID(id),
            epoch: 3,
            seq: 9,
            at: moment(12)
        )
    }

    static func signalID(_ text: String) -> SignalID {
        guard let id = SignalID(text) else { preconditionFailure("\(text) is no signal id") }
        return id
    }

    /// Returns the entry of a candidate, with every part present.
    static func entry(_ seq: UInt64, _ object: String = #"{"type":"ice"}"#) -> EntryRecord {
        EntryRecord(
            LogEntry(
                seq: seq,
                at: moment(1_700_000_000_123),
                content: .signal(
                    .ice,
                    from: .caller,
                    device: identity("iphone-a", fingerprint: 0x8000_0000_0000_0001),
                    id: signalID("id-\(seq)"),
                    digest: .max
                ),
                audience: .callee
            ),
            object: ArraySlice(object.utf8)
        )
    }

    static func event(_ name: String, _ details: String = "") -> TimelineRecord {
        TimelineRecord(at: moment(5), event: .other(name: name, details: details))
    }

    /// Returns a device with every part present.
    static func fullDevice(_ user: UserID, _ id: String) -> DeviceRecord {
        var device = DeviceRecord(
            user: user,
            id: Sample.device(id),
            isNamed: true,
            platform: "ios",
            bundleID: "org.example.テスト",
            createdAt: moment(1)
        )
        for (index, kind) in PushKind.allCases.enumerated() {
            device.routes[kind] = RegisteredRoute("\(kind):1", at: moment(Int64(index) + 2))
        }
        let subscription = WebPushSubscription(endpoint: "https://push.example/1", p256dh: "BA", auth: "AA")
        device.routes[.web] = RegisteredRoute(subscription, at: moment(5))
        device.installation = "i-0123456789abcdef"
        device.sound = "ring.caf"
        device.payloadKeys = "UUID=callUUID"
        device.environment = .sandbox
        device.workingEnvironment = .production
        device.seenAt = lastMoment
        device.unansweredPushes = Int(StorableRange.counts.upperBound)
        device.lastPush = DeviceRecord.LastPush(
            at: moment(StorableRange.moments.lowerBound),
            status: 410,
            reason: "Unregistered",
            environment: .sandbox,
            hint: "gone — 端末"
        )
        return device
    }

    /// Returns 48 KiB of UTF-8 with scalars of all lengths and planes, NUL included.
    static func largeObject() -> [UInt8] {
        var bytes: [UInt8] = []
        var scalar: UInt32 = 0
        while bytes.count < 49_152 - 4 {
            // The steps lead through all planes of Unicode. Surrogates are not scalars, and are skipped.
            if let next = Unicode.Scalar(scalar) { bytes += Array(String(Character(next)).utf8) }
            scalar = scalar < 0x800 ? scalar + 1 : scalar + 61
            if scalar > 0x10FFFF { scalar = 0 }
        }
        return bytes + Array(repeating: 0x20, count: 49_152 - bytes.count)
    }
}
