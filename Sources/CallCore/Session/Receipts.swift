/// The receipts of a call: the `seq` under which each signal with an `id` was accepted.
///
/// A device's repeated signal is recognised by its side, its device and its `id`. The side is needed because the two
/// users may use the same device id and the same signal ids.
///
/// It is a list and not a dictionary, because nearly every signal is new and a call has some forty of them: to compare
/// a number per receipt costs less than a look-up, and the list takes less memory. ``Limits/logSignals`` bounds the
/// list, so that ids which a client chooses with equal numbers cost it some thousand comparisons at most.
struct Receipts: Equatable, Sendable {
    private struct Receipt: Equatable {
        let id: SignalID
        let device: DeviceID
        let side: Side
        var seq: UInt64
    }

    private var receipts: [Receipt] = []
    /// The marks of the receipts, four in each word: a mark is 16 bits of the hash of the receipt's `id`.
    ///
    /// They tell, four at a time, that a signal has no receipt.
    private var marks: [UInt64] = []

    /// The number of receipts.
    var count: Int { receipts.count }

    /// The `seq` of a device's signal; `nil` = no signal with this `id` was accepted from the device.
    subscript(id: SignalID, side: Side, device: DeviceID) -> UInt64? {
        index(of: id, side, device).map { receipts[$0].seq }
    }

    /// Adds the receipt of a signal; it replaces an earlier receipt of the same signal.
    mutating func set(_ seq: UInt64, for id: SignalID, from side: Side, _ device: DeviceID) {
        if let index = index(of: id, side, device) {
            receipts[index].seq = seq
        } else {
            add(seq, for: id, from: side, device)
        }
    }

    /// Adds the receipt of a signal that has none yet, which is not searched for again.
    mutating func add(_ seq: UInt64, for id: SignalID, from side: Side, _ device: DeviceID) {
        let place = receipts.count & 3
        if place == 0 { marks.append(0) }
        marks[marks.count - 1] |= Self.mark(of: id) << UInt64(16 * place)
        if receipts.isEmpty { receipts.reserveCapacity(8) }
        receipts.append(Receipt(id: id, device: device, side: side, seq: seq))
    }

    /// Gives the receipts of a device also to the id that the device has from now on.
    mutating func copy(from old: DeviceID, to new: DeviceID, on side: Side) {
        for receipt in receipts where receipt.side == side && receipt.device == old {
            set(receipt.seq, for: receipt.id, from: side, new)
        }
    }

    private func index(of id: SignalID, _ side: Side, _ device: DeviceID) -> Int? {
        // The difference of a mark and the id's mark, of which there are four copies in a word, is 0 if they are equal.
        let ones: UInt64 = 0x0001_0001_0001_0001
        let searched = Self.mark(of: id) &* ones
        let marks = marks.span
        for index in marks.indices {
            let difference = marks[index] ^ searched
            // The flag of a mark above an equal one can be wrong, by the borrow of the subtraction.
            guard (difference &- ones) & ~difference & ones &<< 15 != 0 else { continue }
            for place in 4 * index..<min(4 * index + 4, receipts.count)
            where receipts[place].side == side && receipts[place].id == id && receipts[place].device == device {
                return place
            }
        }
        return nil
    }

    private static func mark(of id: SignalID) -> UInt64 { id.hash >> 8 & 0xFFFF }
}
