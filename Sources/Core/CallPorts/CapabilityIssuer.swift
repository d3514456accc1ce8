package import CallCore

/// Issues the capability that a push carries, so that a just-woken app with an expired token can fetch the call.
package protocol CapabilityIssuer {
    /// Returns a capability for one device and one epoch of a call, valid until a moment (protocol, section 6).
    func capability(
        call: CallID,
        epoch: UInt32,
        user: UserID,
        peer: UserID,
        device: DeviceID,
        until: Moment
    ) -> String
}
