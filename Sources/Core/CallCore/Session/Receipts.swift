/// The receipts of a call: the `seq` under which each signal with an `id` was accepted.
///
/// A device's repeated signal is recognised by its side, its device, its type and its `id`. The side is needed because
/// the two users may use the same device id and the same signal ids; the type, because some apps number the signals of
/// each type separately.
///
/// It is a list and not a dictionary, because nearly every signal is new and a call has some forty of them: to compare
/// a number per receipt costs less than a look-up, and the list takes less memory. The caller passes the log,
/// which is append-only. ``Limits/logSignals`` bounds the list, so that ids which a client
/// chooses with equal numbers cost it some thousand comparisons at most.
struct Receipts: Equatable, Sendable {
    /// A receipt that no entry of the log can stand for: of a signal without an entry, of a repeated signal with
    /// another `id`, or of a device that has another id by now.
    private struct Other: Equatable {
        let id: SignalID
        let kind: SignalKind
        let device: DeviceID
        let side: Side
        var seq: UInt64
    }

    /// Where a receipt is: in an entry of the log, or in ``others``.
    private enum Place: Equatable {
        case entry(UInt32)
        case other(UInt32)
    }

    /// The receipts, in the order in which they were added.
    ///
    /// Most of them are entries of the log, which has all parts of the receipt.
    private var places: [Place] = []
    private var others: [Other] = []
    /// The marks of the receipts, four in each word: a mark is 16 bits of the hash of the receipt's `id`.
    ///
    /// They tell, four at a time, that a signal has no receipt.
    private var marks: [UInt64] = []

    /// The number of receipts.
    var count: Int { places.count }

    /// The `seq` of a device's signal; `nil` = no signal of this type with this `id` was accepted from the device.
    subscript(id: SignalID, kind: SignalKind, side: Side, device: DeviceID, in log: [LogEntry]) -> UInt64? {
        index(of: id, kind, side, device, in: log).map { seq(at: $0, in: log) }
    }

    /// Adds the receipt of a signal; it replaces an earlier receipt of the same signal.
    mutating func set(
        _ seq: UInt64,
        for id: SignalID,
        _ kind: SignalKind,
        from side: Side,
        _ device: DeviceID,
        in log: [LogEntry]
    ) {
        guard let index = index(of: id, kind, side, device, in: log) else {
            return add(seq, for: id, kind, from: side, device)
        }
        switch places[index] {
        case .other(let place): others[Int(place)].seq = seq
        case .entry: places[index] = keep(Other(id: id, kind: kind, device: device, side: side, seq: seq))
        }
    }

    /// Adds the receipt of a signal, whose entry has this index in the log; it replaces an earlier receipt of the same
    /// signal.
    mutating func set(
        entryAt index: Int,
        for id: SignalID,
        _ kind: SignalKind,
        from side: Side,
        _ device: DeviceID,
        in log: [LogEntry]
    ) {
        // The log has the entry by now, but ``places`` does not refer to it yet.
        if let known = self.index(of: id, kind, side, device, in: log) {
            places[known] = .entry(UInt32(index))
        } else {
            add(entryAt: index, for: id)
        }
    }

    /// Adds the receipt of a signal without an entry, which has none yet and is not searched for again.
    mutating func add(_ seq: UInt64, for id: SignalID, _ kind: SignalKind, from side: Side, _ device: DeviceID) {
        add(keep(Other(id: id, kind: kind, device: device, side: side, seq: seq)), id)
    }

    /// Adds the receipt of a signal that has none yet, and whose entry has this index in the log, or will have it.
    mutating func add(entryAt index: Int, for id: SignalID) { add(.entry(UInt32(index)), id) }

    /// Gives the receipts of a device also to the id that the device has from now on.
    mutating func copy(from old: DeviceID, to new: DeviceID, on side: Side, in log: [LogEntry]) {
        for index in places.indices {
            switch places[index] {
            case .entry(let place):
                guard case .signal(let kind, side, let device, let id?, _) = log[Int(place)].content, device.id == old
                else { continue }
                set(log[Int(place)].seq, for: id, kind, from: side, new, in: log)
            case .other(let place):
                let other = others[Int(place)]
                guard other.side == side, other.device == old else { continue }
                set(other.seq, for: other.id, other.kind, from: side, new, in: log)
            }
        }
    }

    private mutating func add(_ receipt: Place, _ id: SignalID) {
        let place = places.count & 3
        if place == 0 { marks.append(0) }
        marks[marks.count - 1] |= Self.mark(of: id) << UInt64(16 * place)
        if places.isEmpty { places.reserveCapacity(8) }
        places.append(receipt)
    }

    private mutating func keep(_ other: Other) -> Place {
        others.append(other)
        return .other(UInt32(others.count - 1))
    }

    private func seq(at index: Int, in log: [LogEntry]) -> UInt64 {
        switch places[index] {
        case .entry(let place): log[Int(place)].seq
        case .other(let place): others[Int(place)].seq
        }
    }

    private func index(
        of id: SignalID,
        _ kind: SignalKind,
        _ side: Side,
        _ device: DeviceID,
        in log: [LogEntry]
    ) -> Int? {
        // The difference of a mark and the id's mark, of which there are four copies in a word, is 0 if they are equal.
        let ones: UInt64 = 0x0001_0001_0001_0001
        let searched = Self.mark(of: id) &* ones
        let marks = marks.span
        for index in marks.indices {
            let difference = marks[index] ^ searched
            // The flag of a mark above an equal one can be wrong, by the borrow of the subtraction.
            guard (difference &- ones) & ~difference & ones &<< 15 != 0 else { continue }
            for place in 4 * index..<min(4 * index + 4, places.count)
            where isReceipt(at: place, of: id, kind, side, device, in: log) {
                return place
            }
        }
        return nil
    }

    private func isReceipt(
        at index: Int,
        of id: SignalID,
        _ kind: SignalKind,
        _ side: Side,
        _ device: DeviceID,
        in log: [LogEntry]
    ) -> Bool {
        switch places[index] {
        case .entry(let place):
            guard case .signal(kind, side, let sender, id, _) = log[Int(place)].content else { return false }
            return sender.id == device
        case .other(let place):
            let other = others[Int(place)]
            return other.side == side && other.kind == kind && other.id == id && other.device == device
        }
    }

    private static func mark(of id: SignalID) -> UInt64 { id.hash >> 8 & 0xFFFF }
}
