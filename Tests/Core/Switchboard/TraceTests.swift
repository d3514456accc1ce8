import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("Notes for the log")
struct TraceTests {
    /// A world after a call of two users with a repeated offer, a refused offer, a renegotiation and an end.
    private func call(_ detail: Switchboard.Detail) throws -> SwitchboardWorld {
        let world = SwitchboardWorld()
        world.switchboard.report(detail)
        let caller = try world.open("11", "a")
        let callee = try world.open("10", "b")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.send(callee, SwitchboardWorld.offer("c-1", to: "11", id: "p", sdp: "v=0\\r\\ns=p\\r\\n"))
        world.send(callee, SwitchboardWorld.answer("c-1"))
        world.send(caller, SwitchboardWorld.ice("c-1", id: "i"))
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10", id: "q", sdp: "v=0\\r\\ns=q\\r\\n"))
        world.send(callee, SwitchboardWorld.plain("end", "c-1", id: "e"))
        world.give(.closed(callee, code: 1001))
        return world
    }

    private func steps(_ world: SwitchboardWorld) -> [Switchboard.CallStep] {
        world.traced.compactMap { if case .call(_, let step) = $0 { step } else { nil } }
    }

    @Test("Only the requested level of detail is reported, and reporting changes no other output")
    func nothingElse() throws {
        let (silent, traced) = (try call(.none), try call(.calls))
        #expect(silent.traced.isEmpty && !traced.traced.isEmpty)
        #expect(silent.frames.mapValues { $0.map(\.description) } == traced.frames.mapValues { $0.map(\.description) })
        #expect(silent.changes == traced.changes && silent.notes == traced.notes && silent.closes == traced.closes)
        #expect(try call(.connections).traced.allSatisfy { if case .call = $0 { false } else { true } })
    }

