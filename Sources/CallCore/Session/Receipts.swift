/// The receipts of a call: the `seq` under which each signal with an `id` was accepted.
///
/// A device's repeated signal is recognised by its side, its device and its `id`. The side is needed because the two
/// users may use the same device id and the same signal ids.
///
/// It is a list and not a dictionary, because nearly every signal is new and a call has some forty of them: to compare
/// a number per receipt costs less than to hash two texts, and the list takes less memory. ``Limits/logSignals`` bounds
/// the list, so that ids which a client chooses with equal digests cost it some thousand comparisons at most.
struct Receipts: Equatable, Sendable {
    private struct Receipt: Equatable {
        /// A digest of `id`: only if it is equal are the texts compared.
        let digest: UInt64
        let id: SignalID
        let device: DeviceID
        let side: Side
        var seq: UInt64
    }

    private var receipts: [Receipt] = []

    /// The number of receipts.
    var count: Int { receipts.count }

    /// The `seq` of a device's signal; `nil` = no signal with this `id` was accepted from the device.
    subscript(id: SignalID, side: Side, device: DeviceID) -> UInt64? {
        index(of: id, Self.digest(of: id), side, device).map { receipts[$0].seq }
    }

    /// Adds the receipt of a signal; it replaces an earlier receipt of the same signal.
    mutating func set(_ seq: UInt64, for id: SignalID, from side: Side, _ device: DeviceID) {
        let digest = Self.digest(of: id)
        if let index = index(of: id, digest, side, device) {
            receipts[index].seq = seq
        } else {
            receipts.append(Receipt(digest: digest, id: id, device: device, side: side, seq: seq))
        }
    }

    /// Adds the receipt of a signal that has none yet, which is not searched for again.
    mutating func add(_ seq: UInt64, for id: SignalID, from side: Side, _ device: DeviceID) {
        receipts.append(Receipt(digest: Self.digest(of: id), id: id, device: device, side: side, seq: seq))
    }

    /// Gives the receipts of a device also to the id that the device has from now on.
    mutating func copy(from old: DeviceID, to new: DeviceID, on side: Side) {
        for receipt in receipts where receipt.side == side && receipt.device == old {
            set(receipt.seq, for: receipt.id, from: side, new)
        }
    }

    private func index(of id: SignalID, _ digest: UInt64, _ side: Side, _ device: DeviceID) -> Int? {
        for index in receipts.indices where receipts[index].digest == digest {
            if receipts[index].side == side && receipts[index].id == id && receipts[index].device == device {
                return index
            }
        }
        return nil
    }

    /// FNV-1a over the bytes; 0 for all texts beyond ASCII, because Swift takes texts of different bytes for equal.
    private static func digest(of id: SignalID) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        var all: UInt8 = 0
        for byte in id.text.utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
            all |= byte
        }
        return all < 0x80 ? hash : 0
    }
}
