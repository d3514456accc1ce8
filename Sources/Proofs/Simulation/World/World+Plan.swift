import CallCore
import CallPorts
import SeededRandom

/// Plans a world before it runs: its devices, the calls of its users, what happens around them, and the faults.
extension World {
    /// Plans the calls and the faults, and after them the end of the faults and the final checks.
    func plan() {
        var generator = SeededGenerator(seed: scenario.seed, stream: 11)
        let span = Int64(scenario.callCount) * 5_000 + 10_000
        var ids: [CallID] = []
        var apart = SeededGenerator(seed: scenario.seed, stream: 12)
        for number in 0..<scenario.callCount {
            let participants = network.devices.filter { $0.user.text != "99" }
            guard let caller = generator.pick(participants) else { continue }
            guard let callee = generator.pick(participants.filter { $0.user != caller.user }) else { continue }
            let at = 1_000 + generator.within(0...max(1, span - 12_000))
            let name = callName(number, from: caller.user, to: callee.user, after: ids.last, &generator)
            guard let id = CallID(name) else { continue }
            ids.append(id)
            let ring: Int64? = generator.percent(40) ? generator.within(5...30) : nil
            after(at, .step(.call(device: caller.index, peer: callee.user, id, ring: ring)))
            if generator.percent(15), let back = generator.pick(participants.filter { $0.user == callee.user }) {
                // Both users call at the same time.
                let other = generator.percent(30) ? id : CallID("g\(number)-\(scenario.seed % 97)") ?? id
                after(
                    at + generator.within(-150...150),
                    .step(.call(device: back.index, peer: caller.user, other, ring: ring))
                )
            }
            if faults.contains(.sharedNames) { planNamesake(of: id, at: at, among: participants, &generator) }
            if faults.contains(.bursts), generator.percent(60) {
                let one =
                    generator.percent(50)
                    ? caller : generator.pick(participants.filter { $0.user == callee.user }) ?? caller
                after(at + generator.within(200...20_000), .step(.burst(device: one.index, id)))
            }
            if faults.contains(.hostile) {
                for _ in 0..<2 {
                    after(at + generator.within(0...25_000), .step(.hostile(generator.below(10))))
                }
            }
            if faults.contains(.outsiders) { planOutsiders(at: at, &apart) }
            if faults.contains(.settings) {
                planSettings(of: callee, against: caller.user, at: at, among: participants, &generator)
            }
        }
        planFaults(span)
        after(2_000, .audit)
        after(span, .settle)
    }

    /// Draws the callId of a planned call: that of the pair, one that several pairs use, the previous one, or a new one.
    private func callName(
        _ number: Int,
        from caller: UserID,
        to callee: UserID,
        after previous: CallID?,
        _ generator: inout SeededGenerator
    ) -> String {
        switch generator.below(10) {
        case 0, 1, 2: return "\(caller.text)-\(callee.text)"
        case 3: return "call"
        case 4: return previous?.text ?? "first"
        default:
            let digits = String(generator.next() >> 32, radix: 16)
            return String(repeating: "0", count: 8 - digits.count) + digits
                + "-0000-4000-8000-00000000000\(number % 10)"
        }
    }

    /// Plans changes around a call: the callee's block, do-not-disturb and push token, and any user's logout and token.
    private func planSettings(
        of callee: SimulatedDevice,
        against caller: UserID,
        at: Int64,
        among participants: [SimulatedDevice],
        _ generator: inout SeededGenerator
    ) {
        if generator.percent(8) {
            let isBlocked = generator.percent(50)
            after(
                at - generator.within(0...900),
                .step(.block(device: callee.index, caller, isBlocked: isBlocked))
            )
        }
        if generator.percent(5) {
            after(at - generator.within(0...900), .step(.disturb(device: callee.index, for: 10_000)))
        }
        if generator.percent(8) {
            let change = max(2_500, at + generator.within(-900...900))
            after(change, .step(.token(device: callee.index)))
        }
        if generator.percent(4), let one = generator.pick(participants) {
            after(at + generator.within(4_000...15_000), .step(.logout(device: one.index)))
        }
        if generator.percent(10), let one = generator.pick(participants) {
            after(at + generator.within(-2_000...9_000), .tokenExpires(device: one.index))
        }
    }

