import CallWire
import LibWebSockets

extension Route {
    /// Whether a request always means the user of its token.
    var meansTokensUser: Bool {
        switch self {
        case .history, .callJustBegun, .register, .devices, .removeDevice, .blocks, .block, .unblock, .directory,
            .doNotDisturb:
            true
        case .schedules(let schedules): schedules.user == nil
        case .postSignal, .getSignal, .deleteSignal, .call, .timeline, .turnCredential, .webPushKey, .updateDirectory,
            .revokeTokens:
            false
        }
    }
}

extension RequestHead {
    /// Refuses an unknown parameter of a list: it may be meant as a filter, and the list would be shown unfiltered.
    ///
    /// Every request may have the parameters `token` and `device`, and `_`, by which libraries keep caches away.
    func checkParameters(_ known: [String]) throws(WireError) {
        let everywhere = ["token", "device", "_"]
        guard let other = query.first(where: { !known.contains($0.name) && !everywhere.contains($0.name) })
        else { return }
        let has = known.isEmpty ? "the list has none" : "the list has \(known.joined(separator: ", "))"
        throw .unknownParameter(other.name, has)
    }
}
