internal import CLibwebsockets
import CallPorts
internal import CallWire

/// The outgoing frames of one turn, for all connections, in the order in which they were sent.
///
/// One array holds the frames of all connections, and keeps its memory between turns. So an idle connection owns no
/// memory for frames.
struct HeldFrames {
    /// A frame, and the index of the next frame to the same peer; -1 if there is no further one.
    struct Entry {
        var frame: WaitingFrame
        var next = Int32(-1)
    }

    var entries: [Entry] = []
    /// The receiving connections, in the order of their first frames.
    var addressees: [SocketID] = []
    /// The buffer in which one peer's frames are concatenated; empty between two writes.
    var buffer: [UInt8] = []
}

/// Sends one peer's frames together at the end of the turn.
///
/// If each frame had a separate packet, packets would be the largest cost of relaying: each packet takes the kernel's
/// network path and wakes the reader. In a busy turn a connection gets several frames, such as candidates and acks.
/// Concatenated, they are one write and travel as one packet.
extension Server {
    /// The largest number of bytes that one turn holds back for one peer.
    ///
    /// Above this limit the held bytes go out immediately, so that a peer that does not read is noticed.
    private static let maximumHeldBytes = 32_768

    /// Holds a frame until the end of the turn.
    @inline(__always)
    func hold(_ frame: WaitingFrame, for slot: Int) {
        let place = Int32(truncatingIfNeeded: heldFrames.entries.count)
        if table[slot].firstOut < 0 {
            heldFrames.addressees.append(table.id(of: slot))
            table[slot].firstOut = place
            table[slot].outBytes = 0
        } else {
            heldFrames.entries[Int(table[slot].lastOut)].next = place
        }
        table[slot].lastOut = place
        table[slot].outBytes += Int32(truncatingIfNeeded: frame.messageBytes)
        heldFrames.entries.append(HeldFrames.Entry(frame: frame))
        if Int(table[slot].outBytes) > Self.maximumHeldBytes { sendOut(slot) }
    }

    /// Returns the number of bytes of this turn that wait for a peer.
    func waitingBytes(_ slot: Int) -> Int { table[slot].firstOut < 0 ? 0 : Int(table[slot].outBytes) }

    /// Sends everything that this turn held back.
    func sendHeldFrames() {
        guard !heldFrames.entries.isEmpty else { return }
        // Sending calls no delegate, so no frame is added meanwhile.
        for id in heldFrames.addressees { if let slot = table.slot(of: id) { sendOut(slot) } }
        heldFrames.entries.removeAll(keepingCapacity: heldFrames.entries.capacity <= 4_096)
        heldFrames.addressees.removeAll(keepingCapacity: heldFrames.addressees.capacity <= 4_096)
    }

    /// Sends the frames held back for one peer; bytes that the socket does not accept wait in the library until the
    /// peer reads.
    func sendOut(_ slot: Int) {
        let place = table[slot].firstOut
        guard place >= 0 else { return }
        table[slot].firstOut = -1
        guard table[slot].phase == .open, let wsi = table[slot].wsi else { return }
        let isSingle = heldFrames.entries[Int(place)].next < 0
        guard isSingle ? write(removeFrame(place), wsi) : writeAll(from: place, wsi) else {
            markBroken(slot, wsi)
            return
        }
        if lws_partial_buffered(wsi) != 0 { lws_callback_on_writable(wsi) }
    }

    private func removeFrame(_ place: Int32) -> WaitingFrame {
        let frame = heldFrames.entries[Int(place)].frame
        heldFrames.entries[Int(place)].frame.bytes = []
        return frame
    }

    /// Writes several frames in one call.
    ///
    /// The library sends a separate packet for each frame whose header it writes, so this function writes the headers.
    private func writeAll(from first: Int32, _ wsi: OpaquePointer) -> Bool {
        var buffer: [UInt8] = []
        swap(&buffer, &heldFrames.buffer)
        var place = first
        while place >= 0 {
            let frame = removeFrame(place)
            FrameHeader(isPing: frame.isPing, payloadBytes: frame.messageBytes).write(to: &buffer)
            buffer.append(contentsOf: frame.bytes[Frame.headroom...])
            place = heldFrames.entries[Int(place)].next
        }
        let isWritten = buffer.withUnsafeMutableBufferPointer { bytes in
            // With LWS_WRITE_HTTP the bytes go out unchanged, also over TLS.
            lws_write(wsi, bytes.baseAddress, bytes.count, LWS_WRITE_HTTP) >= bytes.count
        }
        buffer.removeAll(keepingCapacity: buffer.capacity <= 4 * Self.maximumHeldBytes)
        swap(&buffer, &heldFrames.buffer)
        return isWritten
    }
}
