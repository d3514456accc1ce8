import CallClient
import CallCore
import CallPorts
import Switchboard

/// Checks the invariants that concern both the server and the simulated devices.
final class Audit: Part {
    private let apps: Apps
    private let server: any ServerUnderTest
    private let network: Network
    /// The disagreements that existed a while ago.
    private var suspects: [String] = []
    private var hasHungUp = false

    init(_ apps: Apps) {
        self.apps = apps
        server = apps.server
        network = apps.network
        super.init(apps.course)
    }

    private var turns: Turns { server.turns }

    /// Checks that every device that the callee registered has confirmed the call or was pushed (I6).
    ///
    /// There is no such check if the callee set do-not-disturb while the call rang, nor while the store cannot write. A
    /// server that withholds its decisions pushes a device only after the commits that waited meanwhile.
    func checkDelivery(_ key: CallKey, _ epoch: UInt32, _ number: CallNumber) {
        guard turns.switchboard != nil, server.decides, now >= checker.serverSince + scenario.deliveryTime,
            let call = checker.calls[number],
            call.record.epoch == epoch, call.name.key == key, now >= call.begunAt + scenario.deliveryTime,
            call.isRinging,
            call.record.hidden == nil, !isHealed, !turns.isStoreStalled,
            !faults.contains(.withholding) || turns.storeRecoveredAt < now - scenario.deliveryTime,
            checker.silencedAt[call.record.callee].map({ $0 < now - 32_000 - scenario.longestLeap }) ?? true
        else { return }
        for (device, token) in call.targets {
            guard
                checker.devices[call.record.callee]?.contains(where: { $0.id == device && $0.has(token) })
                    == true,
                let receiver = network.devices.first(where: { $0.id == device }),
                !checker.wasRemoved(device, since: call)
            else { continue }
            let target = checker.target(call.name, device)
            if checker.confirmed.contains(target) || checker.attempted.contains(target) || checker.isOrdered(target) {
                continue
            }
            // A device that says `ringing` has the call, even if a deposed server wrote the offer to its socket.
            let said = checker.acknowledgements[call.name] ?? []
            if said.contains(where: { $0.kind == .ringing && $0.device == device }) || network.isProbed(receiver) {
                continue
            }
            fail("I6", "\(device.text) did not confirm \(call.name), and got no push")
        }
    }

    /// Checks that a ring ends by itself, whatever the device receives (I2).
    func checkRing(_ device: SimulatedDevice, _ instance: Int, _ name: CallName, _ ring: Int) {
        guard device.instance == instance, device.rings[name] == ring, device.power == .foreground,
            let core = device.core,
            core.calls.contains(where: { $0.name == name && $0.phase == .ringing })
        else { return }
        fail("I2", "\(device.id.text) still rings for \(name)")
    }

    /// Checks that no ring lasts too long (I2), and that acknowledged signals have reached all devices with a sound
    /// socket (I4).
    func audit() {
        guard turns.switchboard != nil, server.decides else { return }
        for number in checker.live {
            guard let call = checker.calls[number], call.isRinging,
                moment > call.record.ringUntil + .seconds(3), now > checker.serverSince + 3_000
            else { continue }
            fail("I2", "\(call.name) rings after the end of its ring time")
        }
        for device in network.devices {
            auditConnection(of: device)
            auditRegistration(of: device)
            guard device.power == .foreground, let index = device.link, let core = device.core,
                network.links[index].isOpenAtServer, !network.links[index].isHalfOpen,
                network.links[index].run == turns.run,
                now >= max(network.links[index].openedAt, network.links[index].adoptedAt) + 6_000,
                // A connection that a burst has filled needs time to deliver.
                !faults.contains(.bursts) || now >= network.links[index].downUntil + 6_000
            else { continue }
            for number in checker.live {
                guard let call = checker.calls[number], call.record.hidden == nil else { continue }
                audit(call, device, core)
            }
        }
    }

    private func audit(_ call: InvariantChecker.CommittedCall, _ device: SimulatedDevice, _ core: any DeviceCore) {
        let part = checker.part(of: device, in: call)
        guard part == .caller || part == .answeringDevice || (part == .callee && call.isRinging),
            now >= call.changedAt + 6_000,
            let known = core.calls.last(where: { $0.name == call.name }), known.phase != .ended
        else { return }
        let log = device.delivered[call.name]
        for one in checker.acknowledgements[call.name] ?? [] where now >= one.at + 6_000 {
            if one.user == device.user || one.kind == .end { continue }
            if part == .caller, one.kind == .ice, checker.answeringDevices[call.record.number] != one.device {
                continue
            }
            if part == .caller, one.kind == .ice, call.isRinging { continue }
            // A candidate waits for its device's description, which is checked by itself, also if nothing has come yet.
            if one.kind == .ice, log?.describedDevices.contains(one.device.text) != true { continue }
            if part == .caller, one.seq <= checker.callerSince[call.name] ?? 0 { continue }
            if log?.signalKeys.contains("\(one.device.text) \(one.id)") == true { continue }
            // A signal that waits for the user, or for its description, has arrived. Its delivery is checked by the
            // client that holds it.
            if log?.arrived.contains("\(one.device.text) \(one.id)") == true { continue }
            // A long log is replayed only as fast as the connection takes it. An entry is checked once the replay has
            // reached it, or has stopped.
            if let last = device.lastShown[call.name], last.seq < one.seq, now < last.at + 4_000 { continue }
            // The logs of a device's calls are replayed one after the other.
            if isReplayed(to: device) { continue }
            // The same description, or the same `ringing`, under another id is the same signal. It is recognised by its
            // `seq`, or, if a crash has given it another `seq`, by the id under which the log holds it.
            if let first = call.held[one.seq]?.key, log?.signalKeys.contains(first) == true { continue }
            if log?.seqs.contains(one.seq) == true || log?.arrivedSeqs.contains(one.seq) == true { continue }
            fail(
                "I4",
                "\(one.kind.rawValue) \(one.id) from \(one.device.text) in \(call.name) was acknowledged as \(one.seq) "
                    + "and not handed to \(device.id.text)"
            )
        }
    }

