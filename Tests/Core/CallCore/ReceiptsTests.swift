import SeededRandom
import Testing

@testable import CallCore

@Suite("The receipts of a call's signals")
struct ReceiptsTests {
    private struct Key: Hashable {
        let id: SignalID
        let kind: SignalKind
        let side: Side
        let device: DeviceID
    }

    private static let kinds: [SignalKind] = [.ice, .end]

    @Test("They answer as a dictionary would, whatever is added, replaced and copied")
    func asDictionary() throws {
        var random = SeededGenerator(seed: 1)
        // Ids of the same bytes in another order, of one byte, of the greatest length, and beyond ASCII.
        let ids = try ["a", "ab", "ba", "\u{E4}", "\u{F6}", String(repeating: "x", count: 64), "0123456789abcdef"].map {
            try #require(SignalID($0))
        }
        let devices = try ["d", "e", "f"].map { try #require(DeviceID($0)) }
        for _ in 0..<200 {
            var receipts = Receipts()
            var log: [LogEntry] = []
            var expected: [Key: UInt64] = [:]
            for seq in UInt64(1)...40 {
                let key = Key(
                    id: try #require(ids.randomElement(using: &random)),
                    kind: try #require(Self.kinds.randomElement(using: &random)),
                    side: Bool.random(using: &random) ? .caller : .callee,
                    device: try #require(devices.randomElement(using: &random))
                )
                if Int.random(in: 0..<10, using: &random) == 0 {
                    let new = try #require(devices.randomElement(using: &random))
                    receipts.copy(from: key.device, to: new, on: key.side, in: log)
                    for (old, seq) in expected where old.side == key.side && old.device == key.device {
                        expected[Key(id: old.id, kind: old.kind, side: old.side, device: new)] = seq
                    }
                } else if receipts[key.id, key.kind, key.side, key.device, in: log] == nil {
                    if Bool.random(using: &random) {
                        // The receipt of an entry is added before the entry.
                        receipts.add(entryAt: log.count, for: key.id)
                        log.append(entry(key, seq))
                    } else {
                        receipts.add(seq, for: key.id, key.kind, from: key.side, key.device)
                    }
                    expected[key] = seq
                } else {
                    receipts.set(seq, for: key.id, key.kind, from: key.side, key.device, in: log)
                    expected[key] = seq
                }
            }
            #expect(receipts.count == expected.count)
            for (key, seq) in expected where key.id.text == "\u{E4}" {
                #expect(receipts[try #require(SignalID("a\u{308}")), key.kind, key.side, key.device, in: log] == seq)
            }
            for id in ids {
                for side in Side.allCases {
                    for device in devices {
                        for kind in Self.kinds {
                            let key = Key(id: id, kind: kind, side: side, device: device)
                            #expect(receipts[id, kind, side, device, in: log] == expected[key])
                        }
                    }
                }
            }
        }
    }

    private func entry(_ key: Key, _ seq: UInt64) -> LogEntry {
        let device = DeviceIdentity(id: key.device, fingerprint: TokenFingerprint(rawValue: 1))
        return LogEntry(
            seq: seq,
            at: Moment(milliseconds: 0),
            content: .signal(key.kind, from: key.side, device: device, id: key.id, digest: 0),
            audience: .both
        )
    }
}
