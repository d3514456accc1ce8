public import CallCore
public import CallPorts

/// A switchboard held by reference, for an owner that creates its switchboard late or replaces it.
///
/// Swift cannot yet read a noncopyable value from an optional property.
public final class SwitchboardBox {
    private var switchboard: Switchboard

    /// Takes over a switchboard.
    public init(_ switchboard: consuming Switchboard) { self.switchboard = switchboard }

    /// See ``Switchboard/handle(_:at:into:)``.
    public func handle(_ input: Switchboard.Input, at now: Moment, into outputs: inout [Switchboard.Output]) {
        switchboard.handle(input, at: now, into: &outputs)
    }

    /// See ``Switchboard/flush(at:into:)``.
    public func flush(at now: Moment, into outputs: inout [Switchboard.Output]) {
        switchboard.flush(at: now, into: &outputs)
    }

    /// See ``Switchboard/report(_:)``.
    public func report(_ detail: Switchboard.Detail) { switchboard.report(detail) }

    /// See ``Switchboard/deadline``.
    public var deadline: Moment? { switchboard.deadline }

    /// See ``Switchboard/hasChanges``.
    public var hasChanges: Bool { switchboard.hasChanges }

    /// See ``Switchboard/metrics``.
    public var metrics: Metrics { switchboard.metrics }

    /// See ``Switchboard/commitsUnderWay``.
    public var commitsUnderWay: Int { switchboard.commitsUnderWay }

    /// See ``Switchboard/countCalls()``.
    public func countCalls() -> [CallState: Int] { switchboard.countCalls() }

    /// See ``Switchboard/device(of:)``.
    public func device(of id: ConnectionID) -> DeviceID? { switchboard.device(of: id) }

    /// See ``Switchboard/connectionsToDrain()``.
    public func connectionsToDrain() -> [(id: ConnectionID, isInCall: Bool)] { switchboard.connectionsToDrain() }

    /// See ``Switchboard/deviceIdentity(opening:)``.
    public func deviceIdentity(opening principal: Principal) -> DeviceIdentity {
        switchboard.deviceIdentity(opening: principal)
    }
}