    /// Returns whether a replay of any call to a device is in progress.
    private func isReplayed(to device: SimulatedDevice) -> Bool {
        device.lastShown.contains { name, last in
            guard now < last.at + 4_000, let number = checker.newest[name.key], let call = checker.calls[number] else {
                return false
            }
            return call.name == name && last.seq < call.lastSeq
        }
    }

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
        let registered = PushKind.allCases.map { row?.routes[$0]?.asGiven }
        let own = PushKind.allCases.map { wanted[$0] }
        if registered != own {
            func text(_ tokens: [String?]) -> String { tokens.map { $0 ?? "none" }.joined(separator: " and ") }
            let (own, kept) = (text(own), text(registered))
            fail("I18", "\(device.id.text) has the push tokens \(own), and the server \(kept)")
        }
    }

    // MARK: The end

    /// Checks that the devices and the server agree (I3), then hangs up all calls and checks that no call is left.
    ///
    /// A disagreement breaks the invariant only if it still exists a while later.
    func hangUpAll() {
        let differences = disagreements()
        if suspects.isEmpty, !differences.isEmpty, !hasHungUp {
            suspects = differences
            after(9_000, .hangUpAll)
            return
        }
        if let still = differences.first(where: { suspects.contains($0) }) {
            fail("I3", still)
            return
        }
        if hasHungUp {
            if let number = checker.live.first, let call = checker.calls[number], call.record.hidden == nil {
                fail("I3", "\(call.name) is still live although all users have hung up")
            }
            for device in network.devices {
                for call in device.core?.calls ?? [] where call.phase != .ended && !device.isPoller {
                    fail("I2", "\(device.id.text) is still in \(call.name) although all users have hung up")
                }
            }
            server.checkEnd()
            after(0, scenario.hasBackend ? .backend(.waits) : .finish)
            return
        }
        hasHungUp = true
        suspects = []
        for device in network.devices {
            for call in device.core?.calls ?? [] where call.phase != .ended {
                apps.passToCore(device, .intent(.end(call.name, reason: nil)))
            }
        }
        after(55_000, .hangUpAll)
    }

    private func disagreements() -> [String] {
        var found: [String] = []
        for number in checker.live {
            guard let call = checker.calls[number], call.record.hidden == nil else { continue }
            for device in network.devices where !device.isGone {
                let known = device.core?.calls.last { $0.name == call.name }
                if device.isPoller, isAmbiguous(call.name, for: device) { continue }
                switch checker.part(of: device, in: call) {
                case .caller, .answeringDevice:
                    // A device that only polls asks only about the calls that its core knows. It receives nothing of a
                    // call that was begun or answered in its name without its core.
                    if device.isPoller, known == nil || known?.phase == .ended { continue }
                    if known == nil || known?.phase == .ended {
                        found.append("\(call.name) lives and \(device.id.text) is not in it")
                    } else if !call.isRinging, let by = known?.answeredBy, by != checker.answeringDevices[number]?.text
                    {
                        found.append("\(call.name): \(device.id.text) talks to \(by)")
                    } else if !call.isRinging, known?.phase != .talking {
                        found.append("\(call.name) is answered and \(device.id.text) does not know")
                    }
                case .calleesOther:
                    if let known, known.phase != .ended {
                        found.append("\(call.name) was answered and \(device.id.text) goes on")
                    }
                case .callee, .callersOther, .anybody, .server: break
                }
            }
        }
        for device in network.devices {
            for known in device.core?.calls ?? [] where known.phase != .ended {
                if device.isPoller, isAmbiguous(known.name, for: device) { continue }
                guard let number = checker.newest[known.name.key], let call = checker.calls[number] else {
                    found.append("\(device.id.text) is in \(known.name), which the server does not know")
                    continue
                }
                if call.name == known.name, !call.isLive {
                    found.append("\(device.id.text) is in \(known.name), which has ended")
                } else if call.name != known.name, known.name.epoch < call.name.epoch {
                    found.append("\(device.id.text) is in \(known.name), and the server in \(call.name)")
                } else if known.name.epoch > call.name.epoch, device.isRealApp {
                    found.append("\(device.id.text) is in \(known.name), which the server has lost")
                }
            }
        }
        return found
    }

    /// Returns whether a callId is in use with two peers: a device that only polls may then see the other call.
    private func isAmbiguous(_ name: CallName, for device: SimulatedDevice) -> Bool {
        checker.newest.keys.contains { $0.id == name.id && $0.pair != name.pair && $0.pair.contains(device.user) }
    }
}
