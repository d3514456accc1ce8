import CallCore
import CallWire

/// Which live calls a session was told of, by the user at the other end.
///
/// The app's events name a user and no call: `call-ended` means that there is no call with that user any more. While
/// another one goes on - a glare's winner, or the same callId offered anew - it must not be said.
struct PeerCalls {
    private var live: [UserID: [LogName]] = [:]

    /// A call goes on.
    mutating func live(_ name: LogName, with peer: UserID) {
        // An epoch ends the one before it.
        live[peer]?.removeAll { $0.callID == name.callID && $0.epoch < name.epoch }
        if live[peer]?.contains(name) != true { live[peer, default: []].append(name) }
    }

    /// A call is over; whether another one with that user goes on.
    mutating func ended(_ name: LogName, with peer: UserID) -> Bool {
        live[peer]?.removeAll { $0 == name }
        if live[peer]?.isEmpty == true { live[peer] = nil }
        return live[peer] != nil
    }
}
