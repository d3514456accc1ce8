import CallCore
import CallPorts

/// All sizes, counts and spans of time of the switchboard that no setting changes, with their reasons.
///
/// The values that an operator may change are in ``Policy``.
enum SwitchboardLimits {
    // MARK: Connections

    /// The largest number of end notices, and of texts, that may await their confirmation by one connection.
    static let unconfirmed = 64
    /// The number of ended calls that are loaded at once because a device has connected that may not know of their ends.
    static let endsLoaded = 8
    /// The number of unconfirmed bytes after which a connection is pinged, so that a pong shows how much has arrived.
    static let confirmedEvery = 32 * 1_024
    /// The size of the largest small frame, in bytes: a candidate has some 300.
    static let smallFrame = 1_024
    /// The number of logs and frames that may wait to be sent to a connection because of `sync`.
    static let replays = 1_024
    /// The number of signs of life, other than frames, that a connection may give after one ping: one is due, and some
    /// clients also send unsolicited pongs.
    static let signsOfLifePerPing = 1_000
    /// The granularity of check-ups in milliseconds; a power of two.
    static let checkUpGrain: Int64 = 64
    /// The number of rooms that one connection may be present in.
    static let roomsPerConnection = 64
    /// The number of users that one connection may watch.
    static let watchedPerConnection = 256
    /// The number of contacts that one connection watches for an app that does not ask for each of them.
    static let contactsPerConnection = 128
    /// The number of a user's newest calls that are searched for peers: this many outgoing and this many incoming ones.
    static let callsSearchedForPeers = 1_000
    /// The number of pairs that exchanged a text and are remembered.
    static let textedPairs = 16_384

    /// The number of events that may happen before the store has read the beginning of a watched call's timeline.
    static let heldEvents = 1_024

    // MARK: Events for the app's backend

    /// The time after which a push service's refusal is reported again.
    static let refusalsReportedEvery = Moment.Duration.seconds(3_600)
    /// The number of requests that may wait for an event; further ones get an empty page at once.
    static let feedWaits = 64
    /// The number of reasons of refusals that are remembered: a service has some twenty.
    static let refusalReasons = 64

    // MARK: Shutting down

    /// The number of connections that the next server is expected to accept in a second: as many as one core manages
    /// with TLS.
    static let reconnectsPerSecond: Int64 = 500
    /// The shortest time over which reconnecting devices are spread, even if there are few: other servers may restart
    /// at the same time.
    static let shortestReconnectSpread = Moment.Duration.seconds(1)
    /// The longest time over which reconnecting devices are spread: until a device has reconnected, only pushes reach
    /// it.
    static let longestReconnectSpread = Moment.Duration.seconds(10)
    /// The reconnect delay of the first device: the next server opens its store first.
    static let firstReconnectDelay = Moment.Duration.milliseconds(500)

    // MARK: Calls

    /// How long an ended call stays in memory after its end, or after it was loaded.
    ///
    /// In this time apps repeat their signals, and devices that were away connect again.
    static let restsAfter = Moment.Duration.seconds(15)
    /// How long a call that is due to be put to rest stays in memory because its end is not confirmed, or something else
    /// of it is under way, before this is looked at again.
    static let restRetriedAfter = Moment.Duration.seconds(5)
    /// The longest pause, in milliseconds, between forgetting two overdue calls after a start: each is read once more.
    static let overdueEvery: Int64 = 10
    /// How long after the ringing a push's capability remains valid.
    static let capabilityGrace = Moment.Duration.seconds(60)
    /// How long after a call's end its offer may still come by the other transport (request or connection).
    static let offerRepeatedFor = Moment.Duration.seconds(10)
    /// How long after a call's end a signal without a peer may still belong to it.
    static let lateSignalsFor = Moment.Duration.seconds(10)
    /// How long after a call's end a signal without a peer may still belong to it, if the sending device may not have
    /// been notified of the end: as long as a device may ring.
    static let lateSignalsForUnnotified = Moment.Duration.seconds(120)
    /// The number of `end` signals of a callId, and of its offers and answers, that are recognized when they are
    /// resent.
    ///
    /// A call gets one `end` that ends it, and one more from each device that had lost the call.
    static let acceptedSignals = 16
    /// The number of spans into which the history's time is divided: the epochs of callIds are forgotten span by span.
    static let epochSpans: Int64 = 4

    // MARK: Schedules

    /// How late the call of a schedule may begin, for example because the server was not running; a later one is missed,
    /// or given up if it is a further ring.
    static let scheduleLateness = Moment.Duration.seconds(60)
    /// The number of schedules that are handled in one turn, which takes half a millisecond: with fewer, signals wait less.
    static let schedulesPerTurn = 5
    /// The number that is handled in one turn once schedules are late by ``schedulesLateAfter``.
    static let lateSchedulesPerTurn = 16
    /// From this delay on, calls that are due matter more than a short wait of signals.
    static let schedulesLateAfter = Moment.Duration.seconds(4)
    /// A time of a schedule counts as rung if it rang within this distance of its true moment.
    ///
    /// A clock that was wrong by less has woken the user for this time, though too early. The times of two days are
    /// further apart.
    static let rungWithin = Moment.Duration.seconds(12 * 3_600)
    /// How long the server remembers when a schedule was set or last rang, for a correction of the date: wrong clocks
    /// are set right soon after a start.
    static let courseKnownFor = Moment.Duration.seconds(3_600)
    /// How long no schedule rings after a start whose clock is behind a stored moment: as long as a wall clock must be
    /// steady to be believed.
    static let datesHeldAfterOddStart = Moment.Duration.seconds(60)
    /// A stored moment that is further ahead of the clock proves that one of them is wrong: the clocks of two nodes
    /// differ by less.
    static let oddFuture = Moment.Duration.seconds(60)
    /// How long no schedule rings after a leap of the wall clock, at the longest: twice as long as a wall clock must be
    /// steady to be believed.
    static let datesHeldAfterLeap = Moment.Duration.seconds(120)
    /// The pause before schedules are handled again if the database cannot be written.
    static let schedulesRetriedAfter = Moment.Duration.seconds(1)

