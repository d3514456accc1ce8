import CallCore
import CallPorts
import Postgres
import Storing

/// The queries that only operators ask.
extension QueryRunner {
    /// Returns the bundle ids of all devices' apps, in the order of their bytes.
    func bundleIDs(limit: Int) throws(PostgresError) -> [String] {
        try read(Self.apps, Self.parameters(limit)) { $0.text(0) }
    }

    /// Returns the kinds of push for which at least one device has a token.
    func registeredKinds() throws(PostgresError) -> Set<PushKind> {
        try read(Self.registeredKinds, Parameters()) { RowReader.kinds($0) }.first ?? []
    }

    private static let registeredKinds = SQL("registered kinds", RowReader.registeredKinds)

    /// Returns the calls that have not ended, newest first.
    func liveCalls(limit: Int) throws(PostgresError) -> [CallRecord] {
        try read(Self.live, Self.parameters(limit)) { reader.call($0) }
    }

    /// Returns the calls that have ended, newest first.
    func endedCalls(limit: Int) throws(PostgresError) -> [CallRecord] {
        try read(Self.ended, Self.parameters(limit)) { reader.call($0) }
    }

    /// Returns a user's devices.
    func devices(of user: UserID) throws(PostgresError) -> [DeviceRecord] {
        var parameters = Parameters()
        parameters.add(user.text)
        return try read(Self.devices, parameters) { reader.device($0) }
    }

    private static func parameters(_ limit: Int) -> Parameters {
        var parameters = Parameters()
        parameters.add(Int64(limit))
        return parameters
    }

    private static let apps = SQL(
        "apps",
        "SELECT DISTINCT bundle_id FROM device WHERE bundle_id <> '' ORDER BY bundle_id LIMIT $1"
    )

    /// A live call always has its log, so the index `call_with_log` finds it.
    private static let live = SQL(
        "live calls",
        """
        SELECT \(RowReader.callColumns) FROM call
        WHERE log_kept AND ended_at IS NULL AND \(CallCondition.isPossible) ORDER BY number DESC LIMIT $1
        """
    )

    private static let ended = SQL(
        "ended calls",
        """
        SELECT \(RowReader.callColumns) FROM call
        WHERE ended_at IS NOT NULL AND \(CallCondition.isPossible) ORDER BY number DESC LIMIT $1
        """
    )

    private static let devices = SQL(
        "devices of a user",
        #"SELECT \#(RowReader.deviceColumns) FROM device WHERE "user" = $1 ORDER BY id"#
    )
}
