import CallClient
import CallCore
import CallPorts

/// Simulates the sockets and the registrations of devices that run the real client core: its state machines decide when
/// to open or to give up a socket, and when to register.
extension SimulatedWorld {
    /// Opens a socket, as the app asks.
    func openSocket(of device: SimulatedDevice, attempt: UInt64) {
        guard device.power == .foreground, device.link == nil, !device.isConnecting else {
            return fail("I17", "\(device.id.text) opens a second socket")
        }
        if now < device.mayReconnectAt {
            fail("I17", "\(device.id.text) connects \(device.mayReconnectAt - now) ms before the server wants it to")
        }
        device.mayReconnectAt = 0
        device.linkEndedAt = now
        guard !hasNodes else { return connectToNode(device, attempt: attempt) }
        guard now >= device.offlineUntil, switchboard != nil else { return failAttempt(of: device, attempt) }
        device.isConnecting = true
        links.append(Link(device: device.index, instance: device.instance, run: run, openedAt: now))
        links[links.count - 1].attempt = attempt
        device.link = links.count - 1
        after(latency(), .socketEstablished(link: links.count - 1))
    }

    /// Plans the failure of an attempt to connect: there is no network, or nobody listens.
    func failAttempt(of device: SimulatedDevice, _ attempt: UInt64) {
        after(networkDraws.within(1...100), .attemptFails(device: device.index, instance: device.instance, attempt))
    }

    func attemptFailed(_ device: SimulatedDevice, _ attempt: UInt64) {
        guard device.power == .foreground else { return }
        device.linkEndedAt = now
        passToCore(device, .attemptClosed(attempt))
    }

    /// Drops the socket that the app has given up.
    ///
    /// The app's close may reach the server, or get lost.
    func giveUpSocket(of device: SimulatedDevice, attempt: UInt64) {
        device.linkEndedAt = now
        guard let link = device.link, links[link].attempt == attempt else { return }
        log("\(device.id.text) gives up socket \(link)")
        device.link = nil
        device.isConnecting = false
        if faultDraws.percent(50) { breakSocket(link) }
        links[link].isHalfOpen = true
        links[link].isOpenAtDevice = false
    }

    /// Changes a device's path to the network: its socket is dead, and no close will say so.
    func changePath(_ device: SimulatedDevice) {
        guard device.isRealApp, device.power == .foreground, !isHealed, now >= device.offlineUntil else { return }
        log("\(device.id.text) changes its path to the network")
        let old = device.link
        if let old {
            let isNoticed = !links[old].isHalfOpen && faultDraws.percent(50)
            if isNoticed { after(faultDraws.within(0...1_500), .closeUp(link: old)) }
            links[old].isHalfOpen = true
            links[old].neverCloses = true
        }
        passToCore(device, .pathChanged)
        if let old, device.link == old { fail("I17", "\(device.id.text) waits for the close of a dead socket") }
    }

    /// Logs a device's user out of their account, and in again a while later.
    func logOut(_ device: SimulatedDevice) {
        guard device.isRealApp, device.power == .foreground, !isBusy(device) else { return }
        log("\(device.id.text) logs out")
        passToCore(device, .login(false))
        after(faultDraws.within(1_000...10_000), .login(device: device.index, instance: device.instance))
    }

    // MARK: Checks

    /// Checks that a device that wants a connection has a socket, or a plan to open one (I17).
    func auditConnection(of device: SimulatedDevice) {
        guard let app = device.core as? AppClient, device.power == .foreground, device.link == nil else { return }
        let reconnection = app.reconnection
        if reconnection.current == nil, reconnection.deadline == nil, app.client.wantsConnection {
            fail("I17", "\(device.id.text) wants a connection, and will open none")
        }
        if let deadline = reconnection.deadline, deadline.milliseconds - device.skew > now + 60_000 {
            fail("I17", "\(device.id.text) will open no connection for more than a minute")
        }
        if reconnection.current != nil, now > device.linkEndedAt + 13_000 {
            fail("I17", "\(device.id.text) waits for a socket that does not exist")
        }
    }

    /// Checks that the server has the push tokens that an app takes for confirmed (I18).
    ///
    /// An app that does not run learns of a change when it runs again; APNs may refuse its old token before.
    func auditRegistration(of device: SimulatedDevice) {
        guard let app = device.core as? AppClient, device.power == .foreground, app.registration.isSettled else {
            return
        }
        let row = checker.devices[device.user]?.first { $0.id == device.id }
        let wanted = app.registration.wanted
        guard app.registration.isLoggedIn, !wanted.isEmpty else {
            if row != nil { fail("I18", "\(device.id.text) has withdrawn its push tokens, and is still registered") }
            return
        }
        let registered = [row?.voipToken, row?.alertToken, row?.fcmToken, row?.webPush.map(PushTokens.text)]
        let own = [wanted[.voip], wanted[.alert], wanted[.firebase], wanted[.web]]
        if registered != own {
            func text(_ tokens: [String?]) -> String { tokens.map { $0 ?? "none" }.joined(separator: " and ") }
            let (own, kept) = (text(own), text(registered))
            fail("I18", "\(device.id.text) has the push tokens \(own), and the server \(kept)")
        }
    }
}

extension InvariantChecker {
    /// Returns whether the row of a device was removed since a call began.
    ///
    /// A device that registers again while the call rings is not pushed: it is awake.
    func wasRemoved(_ device: DeviceID, since call: CommittedCall) -> Bool {
        removedAt[device].map { $0 >= call.changedAt - 130_000 } ?? false
    }
}