    @Test("Every signal is reported with its origin, every offer with its meaning, every entry with its receivers")
    func aCall() throws {
        let world = try call(.calls)
        let (caller, callee) = (SocketID(rawValue: 1), SocketID(rawValue: 2))
        let signals = world.traced.compactMap { note -> Switchboard.Origin? in
            if case .signal(_, let call, _, _, let origin) = note, call?.text == "c-1" { origin } else { nil }
        }
        let senders = [caller, caller, callee, callee, caller, caller, callee]
        #expect(signals == senders.map { .connection($0) })
        let meanings = steps(world).compactMap { step -> Switchboard.LogWord? in
            if case .offer(let meaning) = step { meaning } else { nil }
        }
        #expect(meanings == ["repeat", "refused", "renegotiation"])
        #expect(steps(world).contains(.began("rings")))
        let relayed = steps(world).filter { if case .relayed = $0 { true } else { false } }
        #expect(
            relayed == [
                .relayed(seq: 1, .signal(.offer), to: [callee]), .relayed(seq: 2, .state(.ringing), to: [caller]),
                .relayed(seq: 3, .signal(.answer), to: [caller]),
                .relayed(seq: 4, .state(.answered), to: [caller, callee]),
                .relayed(seq: 5, .signal(.ice), to: [callee]), .relayed(seq: 6, .signal(.offer), to: [callee]),
                .relayed(seq: 7, .signal(.end), to: [caller]), .relayed(seq: 8, .state(.ended), to: [caller, callee]),
            ]
        )
        #expect(steps(world).filter { $0 == .refused }.count == 1)
    }

    @Test("The decision about a schedule's call is reported as that about a user's")
    func aScheduledCall() throws {
        let rig = ScheduleRig()
        rig.world.switchboard.report(.calls)
        try rig.make()
        rig.world.wait(40)
        #expect(steps(rig.world).filter { $0 == .began("rings") }.count == 1)
    }

    @Test("A connection is reported with its device, and its end with the close code of the client or the server")
    func connections() throws {
        let world = try call(.connections)
        let again = try world.open("11", "a")
        let (user, device) = (try user("11"), try device("a"))
        #expect(world.traced.contains(.opened(again, user, device, isNamed: true)))
        #expect(
            world.traced.contains(.closed(SocketID(rawValue: 1), user, device, code: 4409, openFor: .seconds(0)))
        )
        #expect(
            world.traced.contains {
                if case .closed(SocketID(rawValue: 2), _, _, 1001, _) = $0 { true } else { false }
            }
        )
        #expect(
            world.traced.contains {
                if case .refusedFrame(_, _, let error) = $0 { error.code == .callExists } else { false }
            }
        )
    }

    @Test("Changes of a call are reported when they go to the store, and once when they are durable")
    func commits() throws {
        let world = SwitchboardWorld()
        world.holdsCommits = true
        world.switchboard.report(.calls)
        let caller = try world.open("11", "a")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.send(caller, SwitchboardWorld.ice("c-1", id: "i"))
        func tickets(_ body: (Switchboard.CallStep) -> Ticket?) -> [UInt64] {
            steps(world).compactMap(body).map(\.rawValue)
        }
        let queued = { tickets { if case .queuedForCommit(let ticket) = $0 { ticket } else { nil } } }
        let committed = { tickets { if case .committed(let ticket) = $0 { ticket } else { nil } } }
        #expect(queued() == [1, 2] && committed() == [])
        world.commit()
        #expect(queued() == [1, 2] && committed() == [1, 2])
        // The tickets of commits are not remembered while nothing is reported.
        world.send(caller, SwitchboardWorld.ice("c-1", id: "j"))
        world.switchboard.report(.none)
        world.switchboard.report(.calls)
        world.commit()
        #expect(queued() == [1, 2, 3] && committed() == [1, 2])
    }

    @Test("An ack is reported as waiting for the commit, but not the ack of a repeat after the commit")
    func acknowledgements() throws {
        let world = SwitchboardWorld()
        world.holdsCommits = true
        world.switchboard.report(.calls)
        let caller = try world.open("11", "a")
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        world.commit()
        world.send(caller, SwitchboardWorld.offer("c-1", to: "10"))
        let waits = steps(world).compactMap { if case .acknowledged(1, _, let waits) = $0 { waits } else { nil } }
        #expect(waits == [true, false])
    }

    @Test("A query that fails is reported, and each request is reported with its name")
    func requests() throws {
        let world = SwitchboardWorld()
        world.failsQueries = true
        world.switchboard.report(.calls)
        _ = world.request(try principal("11"), .calls(.history(limit: 5, before: nil)))
        #expect(world.traced.contains(.request(RequestID(rawValue: 1), "history", try user("11"), nil)))
        #expect(world.traced.contains { if case .queryFailed = $0 { true } else { false } })
    }
    @Test("Each request has a name of its own in the log")
    func names() throws {
        let (id, user) = (try SwitchboardTests.call("c-1"), try SwitchboardTests.user("10"))
        let number = try #require(PhoneNumber(normalizing: "5"))
        let registration = DeviceRegistration(bundleID: "com.example.app", platform: "ios")
        let named: [(Switchboard.Request, Switchboard.LogWord)] = [
            (.signal(SignalMessage(endOf: id)), "signal"), (.fetch(id, .init()), "fetch"),
            (.end(id, device: nil), "end"),
            (.calls(.history(limit: 1, before: nil)), "history"), (.calls(.justBegun(with: user)), "record"),
            (.calls(.one(id)), "call"), (.calls(.timeline(id)), "timeline"),
            (.devices(.list), "devices"), (.devices(.register(registration)), "register"),
            (.devices(.remove(try device("b1"))), "remove_device"),
            (.blocks(.list), "blocks"), (.blocks(.block(user)), "block"), (.blocks(.unblock(user)), "unblock"),
            (.blocks(.blockNumber(number)), "block_number"), (.blocks(.unblockNumber(number)), "unblock_number"),
            (.blocks(.doNotDisturb(until: nil)), "do_not_disturb"),
            (.numbers(.read(.init())), "directory"),
            (.numbers(.update(nil, try NumberUpdate(body: Array("+1\ta\n".utf8)))), "update_directory"),
            (.schedules(.list, of: nil), "schedules"), (.credentials(.turn), "turn_credential"),
            (.credentials(.webPushKey), "web_push_key"), (.credentials(.revokeTokens(nil)), "log_out"),
        ]
        for (request, name) in named { #expect(request.name == name) }
        #expect(Set(named.map(\.1.text)).count == named.count)
    }
}