    // MARK: Timelines

    /// The largest number of events of one call: a call has some 10; a call to a family's 32 devices has some 200.
    static let timelineEvents = 512
    /// The number of events reserved for the end of the call and for the counts of repeated and omitted events.
    static let reservedEvents = 64
    /// The number of devices whose repetitions are written individually at the end of a phase.
    static let countedDevices = 24
    /// The number of waves, begun by pushes and dead connections, that are distinguished after the first.
    static let timelineWaves = 4

    // MARK: Stored bytes

    /// The cost of a database row in bytes, without its text.
    static let rowBytes = 128
    /// The number of entries that a log gathers before they are counted, a power of two: counting each one would slow
    /// down relaying.
    static let countedEvery: UInt64 = 16
    /// The size from which an entry is counted immediately, in bytes.
    static let largeEntry = 4_096

    // MARK: Requests

    /// The number of long polls that one user may have under way for one call.
    ///
    /// Four suffice for two devices: each has one poll and, after it lost its network, a second one.
    static let pollsPerUser = 4
    /// The number of a user's newest calls that are searched for an ended call with a peer.
    static let callsSearchedForPeer = 50

    // MARK: The call directory

    /// The number of pages of the call directory that one user may await: one page follows the other, and a few apps of
    /// a user may read at the same time.
    static let directoryReads = 4
    /// The number of updates of the call directory that may wait; each may have half a megabyte.
    static let directoryUpdates = 16
    /// The number of lines of an update that are stored in one commit, which takes some milliseconds.
    static let numbersPerCommit = 1_000
    /// The pages of the call directory that a user may read a second, on average.
    static let directoryPagesPerSecond = 5.0
    /// The rows that one page of a user's rate covers; a page for which more are read or counted is charged as several.
    ///
    /// A full page of a list with as many own names stays below it.
    static let rowsPerDirectoryPage = 2 * NumberRead.mostRows + 1
    /// The pages of the call directory that a user may read at once: the kits read a million numbers in 100 to 500 pages.
    static let directoryPageBurst = 1_000
    /// The numbers that a user may block a second on average, some 8,000 a day, beyond a burst of as many as a user may
    /// block.
    static let numberBlocksPerSecond = 0.1
    /// How long a removed number is stored, so that a client that reads the list again is told of the removal.
    static let removalsStored = Moment.Duration.seconds(30 * 86_400)

    // MARK: Devices and pushes

    /// How old the stored moment of a device's last sign of life may become before a new sign replaces it.
    ///
    /// The moment need not be exact; if every sign were stored, every request would cause a write.
    static let signOfLifeStoredEvery = Moment.Duration.seconds(60)
    /// How long the server tries to hand a notice to a push service: of a text, of a missed call, or of the end of a ring.
    ///
    /// An alert or a notification of a call that no longer rings stays on the screen until its notice has replaced it. Push
    /// services are rarely unavailable for longer.
    static let noticeTimeout = Moment.Duration.seconds(120)
    /// How long a device may be absent, after it lost its connection during the ring, before it is pushed.
    ///
    /// It is pushed only if it has not said that it rings. Apps reconnect within a second or two after a loss of
    /// network.
    static let pushedAfterAbsence = Moment.Duration.seconds(3)
    /// The smallest number of dead push tokens in one window at which deletion stops.
    ///
    /// Deletion stops only if there are also more than twice as many dead push tokens as accepted pushes in the window.
    static let deadTokens = 20
    /// The length of a window in which the results of pushes are counted.
    static let deadTokenWindow = Moment.Duration.seconds(60)
    /// How long deletion stays stopped after a window with too many dead push tokens.
    static let deletionPause = Moment.Duration.seconds(600)

    // MARK: Time

    /// How often expired state is removed.
    static let sweepEvery = Moment.Duration.seconds(60)
    /// How long no history is deleted after a start: NTP often corrects a machine's clock soon after the machine
    /// started.
    static let historyHeldAfterStart = Moment.Duration.seconds(600)
    /// How long no history is deleted after a start with a clock that is far from all stored records.
    static let historyHeldAfterOddStart = Moment.Duration.seconds(3_600)
    /// How long no history is deleted after the wall clock agrees with the server's clock again.
    static let historyHeldAfterDoubt = Moment.Duration.seconds(600)
    /// The age of the newest record, or its distance into the future, from which the clock counts as far from the
    /// records.
    static let oddDistance = Moment.Duration.seconds(86_400)
}
