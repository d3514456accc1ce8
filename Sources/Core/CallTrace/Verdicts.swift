package import CallCore
package import CallPorts

/// The verdicts on calls that `ringline explain` prints, for services that ask the server.
package struct Verdicts: CallExplainer {
    /// Verdicts, which need nothing but the records of a call.
    package init() {}

    /// Returns the sentences of the verdict on a call.
    package func verdict(
        on call: CallRecord,
        _ events: [TimelineRecord],
        devices: [DeviceRecord],
        at now: Moment
    ) -> [String] {
        Explanation(record: call, events: events, log: [], devices: devices, at: now).sentences
    }
}
