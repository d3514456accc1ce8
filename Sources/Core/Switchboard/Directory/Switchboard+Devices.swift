package import CallCore
import CallPorts
package import CallWire

extension Switchboard {
    /// A request about the user's devices (protocol, section 5).
    package enum DeviceRequest: Sendable {
        /// Return the user's devices.
        case list
        /// Register a device.
        case register(DeviceRegistration)
        /// Remove a device.
        case remove(DeviceID)

        /// The request's name in the log.
        var name: LogWord {
            switch self {
            case .list: "devices"
            case .register: "register"
            case .remove: "remove_device"
            }
        }
    }
}

/// Devices, as their users read and change them.
extension Switchboard {
    mutating func devices(_ asked: DeviceRequest, by principal: Principal, as id: RequestID) {
        switch asked {
        case .list: turn.out.append(.reply(id, Reply(body: DeviceView.list(directory.devices(of: principal.user)))))
        case .register(let registration):
            noteUnknown(registration.unknownNames, at: .registration)
            register(registration, by: principal, as: id)
        case .remove(let device): removeDevice(device, by: principal, as: id)
        }
    }

    private mutating func register(
        _ registration: DeviceRegistration,
        by principal: Principal,
        as id: RequestID
    ) {
        let now = turn.now
        var registration = registration
        if case .subscription(var web)? = registration.tokens[.web] {
            // Two spellings of one address are one subscription, which belongs to one user at a time.
            do throws(WireError) { web.endpoint = try checked(endpoint: web.endpoint) } catch {
                refuse(id, error)
                return
            }
            registration.tokens[.web] = .subscription(web)
        }
        var device = row(for: registration, by: principal)
        // A Firebase token or a subscription may be registered alone. Then the platform and bundle id that the app registered earlier
        // stay, because the topic of its pushes depends on the bundle id.
        if !registration.bundleID.isEmpty || device.bundleID.isEmpty {
            device.platform = registration.platform
            device.bundleID = registration.bundleID
        }
        device.seenAt = now
        device.installation = registration.installation
        if let environment = registration.environment { device.environment = APNsEnvironment(environment) }
        takeTokens(of: registration, for: &device)
        if let sound = registration.sound { device.sound = sound.isEmpty ? nil : sound }
        if registration.payloadKeys != nil || registration.mutableContent != nil {
            let before = device.payloadKeys.map { PayloadAliases(text: $0) } ?? PayloadAliases()
            var keys = registration.payloadKeys ?? before
            keys.isMutable = registration.mutableContent ?? before.isMutable
            device.payloadKeys = keys.text.isEmpty ? nil : keys.text
        }
        makeRoom(for: device)
        reportRegistered(device, after: directory.device(device.id, of: device.user))
        directory.put(device)
        commits.append(.device(device))
        renewWithheldPushes(to: device)
        sendWhenDurable(.reply(id, Reply(body: DeviceView.one(device, message: shortcoming(of: registration, device)))))
    }

    /// Writes the push tokens of a registration into the device's row, and takes them away from other devices.
    private mutating func takeTokens(of registration: DeviceRegistration, for device: inout DeviceRecord) {
        let now = turn.now
        for (kind, token) in registration.tokens.entries.map({ ($0.kind, $0.value) }) {
            moveToken(token.text, kind, by: device)
            // The working environment was found with the old push token, and the new one may belong to the other
            // environment.
            if kind == .voip || kind == .alert && !device.routes.has(.voip), device.token(for: kind) != token.text {
                device.workingEnvironment = nil
            }
            device.routes[kind] = RegisteredRoute(token, at: now)
            if kind == .voip { device.unansweredPushes = 0 }
        }
    }

    /// Returns what this server lacks to push to what was registered: an app must not be led to believe that its device
    /// rings; `nil` = nothing.
    private func shortcoming(of registration: DeviceRegistration, _ device: DeviceRecord) -> String? {
        if registration.tokens.has(.firebase), device.isUnreachableByFirebase {
            return "the Firebase token is stored, but no device of Apple rings by Firebase, because iOS starts no app "
                + "for its messages: register voipDeviceToken (PushKit's token), or apnsDeviceToken for an alert that rings"
        }
        return registration.tokens.entries.first { !policy.canPush(by: $0.kind) }
            .flatMap { policy.service(of: $0.kind)?.shortcoming }
    }

    /// Returns an endpoint in its one form, if it is an address of an allowed push service.
    private func checked(endpoint text: String) throws(WireError) -> String {
        do throws(WebPushEndpoint.Fault) { return try policy.webPushHosts.endpoint(text).address } catch {
            let reason =
                switch error {
                case .malformed:
                    "must be an https address of a host name, at most \(WebPushEndpoint.maximumBytes) bytes"
                case .notAllowed: "must be at a push service that this server allows"
                }
            throw .invalid(named: "webPush.endpoint", reason)
        }
    }

