import CallCore
import CallPorts

extension StoreContract {
    /// Cases that read every kind of change back after a restart, with all its fields.
    static let keeping: [Case] = [
        Case("a store that was never used is empty") { bench in
            try expect(try bench.open(), StoredState(), "the state of a new store")
        },
        Case("a call keeps all its fields") { bench in
            try bench.open()
            let bare = Sample.call(1)
            var blocked = Sample.call(2, "blocked")
            blocked.hidden = .block
            blocked.displayName = ""
            let full = Sample.fullCall(Sample.lastNumber)
            bench.commit([.call(full)])
            bench.commit([.call(blocked)])
            bench.commit([.call(bare)])
            let state = try bench.reopen()
            try expect(try bench.calls(state).map(\.record), [bare, blocked, full], "the calls, oldest first")
            try expect(state.lastCallNumber, Sample.lastNumber, "the last call number")
        },
        Case("every end reason is read back") { bench in
            try bench.open()
            var calls: [CallRecord] = []
            for (index, reason) in EndReason.allCases.enumerated() {
                var call = Sample.call(Int64(index) + 1, endedAt: 9)
                call.session.ending?.reason = reason
                calls.append(call)
                bench.commit([.call(call)])
            }
            try expect(try bench.calls(bench.reopen()).map(\.record), calls, "the calls")
        },
        Case("an entry keeps all its fields") { bench in
            try bench.open()
            let begin = Sample.moment(StorableRange.moments.lowerBound)
            let first = EntryRecord(
                LogEntry(seq: 1, at: begin, content: .state(StateChange(.answered)), audience: .nobody),
                object: []
            )
            let second = Sample.entry(2, #"{"sdp":"v=0\r\n","ü":"\#u{1F4DE}\#0"}"#)
            let unnamed = DeviceIdentity(unnamed: TokenFingerprint(rawValue: 0))
            let last = EntryRecord(
                LogEntry(
                    seq: UInt64(Sample.lastNumber),
                    at: Sample.lastMoment,
                    content: .signal(.offer, from: .callee, device: unnamed, id: nil, digest: 1 << 63),
                    audience: .calleeExcept(unnamed)
                ),
                object: Sample.entry(1).object
            )
            bench.commit([.call(Sample.call(7)), .entry(Sample.number(7), first)])
            bench.commit([.entry(Sample.number(7), last)])
            bench.commit([.entry(Sample.number(7), second)])
            let state = try bench.reopen()
            try expect(state.calls.first?.entries ?? [], [first, second, last], "the log, in the order of seq")
        },
        Case("every audience and every change of state is read back") { bench in
            try bench.open()
            let device = DeviceIdentity(id: Sample.device("x"), fingerprint: TokenFingerprint(rawValue: 0xAB))
            let audiences: [LogEntry.Audience] = [
                .caller, .callee, .both, .nobody, .callerAnd(device), .calleeExcept(device),
            ]
            let changes = [
                StateChange(.ringing, offerID: Sample.signalID("a/b>c d")), StateChange(.answered, answeredBy: device),
                StateChange(.active, answeredBy: device),
                StateChange(.ended, reason: .glare, answeredBy: device, replacedBy: Sample.callID("other")),
            ]
            let signals = SignalKind.allCases.map { kind in
                LogEntry.Content.signal(kind, from: .callee, device: device, id: Sample.signalID("é"), digest: 5)
            }
            var entries: [EntryRecord] = []
            for content in signals + changes.map({ .state($0) }) {
                for audience in audiences {
                    let seq = UInt64(entries.count) + 1
                    let entry = LogEntry(seq: seq, at: Sample.moment(7), content: content, audience: audience)
                    entries.append(EntryRecord(entry, object: []))
                }
            }
            bench.commit([.call(Sample.call(7))] + entries.map { .entry(Sample.number(7), $0) })
            try expect(try bench.reopen().calls.first?.entries ?? [], entries, "the log")
        },
        Case("an object of 48 KiB with nearly every byte value of UTF-8 is read back unchanged") { bench in
            try bench.open()
            var entry = Sample.entry(1)
            entry.object = Sample.largeObject()[...]
            try expect(Set(entry.object).count > 240, "the sample holds too few bytes")
            bench.commit([.call(Sample.call(1)), .entry(Sample.number(1), entry)])
            let kept = try bench.reopen().calls.first?.entries.first?.object ?? []
            try expect(kept == entry.object, "the object came back changed")
        },
        Case("each call has its own log") { bench in
            try bench.open()
            for number in 1...3 as ClosedRange<Int64> {
                bench.commit([.call(Sample.call(number)), .entry(Sample.number(number), Sample.entry(1, "\(number)"))])
            }
            let objects = try bench.reopen().calls.map { $0.entries.map { String(decoding: $0.object, as: UTF8.self) } }
            try expect(objects, [["1"], ["2"], ["3"]], "the logs")
        },
        Case("devices keep all their fields") { bench in
            try bench.open()
            var bare = DeviceRecord(
                user: Sample.alice,
                id: Sample.device("ipad"),
                isNamed: false,
                platform: "",
                bundleID: "",
                createdAt: Sample.moment(StorableRange.moments.lowerBound)
            )
            bare.lastPush = DeviceRecord.LastPush(
                at: Sample.moment(0),
                status: 0,
                reason: nil,
                environment: .production,
                hint: nil
            )
            let none = DeviceRecord(
                user: Sample.bob,
                id: Sample.device("ipad"),
                isNamed: true,
                platform: "android",
                bundleID: "b",
                createdAt: Sample.moment(4)
            )
            let full = Sample.fullDevice(Sample.alice, "iphone")
            bench.commit([.device(none), .device(full), .device(bare)])
            let found = try bench.reopen().devices
            try expect(found.count, 3, "how many devices")
            for device in [bare, none, full] {
                try expect(found.contains(device), "\(device) did not come back in \(found)")
            }
        },
        Case("blocks and do-not-disturb are read back") { bench in
            try bench.open()
            bench.commit([
                .blocked(Sample.alice, by: Sample.bob, at: Sample.moment(7)),
                .blocked(Sample.bob, by: Sample.alice, at: Sample.lastMoment),
                .doNotDisturb(Sample.alice, until: Sample.moment(1 << 53)),
                .doNotDisturb(Sample.carol, until: Sample.moment(1)),
            ])
            let state = try bench.reopen()
            try expect(
                Set(state.blocks),
                [
                    BlockRecord(by: Sample.bob, blocked: Sample.alice, at: Sample.moment(7)),
                    BlockRecord(by: Sample.alice, blocked: Sample.bob, at: Sample.lastMoment),
                ],
                "the blocks"
            )
            try expect(
                state.doNotDisturb,
                [Sample.alice: Sample.moment(1 << 53), Sample.carol: Sample.moment(1)],
                "do-not-disturb"
            )
        },
        Case("revocations are read back") { bench in
            try bench.open()
            bench.commit([
                .revoked(Sample.alice, before: Sample.moment(7)), .revoked(Sample.bob, before: Sample.lastMoment),
            ])
            try expect(
                try bench.reopen().revocations,
                [Sample.alice: Sample.moment(7), Sample.bob: Sample.lastMoment],
                "the revocations"
            )
        },
    ]

    /// Cases that write a record again, which replaces the earlier record, or remove a record.
    static let replacing: [Case] = [
        Case("a call replaces the call with the same number, and the log stays") { bench in
            try bench.open()
            var full = Sample.fullCall(3)
            try bench.save([.call(full), .entry(Sample.number(3), Sample.entry(1))])
            bench.commit([.call(Sample.call(3, "another", from: Sample.carol, to: Sample.alice))])
            full = Sample.call(3, "another", from: Sample.carol, to: Sample.alice)
            try expect(try bench.history(Sample.bob), [], "the history of a user that is no longer in it")
            try expect(try bench.history(Sample.carol), [full], "the history of who is")
            let state = try bench.reopen()
            try expect(try bench.calls(state), [StoredCall(record: full, entries: [Sample.entry(1)])], "the call")
        },
        Case("a device replaces only the device with the same user and id") { bench in
            try bench.open()
            let others = [Sample.fullDevice(Sample.alice, "b"), Sample.fullDevice(Sample.bob, "a")]
            bench.commit((others + [Sample.fullDevice(Sample.alice, "a")]).map { .device($0) })
            var bare = Sample.fullDevice(Sample.alice, "a")
            bare.routes[.voip] = nil
            bare.environment = nil
            bare.lastPush = nil
            bench.commit([.device(bare)])
            let found = try bench.reopen().devices
            try expect(found.count, 3, "how many devices")
            for device in others + [bare] { try expect(found.contains(device), "\(device) is not among \(found)") }
        },
        Case("a removed device is gone, and all other devices stay") { bench in
            try bench.open()
            bench.commit(
                [("a", Sample.alice), ("b", Sample.alice), ("a", Sample.bob)].map { .device(Sample.fullDevice($1, $0)) }
            )
            bench.commit([
                .deviceRemoved(Sample.alice, Sample.device("a")), .deviceRemoved(Sample.carol, Sample.device("a")),
            ])
            let found = try bench.reopen().devices.map { $0.user.text + "/" + $0.id.text }
            try expect(Set(found), ["\(Sample.alice.text)/b", "\(Sample.bob.text)/a"], "the devices")
        },
        Case("a block can be renewed, and is removed in its own direction only") { bench in
            try bench.open()
            bench.commit([.blocked(Sample.alice, by: Sample.bob, at: Sample.moment(1))])
            bench.commit([.blocked(Sample.alice, by: Sample.bob, at: Sample.moment(2))])
            bench.commit([.blocked(Sample.bob, by: Sample.alice, at: Sample.moment(3))])
            bench.commit([.unblocked(Sample.bob, by: Sample.alice), .unblocked(Sample.carol, by: Sample.alice)])
            try expect(
                try bench.reopen().blocks,
                [BlockRecord(by: Sample.bob, blocked: Sample.alice, at: Sample.moment(2))],
                "the blocks"
            )
        },
        Case("do-not-disturb gets a new end, and is removed") { bench in
            try bench.open()
            bench.commit([
                .doNotDisturb(Sample.alice, until: Sample.moment(1)),
                .doNotDisturb(Sample.bob, until: Sample.moment(1)),
            ])
            bench.commit([.doNotDisturb(Sample.alice, until: nil), .doNotDisturb(Sample.bob, until: Sample.moment(2))])
            bench.commit([.doNotDisturb(Sample.carol, until: nil)])
            try expect(try bench.reopen().doNotDisturb, [Sample.bob: Sample.moment(2)], "do-not-disturb")
        },
        Case("a revocation replaces the same user's earlier revocation, and no other") { bench in
            try bench.open()
            bench.commit([
                .revoked(Sample.alice, before: Sample.moment(1)), .revoked(Sample.bob, before: Sample.moment(2)),
            ])
            bench.commit([.revoked(Sample.alice, before: Sample.moment(3))])
            try expect(
                try bench.reopen().revocations,
                [Sample.alice: Sample.moment(3), Sample.bob: Sample.moment(2)],
                "the revocations"
            )
        },
        Case("changes take effect in the order given") { bench in
            try bench.open()
            // The same records change back and forth, within one commit and over many commits. Only the right order
            // leads to the state expected below.
            for round in 1...50 as ClosedRange<Int64> {
                bench.commit([
                    .blocked(Sample.alice, by: Sample.bob, at: Sample.moment(round)),
                    .unblocked(Sample.alice, by: Sample.bob),
                    .doNotDisturb(Sample.bob, until: Sample.moment(round)),
                ])
                bench.commit([.doNotDisturb(Sample.bob, until: nil)])
                bench.commit([.blocked(Sample.alice, by: Sample.bob, at: Sample.moment(1_000 + round))])
            }
            let state = try bench.reopen()
            try expect(state.doNotDisturb, [:], "do-not-disturb")
            try expect(
                state.blocks,
                [BlockRecord(by: Sample.bob, blocked: Sample.alice, at: Sample.moment(1_050))],
                "the blocks"
            )
        },
    ]
}
