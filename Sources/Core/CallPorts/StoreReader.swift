package import CallCore

/// The port to a store for operators' commands: it reads the records while a server may own them, and changes nothing.
///
/// Each method returns what was committed when it was called. A reader is used from one thread.
package protocol StoreReader: AnyObject {
    /// Returns the calls that have not ended, newest first, at most `limit`.
    func liveCalls(limit: Int) throws(StoreFailure) -> [CallRecord]

    /// Returns the calls that have ended and are still stored, newest first, at most `limit`.
    func endedCalls(limit: Int) throws(StoreFailure) -> [CallRecord]

    /// Returns a user's calls; see ``StoreQuery/history(_:limit:before:)``.
    func history(of user: UserID, limit: Int, before: CallNumber?) throws(StoreFailure) -> [CallRecord]

    /// Returns the calls that a selector chooses, newest first, at most `limit`.
    func calls(_ choice: CallSelector, limit: Int) throws(StoreFailure) -> [CallRecord]

    /// Returns the timeline of a call, oldest event first.
    func timeline(of number: CallNumber) throws(StoreFailure) -> [TimelineRecord]

    /// Returns the stored log of a call, in `seq` order.
    ///
    /// The log is empty once the call can no longer be fetched; the call's timeline is still there.
    func log(of number: CallNumber) throws(StoreFailure) -> [EntryRecord]

    /// Returns a user's registered devices.
    func devices(of user: UserID) throws(StoreFailure) -> [DeviceRecord]

    /// Returns the bundle ids of the apps on all registered devices, in the order of their bytes, at most `limit`.
    func bundleIDs(limit: Int) throws(StoreFailure) -> [String]

    /// Returns the kinds of push for which at least one device has registered a token.
    func registeredKinds() throws(StoreFailure) -> Set<PushKind>

    /// Returns the incarnation of the events for the app's backend, the position of the newest one, and their endpoints.
    func storedEvents() throws(StoreFailure) -> StoredEvents

    /// Returns a page of events for the app's backend.
    func events(_ read: EventRead) throws(StoreFailure) -> EventPage

    /// Returns held events of an endpoint, with their content.
    func heldEvents(_ read: HeldRead) throws(StoreFailure) -> [HeldContent]

    /// Returns the invalid values that were read so far, and were replaced or left out.
    ///
    /// Each value is returned once.
    func takeDamages() -> [DamagedValue]
}
