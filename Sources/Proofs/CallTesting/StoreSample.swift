package import CallCore
package import CallPorts

/// Records of every kind, for tests that bring a store's contents into another place.
package enum StoreSample {
    /// The changes that write the records, in order.
    ///
    /// There are a live call and an ended one with their logs, and two of which only the history is left: the numbers
    /// 1 to 4.
    package static let changes: [Change] = {
        var waiting = Sample.call(2, "other", from: Sample.carol)
        waiting.isWaiting = true
        var changes: [Change] = [
            .call(Sample.call(1, endedAt: 3_000)), .event(Sample.number(1), Sample.event("offer")),
            .call(waiting), .entry(waiting.number, Sample.entry(1)),
            .event(waiting.number, Sample.event("offer", #""device":"a\u0000 太郎""#)),
            .entry(waiting.number, Sample.entry(.max >> 2)),
            .event(Sample.number(1), Sample.event("ended", #""reason":"hangup""#)),
            .call(Sample.call(3, endedAt: 4_000)), .logForgotten(Sample.number(1)), .logForgotten(Sample.number(3)),
            .call(Sample.fullCall(4)), .entry(Sample.number(4), EntryRecord(Sample.entry(1).entry, object: large)),
        ]
        for user in [Sample.alice, Sample.bob] {
            for id in ["a", "b"] { changes.append(.device(Sample.fullDevice(user, id))) }
        }
        changes.append(.blocked(Sample.alice, by: Sample.bob, at: Sample.moment(7)))
        changes.append(.doNotDisturb(Sample.carol, until: Sample.lastMoment))
        changes.append(.revoked(Sample.alice, before: Sample.moment(8)))
        var state = NumberState(version: 3, oldest: 1, count: 2)
        let names = [
            NumberRow(number: Sample.phone(1), label: "one ü", version: 1),
            NumberRow(number: Sample.phone(PhoneNumber.maximum), label: "last", version: 3),
            NumberRow(number: Sample.phone(5), version: 2, removedAt: Sample.moment(9)),
        ]
        changes.append(.numbers(NumberChange(owner: nil, list: .identities, rows: names, state: state)))
        changes.append(
            .numbers(NumberChange(owner: Sample.bob, list: .identities, rows: Array(names.prefix(1)), state: state))
        )
        state.version = 4
        let blocked = [1, 7].map { NumberRow(number: Sample.phone($0), version: 4) }
        changes.append(.numbers(NumberChange(owner: Sample.carol, list: .blocks, rows: blocked, state: state)))
        changes += (1...3).map { .appEvent(Sample.appEvent($0, .callEnded, call: $0 == 2 ? nil : $0)) }
        changes += [
            .eventEndpoint(EventEndpoint(url: "https://a.example/", settledUpTo: EventPosition(rawValue: 2))),
            .eventHeld(Sample.held("https://a.example/", 1, call: 1, .retry(at: Sample.moment(7)))),
            .eventHeld(Sample.held("https://a.example/", 2, call: nil, .parked)),
        ]
        return changes
    }()

    /// The numbers of the calls.
    package static let numbers = (1...4 as ClosedRange<Int64>).map(CallNumber.init(rawValue:))
    /// A user of all calls.
    package static let user = Sample.bob

    private static let large = Sample.largeObject()[...]
}
