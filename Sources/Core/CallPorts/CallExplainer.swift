package import CallCore

/// The port to the verdicts on calls.
///
/// Its method is called on the event loop that owns the switchboard, and does no I/O.
package protocol CallExplainer: Sendable {
    /// Explains why a call rang or did not.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - events: Its timeline, the signals of its log included.
    ///   - devices: The callee's registered devices.
    ///   - now: The time of the wall clock.
    /// - Returns: Plain sentences, which may say why the call was hidden from a user.
    func verdict(
        on call: CallRecord,
        _ events: [TimelineRecord],
        devices: [DeviceRecord],
        at now: Moment
    ) -> [String]
}
