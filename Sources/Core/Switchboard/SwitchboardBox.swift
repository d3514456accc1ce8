package import CallCore
package import CallPorts

/// A switchboard held by reference, for an owner that creates its switchboard late or replaces it.
///
/// Swift cannot yet read a noncopyable value from an optional property.
package final class SwitchboardBox {
    private var switchboard: Switchboard

    /// Takes over a switchboard.
    package init(_ switchboard: consuming Switchboard) { self.switchboard = switchboard }

    /// See ``Switchboard/handle(_:at:into:)``.
    package func handle(_ input: Switchboard.Input, at now: Moment, into outputs: inout [Switchboard.Output]) {
        switchboard.handle(input, at: now, into: &outputs)
    }

    /// See ``Switchboard/flush(at:into:)``.
    package func flush(at now: Moment, into outputs: inout [Switchboard.Output]) {
        switchboard.flush(at: now, into: &outputs)
    }

    /// See ``Switchboard/report(_:)``.
    package func report(_ detail: Switchboard.Detail) { switchboard.report(detail) }

    /// See ``Switchboard/deadline``.
    package var deadline: Moment? { switchboard.deadline }

    /// See ``Switchboard/hasChanges``.
    package var hasChanges: Bool { switchboard.hasChanges }

    /// See ``Switchboard/metrics``.
    package var metrics: Metrics { switchboard.metrics }

    /// See ``Switchboard/metrics(at:)``.
    package func metrics(at now: Moment) -> Metrics { switchboard.metrics(at: now) }

    /// See ``Switchboard/commitsUnderWay``.
    package var commitsUnderWay: Int { switchboard.commitsUnderWay }

    /// See ``Switchboard/countCalls()``.
    package func countCalls() -> [CallState: Int] { switchboard.countCalls() }

    /// See ``Switchboard/device(of:)``.
    package func device(of id: SocketID) -> DeviceID? { switchboard.device(of: id) }

    /// See ``Switchboard/connectionsToDrain()``.
    package func connectionsToDrain() -> [(id: SocketID, isInCall: Bool)] { switchboard.connectionsToDrain() }

    /// See ``Switchboard/deviceIdentity(opening:)``.
    package func deviceIdentity(opening principal: Principal) -> DeviceIdentity {
        switchboard.deviceIdentity(opening: principal)
    }
}
