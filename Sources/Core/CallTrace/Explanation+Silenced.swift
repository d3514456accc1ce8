import CallCore
import CallPorts

/// Devices that were reached, but whose system does not show the call.
extension Explanation {
    /// A line for each such device, as it reported last.
    var silencedDevices: [String] {
        var order: [String] = []
        var last: [String: Event] = [:]
        for event in events {
            guard case .silenced = event.event, let device = event.device else { continue }
            if last.updateValue(event, forKey: device) == nil { order.append(device) }
        }
        return order.compactMap { device in last[device].map { line($0, of: device) } }
    }

    private func line(_ event: Event, of device: String) -> String {
        guard case .silenced(_, let why) = event.event else { return "" }
        if why == .otherUser { return ofOtherUser(event, device) }
        let reason =
            switch why {
            case .focus: "a Focus, or another setting of the device, keeps calls back"
            case .blockList: "its user has blocked \(caller) in the system's settings"
            case .full: "it shows no further call at a time"
            case .system: "it gave no reason that the app knows"
            case .otherUser: "the called user is not signed in there"
            }
        let later = events.first {
            $0.position > event.position && $0.device == device && ($0.signal == .ringing || $0.signal == .answer)
        }
        var text =
            "\(name(of: device)) did not ring: at \(offset(event.at)) its system refused to show the call, because "
            + "\(reason). Nothing was declined, and the device was not pushed again."
        if let later {
            text += " It \(later.signal == .answer ? "answered" : "rang") after all, at \(offset(later.at))."
        }
        return text
    }

    /// The line for a device whose app got the push for a user who is not signed in there.
    private func ofOtherUser(_ event: Event, _ device: String) -> String {
        "\(name(of: device)) did not ring: at \(offset(event.at)) its app said that \(callee) is not signed in "
            + "there. The device is still registered for \(callee): remove it at logout "
            + "(DELETE /api/me/devices/\(device)), or register each account of the app with one `installation`."
    }
}
