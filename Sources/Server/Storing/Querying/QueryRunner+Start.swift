import CallCore
package import CallPorts

/// Reads what a start of the server needs: what lives, and nothing of the past.
extension QueryRunner {
    /// Returns all that a start needs except the live calls, the counter of unclean starts, and the damages.
    package func registrations() throws(Failure) -> StoredState {
        var state = StoredState()
        let (reader, cold) = (reader, statements.cold)
        try session.readLargeTable(statements.endedWithLog) {
            if let call = reader.endedCall($0) { state.ended.append(call) }
        }
        try session.readLargeTable(cold.devices.all) {
            if let device = reader.record(Tables.devices, $0) { state.devices.append(device) }
        }
        try session.readLargeTable(cold.blocks.all) {
            if let block = reader.record(Tables.blocks, $0) { state.blocks.append(block) }
        }
        try session.readLargeTable(cold.schedules.all) {
            if let schedule = reader.record(Tables.schedules, $0) { state.schedules.append(schedule) }
        }
        try session.readLargeTable(cold.doNotDisturb.all) {
            if let found = reader.record(Tables.doNotDisturb, $0) { state.doNotDisturb[found.user] = found.at }
        }
        try session.readLargeTable(cold.revocations.all) {
            if let found = reader.record(Tables.revocations, $0) { state.revocations[found.user] = found.at }
        }
        state.numbers.state = try numberState()
        try session.readLargeTable(statements.blockedNumbers) {
            if let (user, number) = reader.blockedNumber($0) { state.numbers.blocked[user, default: []].insert(number) }
        }
        state.events = try storedEvents()
        try session.read(statements.lastCall, []) {
            state.lastCallNumber = $0.int64(0)
            state.lastCallAt = $0.isNull(1) ? nil : Moment(milliseconds: $0.int64(1))
        }
        return state
    }

    /// Returns what a start needs of the events for the app's backend: none of the events themselves.
    package func storedEvents() throws(Failure) -> StoredEvents {
        let appEvents = statements.appEvents
        var events = try read(appEvents.stored, []) { RowReader.storedEvents($0) }.first ?? StoredEvents()
        events.endpoints = try read(appEvents.endpoints.all, []) { reader.record(Tables.eventEndpoints, $0) }
        return events
    }

    /// Returns the counters of the call directory.
    package func numberState() throws(Failure) -> NumberState {
        try read(statements.numberState, []) { RowReader.numberState($0) }.first ?? NumberState()
    }
}