    /// Returns the row that a registration updates: by device id, else by push token, else the row without a device
    /// id that lacks this kind of push token, else a new row.
    private mutating func row(
        for registration: DeviceRegistration,
        by principal: Principal
    ) -> DeviceRecord {
        let now = turn.now
        let own = directory.devices(of: principal.user)
        func fresh(_ id: DeviceID, isNamed: Bool) -> DeviceRecord {
            DeviceRecord(
                user: principal.user,
                id: id,
                isNamed: isNamed,
                platform: registration.platform,
                bundleID: registration.bundleID,
                createdAt: now
            )
        }
        if let id = registration.device ?? principal.device {
            return own.first { $0.id == id } ?? fresh(id, isNamed: true)
        }
        for (kind, token) in registration.tokens.entries.map({ ($0.kind, $0.value.text) }) {
            // A token of APNs may have been registered as one of its other kind.
            let row = own.first { row in
                row.token(for: kind) == token
                    || kind.isThroughAPNs && (row.token(for: .voip) == token || row.token(for: .alert) == token)
            }
            if let row { return row }
        }
        let halfEmpty = own.last { row in
            guard !row.isNamed, !registration.bundleID.isEmpty, row.bundleID == registration.bundleID else {
                return false
            }
            let kinds = registration.tokens.entries.map(\.kind)
            return kinds.count == 1 && !row.routes.has(kinds[0])
        }
        return halfEmpty ?? fresh(makeDeviceID(), isNamed: false)
    }

    private mutating func makeDeviceID() -> DeviceID {
        let digits = String(ports.random.next(), radix: 16)
        guard let id = DeviceID("d-" + String(repeating: "0", count: 16 - digits.count) + digits) else {
            preconditionFailure("a made device id is of the form")
        }
        return id
    }

    /// Moves a push token to `device`; earlier holders lose it, since a device that changed hands must not ring for its
    /// former owner.
    ///
    /// The other users of one installation keep the token.
    private mutating func moveToken(_ token: String, _ kind: PushKind, by device: DeviceRecord) {
        for owner in directory.owners(ofToken: token) where owner.user != device.user || owner.device != device.id {
            guard let old = directory.device(owner.device, of: owner.user) else { continue }
            let isOfInstallation = old.installation != nil && old.installation == device.installation
            if owner.user == device.user || !isOfInstallation { moveToken(token, kind, from: old, by: device) }
        }
    }

    private mutating func moveToken(
        _ token: String,
        _ kind: PushKind,
        from former: DeviceRecord,
        by device: DeviceRecord
    ) {
        var old = former
        for each in PushKind.allCases where old.token(for: each) == token { old.routes[each] = nil }
        reportRemoved(old, .takenOver, kind: kind)
        store(old)
        metrics.pushTokensMoved += 1
        guard old.user != device.user else { return }
        // The device has probably changed hands, so it must not ring by another token of its former owner either.
        for call in calls.ringing(old.user) where call.pushes[old.id]?.route?.token == token {
            cancelPush(to: old.id, of: call)
            commits.markDirty(call)
            reschedule(call)
        }
        cancelPushes(to: old.id, of: old.user, token: token, onlyNotices: true)
        turn.out.append(.audit(.pushTokenMoved(kind, from: old.user, to: device.user, device.id)))
    }

    /// Cancels the pushes that wait to wake a device and are addressed to a push token that the device has just
    /// replaced, and requests them again: APNs would refuse the old token, and nothing else would wake the device.
    private mutating func renewWithheldPushes(to device: DeviceRecord) {
        guard policy.withholdsDecisions else { return }
        for call in calls.ringing(device.user) {
            guard let push = call.pushes[device.id], case .sent(let id) = push.phase,
                let route = push.route, route.token != device.token(for: route.kind), commits.cancelPush(id)
            else { continue }
            // Its result is recorded now, so that the timeline has it before the next push.
            pushed(id, .cancelled)
            call.pushes[device.id] = nil
            wake(device, for: call)
        }
    }

    private mutating func makeRoom(for device: DeviceRecord) {
        let own = directory.devices(of: device.user)
        guard own.count >= policy.devicesPerUser, !own.contains(where: { $0.id == device.id }),
            let oldest = own.min(by: { $0.seenAt < $1.seenAt })
        else { return }
        directory.remove(oldest.id, of: oldest.user)
        commits.append(.deviceRemoved(oldest.user, oldest.id))
        reportRemoved(oldest, .limit)
        cancelPushes(to: oldest.id, of: oldest.user)
    }

    private mutating func removeDevice(_ device: DeviceID, by principal: Principal, as id: RequestID) {
        let removed = directory.device(device, of: principal.user)
        guard directory.remove(device, of: principal.user) else {
            // The removal of an earlier request may not be durable yet: after a crash the device would be back.
            let error = WireError(.notFound, "no such device")
            countRefusal(error, .refusedRequest(id, error))
            sendWhenDurable(.reply(id, Reply(error)))
            return
        }
        commits.append(.deviceRemoved(principal.user, device))
        if let removed { reportRemoved(removed, .loggedOut) }
        cancelPushes(to: device, of: principal.user)
        sendWhenDurable(.reply(id, Reply(body: AcceptedBody.ok)))
    }
}

extension APNsEnvironment {
    /// The environment that a client names.
    fileprivate init(_ named: DeviceRegistration.Environment) {
        self =
            switch named {
            case .sandbox: .sandbox
            case .production: .production
            }
    }
}

extension RegisteredRoute {
    /// The route to a push token that a client has just registered.
    fileprivate init(_ token: PushToken, at now: Moment) {
        switch token {
        case .plain(let text): self.init(text, at: now)
        case .subscription(let web):
            self.init(WebPushSubscription(endpoint: web.endpoint, p256dh: web.p256dh, auth: web.auth), at: now)
        }
    }
}
