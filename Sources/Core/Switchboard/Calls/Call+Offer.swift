import CallCore
import CallWire

extension Call {
    /// Returns the caller's newest offer; `nil` = there is none.
    ///
    /// While the call rings, the offer is parsed once for all its pushes.
    func newestOffer() -> RelayedObject? {
        let index = session.log.lastIndex {
            if case .signal(.offer, .caller, _, _, _) = $0.content { true } else { false }
        }
        guard let index else { return nil }
        if let parsedOffer, parsedOffer.index == index { return parsedOffer.object }
        guard let object = RelayedObject(frame(at: index)) else { return nil }
        if case .ringing = session.phase { parsedOffer = (index, object) }
        return object
    }
}
