import CallCore
import CallWire

/// The check of sockets that a new owner has adopted (I4).
extension Network {
    /// Writes a frame to a socket of a node, and checks that a socket that was adopted is written no entry again (I4).
    ///
    /// Its client drops an entry that it has, so no other check would notice. The end of a call may be written again: the
    /// owner tells of it until the device has confirmed it.
    func writesAtNode(_ frame: ParsedFrame, on index: Int) {
        let device = device(of: index)
        if let seq = frame.seq, frame.type != "ack", case .call(let name) = frame.place(for: device.user) {
            let isEnd = frame.type == "call" && frame.object?.text(of: .state) == "ended"
            if !isEnd, let before = links[index].writtenBeforeAdoption[name], seq <= before {
                fail("I4", "\(device.id.text) is sent \(seq) of \(name) again on an adopted socket")
            }
            links[index].written[name] = seq
        }
        writesDown(frame, on: index)
    }
}
