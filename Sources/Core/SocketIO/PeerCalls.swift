import CallCore
import CallWire

/// The live calls that a session was notified of, by peer.
///
/// The app's events name a user and no call: `call-ended` means that there is no longer any call with that user. It
/// must not be sent while another call with that user is live, such as the winner of a glare or a new epoch of the same
/// callId.
struct PeerCalls {
    private var live: [UserID: [LogIdentity]] = [:]

    /// Records that a call is live.
    mutating func live(_ name: LogIdentity, with peer: UserID) {
        // A new epoch of a callId ends the previous one.
        live[peer]?.removeAll { $0.callID == name.callID && $0.epoch < name.epoch }
        if live[peer]?.contains(name) != true { live[peer, default: []].append(name) }
    }

    /// Removes a call that has ended.
    ///
    /// Returns whether another call with that user is live.
    mutating func ended(_ name: LogIdentity, with peer: UserID) -> Bool {
        live[peer]?.removeAll { $0 == name }
        if live[peer]?.isEmpty == true { live[peer] = nil }
        return live[peer] != nil
    }
}