    /// Plans a call between two users under a callId that is in use.
    private func planNamesake(
        of id: CallID,
        at moment: Int64,
        among participants: [SimulatedDevice],
        _ generator: inout SeededGenerator
    ) {
        guard generator.percent(40), let caller = generator.pick(participants),
            let callee = generator.pick(participants.filter { $0.user != caller.user })
        else { return }
        let step = Step.call(device: caller.index, peer: callee.user, id, ring: nil)
        after(moment + generator.within(-2_000...12_000), .step(step))
    }

    /// Plans offers under the callIds of others' calls and repeated ends, in addition to the planned calls.
    ///
    /// Their random numbers come from a separate stream, so that worlds without this fault stay unchanged.
    private func planOutsiders(at: Int64, _ generator: inout SeededGenerator) {
        if generator.percent(40) { after(at + generator.within(50...15_000), .step(.outsiderCall)) }
        if generator.percent(40) { after(at + generator.within(500...25_000), .step(.oldEnd)) }
    }

    private func planFaults(_ span: Int64) {
        for (fault, _) in Faults.named where faults.contains(fault) {
            // Each fault draws from a separate stream, so that leaving one out does not change the others.
            var generator = SeededGenerator(seed: scenario.seed, stream: 100 + UInt64(fault.rawValue))
            let every: Int64
            switch fault {
            case .disconnects: every = 8_000
            case .halfOpen: every = 12_000
            case .offline: every = 15_000
            case .power: every = 10_000
            case .crashes: every = 30_000
            case .restarts: every = 60_000
            case .takeOver: every = 20_000
            case .store: every = 40_000
            case .delays: every = 15_000
            case .bursts: every = 8_000
            default: continue
            }
            var at = generator.within(500...every * 2)
            while at < span {
                after(at, .chaos(fault))
                at += generator.within(every / 4...every * 7 / 4)
            }
        }
    }

    func makeDevices() {
        var generator = SeededGenerator(seed: scenario.seed, stream: 10)
        let names = ["10", "11", "12", "a-b"].compactMap { UserID($0) }
        let count = 2 + generator.below(3)
        // A stream of its own: a world without other routes is the same as before there were any.
        var routes = SeededGenerator(seed: scenario.seed, stream: 11)
        let hasRoutes = routes.percent(33)
        for (number, user) in names.prefix(count).enumerated() {
            for device in 0..<(1 + generator.below(3)) {
                let kind: PushKind =
                    !hasRoutes || routes.percent(30)
                    ? .voip : routes.percent(40) ? .firebase : routes.percent(60) ? .web : .alert
                add(user, "p\(number)\(device)-", kind, &generator)
            }
        }
        if let outsider = UserID("99") { add(outsider, "x0-", .voip, &generator) }
        for index in network.devices.indices {
            let device = network.devices[index]
            if generator.percent(faults.contains(.power) ? 70 : 100) {
                after(generator.within(0...300), .step(.launch(device: index)))
            }
            // Every device registers, whether its app is launched or not. The request arrives when the server has
            // started.
            users.register(device)
        }
    }

    private func add(_ user: UserID, _ name: String, _ kind: PushKind, _ generator: inout SeededGenerator) {
        guard let device = DeviceID(name) else { return }
        let isPoller = generator.percent(8) && user.text != "99"
        let skewed = faults.contains(.skew) && generator.percent(25)
        network.devices.append(
            SimulatedDevice(
                index: network.devices.count,
                user: user,
                device: device,
                fingerprint: TokenFingerprint(rawValue: UInt64(network.devices.count) + 1),
                skew: skewed ? generator.within(-40_000...40_000) : generator.within(-300...300),
                isPoller: isPoller,
                isRealApp: !isPoller && generator.percent(65),
                environment: generator.percent(70) ? .production : .sandbox,
                kind: kind
            )
        )
        guard scenario.hasNodes, let added = network.devices.last, !added.isPoller, !added.isRealApp else { return }
        added.resendsOnlyOnNewSocket = draws.clients.percent(50)
        guard faults.contains(.unnamed), user.text != "99", draws.unnamed.percent(50) else { return }
        added.isUnnamed = true
        added.resendsOnlyOnNewSocket = true
    }
}
