import CallCore
import CallWire

/// The frames of a call's log as they are relayed, each at the index of its entry.
///
/// Most frames are of signals that are only relayed. Their beginning follows from the entry and the call, so only the
/// sender's own members are kept: a third of the frame. ``Call/frame(at:)`` makes the frame again.
struct KeptFrames {
    private struct Kept {
        /// The index of a frame in `whole`, with ``wholeBit``; or where its own members begin in `members`.
        ///
        /// The members end where those of the next such frame begin.
        let place: UInt32
        /// The bytes of the frame, with its headroom.
        let byteCount: UInt32

        /// The bit of ``place`` that tells that the frame is kept whole.
        static let wholeBit: UInt32 = 1 << 31
        var isWhole: Bool { place & Self.wholeBit != 0 }
    }

    private var kept: [Kept] = []
    private var whole: [[UInt8]] = []
    private var members: [UInt8] = []

    /// No frames.
    init() {
        kept.reserveCapacity(8)
        whole.reserveCapacity(4)
    }

    /// Frames that are all kept whole, as they are restored from the store.
    init(whole frames: [[UInt8]]) { for frame in frames { append(frame) } }

    /// The number of frames.
    var count: Int { kept.count }

    /// Returns the number of bytes of a frame, with its headroom.
    func byteCount(at index: Int) -> Int { Int(kept[index].byteCount) }

    /// Keeps a frame whole.
    mutating func append(_ frame: [UInt8]) {
        kept.append(Kept(place: UInt32(whole.count) | Kept.wholeBit, byteCount: UInt32(frame.count)))
        whole.append(frame)
    }

    /// Keeps the last members of a frame, which have so many bytes, and are followed by the end of the object.
    mutating func append(relayed frame: [UInt8], memberBytes count: Int) {
        kept.append(Kept(place: UInt32(members.count), byteCount: UInt32(frame.count)))
        let needed = members.count + count
        // A call has some twenty such frames: to double the memory each time would leave much of it unused.
        if needed > members.capacity { members.reserveCapacity(needed + max(1_024, members.count / 2)) }
        members.append(contentsOf: frame[(frame.count - 1 - count)..<(frame.count - 1)])
    }

    /// The bytes that are kept for one entry.
    enum Bytes {
        /// The frame, with its headroom.
        case whole([UInt8])
        /// The sender's own members, separated by commas.
        case members(ArraySlice<UInt8>)
    }

    /// Returns the bytes that are kept for the entry at an index of the log.
    subscript(index: Int) -> Bytes {
        let place = kept[index].place
        if kept[index].isWhole { return .whole(whole[Int(place & ~Kept.wholeBit)]) }
        let end = kept[(index + 1)...].first { !$0.isWhole }.map { Int($0.place) } ?? members.count
        return .members(members[Int(place)..<end])
    }
}

extension Call {
    /// Returns the frame of an entry of the log, the same bytes as when it was relayed first.
    func frame(at index: Int) -> [UInt8] {
        switch frames[index] {
        case .whole(let frame): return frame
        case .members(let members):
            let entry = session.log[index]
            guard case .signal(let kind, let side, let device, let id, _) = entry.content else {
                preconditionFailure("only signals are relayed")
            }
            return RelayedSignal.frame(
                relaying: kind,
                id: id,
                at: position(of: entry),
                from: EncodedSender(user(on: side), device.id),
                around: members
            )
        }
    }
}
