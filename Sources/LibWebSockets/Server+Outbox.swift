internal import CLibwebsockets

/// The frames of one turn, of all sessions, as they were sent.
///
/// One array for all of them, which keeps its memory: a session that only waits owns nothing.
struct Outbox {
    /// A frame, and where in the array the next one to the same peer lies; -1 for none.
    struct Entry {
        var frame: WaitingFrame
        var next = Int32(-1)
    }

    var entries: [Entry] = []
    /// To whom, in the order of their first frames.
    var addressees: [ConnectionID] = []
    /// Where one peer's frames are strung together; empty between two writes.
    var text: [UInt8] = []
}

/// One peer's frames go out together at the end of the turn.
///
/// A packet for each of them is what relaying costs most: the kernel's way through its network, and the reader's waking. In
/// a busy turn a session gets several, candidates and acks; strung together they are one write and travel as one.
extension Server {
    /// How much of one turn is held back for one peer.
    ///
    /// What is more goes at once, so that a peer that does not read is noticed.
    private static let mostHeldBytes = 32_768

    /// Keeps a frame for the end of the turn.
    @inline(__always)
    func hold(_ frame: WaitingFrame, for slot: Int) {
        let place = Int32(truncatingIfNeeded: outbox.entries.count)
        if table[slot].firstOut < 0 {
            outbox.addressees.append(table.id(of: slot))
            table[slot].firstOut = place
            table[slot].outBytes = 0
        } else {
            outbox.entries[Int(table[slot].lastOut)].next = place
        }
        table[slot].lastOut = place
        table[slot].outBytes += Int32(truncatingIfNeeded: frame.bytes.count - Self.headroom)
        outbox.entries.append(Outbox.Entry(frame: frame))
        if Int(table[slot].outBytes) > Self.mostHeldBytes { sendOut(slot) }
    }

    /// What of this turn waits for a peer, in bytes.
    func waitingBytes(_ slot: Int) -> Int { table[slot].firstOut < 0 ? 0 : Int(table[slot].outBytes) }

    /// The turn is over: everything goes out.
    func sendOutbox() {
        guard !outbox.entries.isEmpty else { return }
        // Nobody is called back from here, so that nothing is added meanwhile.
        for id in outbox.addressees { if let slot = table.slot(of: id) { sendOut(slot) } }
        outbox.entries.removeAll(keepingCapacity: outbox.entries.capacity <= 4_096)
        outbox.addressees.removeAll(keepingCapacity: outbox.addressees.capacity <= 4_096)
    }

    /// Sends what is held back for one peer; what it does not take waits, in the library, until it reads.
    func sendOut(_ slot: Int) {
        let place = table[slot].firstOut
        guard place >= 0 else { return }
        table[slot].firstOut = -1
        guard table[slot].phase == .open, let wsi = table[slot].wsi else { return }
        let isSingle = outbox.entries[Int(place)].next < 0
        guard isSingle ? write(take(place), wsi) : writeAll(from: place, wsi) else {
            broken(slot, wsi)
            return
        }
        if lws_partial_buffered(wsi) != 0 { lws_callback_on_writable(wsi) }
    }

    private func take(_ place: Int32) -> WaitingFrame {
        let frame = outbox.entries[Int(place)].frame
        outbox.entries[Int(place)].frame.bytes = []
        return frame
    }

    /// Several frames in one write: the library makes one packet of each that it frames itself, so these are framed here.
    private func writeAll(from first: Int32, _ wsi: OpaquePointer) -> Bool {
        var text: [UInt8] = []
        swap(&text, &outbox.text)
        var place = first
        while place >= 0 {
            let frame = take(place)
            FrameHeader(isPing: frame.isPing, payloadBytes: frame.bytes.count - Self.headroom).write(to: &text)
            text.append(contentsOf: frame.bytes[Self.headroom...])
            place = outbox.entries[Int(place)].next
        }
        let isWritten = text.withUnsafeMutableBufferPointer { text in
            // It goes out as it is, also over TLS.
            lws_write(wsi, text.baseAddress, text.count, LWS_WRITE_HTTP) >= text.count
        }
        text.removeAll(keepingCapacity: text.capacity <= 4 * Self.mostHeldBytes)
        swap(&text, &outbox.text)
        return isWritten
    }
}
