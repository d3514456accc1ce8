import CallCore
import CallPorts
import CallWire
import JSON

/// The start of the operators' page, as JSON: the faults of the server, its live calls, and the newest ended calls.
package enum Overview {
    /// Returns the overview as an object; the calls are newest first.
    ///
    /// `faults`: What is wrong, in sentences, without the pushes that these calls show.
    package static func body(live: [Explanation], ended: [Explanation], faults: [String]) -> [UInt8] {
        var json = JSONWriter(capacity: 4_096)
        json.beginObject()
        json.name("faults")
        json.array(faults + failingPushes(live + ended)) { fault, json in json.value(fault) }
        json.name("live")
        json.raw(CallList.body(live))
        json.name("ended")
        json.raw(CallList.body(ended))
        json.endObject()
        return json.bytes
    }

    /// A sentence for each push service whose newest result is a failure that does not concern one device alone.
    private static func failingPushes(_ calls: [Explanation]) -> [String] {
        let results = calls.flatMap { call in call.events.filter(\.isPushResult) }.sorted { $0.at > $1.at }
        return PushService.all.compactMap { service in
            let own = results.filter {
                Explanation.service($0) == service.name && !$0.concernsOneDevice && !$0.wasOnlyLogged(service)
            }
            guard let newest = own.first, let fault = newest.pushFault else { return nil }
            let failed = own.count { $0.pushFault != nil }
            return "\(failed) of the newest \(own.count) pushes through \(service.name) failed, the last at "
                + "\(Timestamp.text(newest.at)): \(fault)."
        }
    }
}

extension Explanation.Event {
    /// Whether the result of a push says that the device's registration has ended, which happens every day.
    fileprivate var concernsOneDevice: Bool {
        guard case .pushResult(_, let status, _, _, _) = event else { return false }
        return status == 404 || status == 410
    }

    /// Whether no service was configured for the push: that is a fault of the server, and no push has failed.
    fileprivate func wasOnlyLogged(_ service: PushService) -> Bool {
        guard case .pushResult(_, nil, let reason, _, _) = event else { return false }
        return reason == service.onlyLogged
    }

    /// Why a push failed, with advice; `nil` = it was accepted.
    fileprivate var pushFault: String? {
        guard case .pushResult(_, let status, let reason, _, _) = event else { return nil }
        if let status, PushResult.isAcceptance(status) { return nil }
        let said = [status.map { "\($0)" }, reason?.printable].compactMap { $0 }.joined(separator: " ")
        return said + (Explanation.hint(status, reason, self).map { ": \($0)" } ?? "")
    }
}
