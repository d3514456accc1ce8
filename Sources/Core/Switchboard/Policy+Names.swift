import CallCore
import CallWire

extension Policy {
    /// The longest time that any call may ring.
    var longestRing: Moment.Duration { max(ringTimeout, .seconds(Int64(WireLimits.ringSeconds.upperBound))) }

    /// Returns the displayed name of a user, from the name that the client sent and the token's name; either may be
    /// absent.
    func shownName(_ said: String?, of token: String?, isService: Bool) -> String? {
        if let said, callerName == .any || isService { return said }
        guard callerName != .decision else { return nil }
        return token?.shown(upTo: WireLimits.displayNameCharacters)
    }
}
