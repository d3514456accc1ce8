package import CallCore
package import CallPorts

/// The counts of a switchboard: plain numbers for the metrics page.
package struct Metrics: Sendable {
    /// Connections open now.
    package var connections = 0
    /// Connections that do not keep up, so that signals and texts to them may be refused.
    package var backlogged = 0
    /// Connections of services that watch the timelines of calls.
    package var timelineWatchers = 0
    /// Timeline events sent to such connections.
    package var timelineFrames: UInt64 = 0
    /// Connections ever opened.
    package var connectionsOpened: UInt64 = 0
    /// Connections closed by the server, by close code.
    package var closes: [UInt16: UInt64] = [:]
    /// Calls ever begun.
    package var callsBegun: UInt64 = 0
    /// Calls ended, by reason.
    package var callsEnded: [EndReason: UInt64] = [:]
    /// Schedules now.
    package var schedules = 0
    /// Calls that the server itself began because a schedule was due.
    package var scheduledRings: UInt64 = 0
    /// Calls hidden from their callee, by cause.
    package var callsHidden: [CallRecord.Hidden: UInt64] = [:]
    /// Reports of devices whose system does not show a call, by cause.
    package var silenced: [Silence: UInt64] = [:]
    /// Signals accepted, by kind.
    package var signals = Signals()
    /// Frames and requests refused, by code.
    package var refusals: [String: UInt64] = [:]
    /// Revocations of a user's tokens.
    package var revocations: UInt64 = 0
    /// Refusals and omissions because of a limit, by limit.
    package var limited = Limited()
    /// Members with names that the server does not know.
    package var unknownNames = UnknownNames()
    /// Relayed frames handed to connections.
    package var delivered: UInt64 = 0
    /// Time from a signal to its acknowledgement, in milliseconds.
    package var ackMilliseconds = Histogram(bounds: [1, 2, 5, 10, 20, 50, 100, 250, 500, 1_000, 2_500, 5_000])
    /// Time from handing changes to the store until they are durable, in milliseconds.
    package var commitMilliseconds = Histogram(bounds: [1, 2, 5, 10, 20, 50, 100, 250, 500, 1_000, 2_500, 5_000])
    /// Time from a query to its result, in milliseconds, for each lane.
    package var queryMilliseconds = QueryLane.allCases.map { _ in
        Histogram(bounds: [1, 2, 5, 10, 20, 50, 100, 250, 500, 1_000, 2_500, 5_000])
    }
    /// Queries without a result, for each lane.
    package var queriesUnderWay = QueryLane.allCases.map { _ in 0 }
    /// Time from the offer to the answer, in milliseconds.
    package var answerMilliseconds = Histogram(bounds: [
        500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 45_000, 60_000, 90_000, 120_000,
    ])
    /// Decisions of the app's backend about offers.
    package var decisions = Decisions()
    /// Events for the app's backend, by type.
    package var appEvents = AppEventCounts()
    /// Events that were deleted before they were delivered.
    package var eventsLost: UInt64 = 0
    /// Whether there are events for the app's backend.
    package var keepsEvents = false
    /// The delivery to each endpoint, in the order of the setting.
    package var endpoints: [EndpointFigures] = []
    /// Pushes sent.
    package var pushesSent: UInt64 = 0
    /// Results of pushes, by reason; `accepted` for 200, 201 and 202.
    package var pushResults: [String: UInt64] = [:]
    /// Push tokens that a registration took from another device, once for each device that lost one.
    package var pushTokensMoved: UInt64 = 0
    /// Whether push tokens are no longer deleted, because the push services refuse too many of them.
    package var isDeletionStopped = false
    /// Numbers with a name for all users in the call directory.
    package var numbers = 0
    /// Pages of the call directory that were read.
    package var numberPages = NumberPages()
    /// Lines of the call directory that updates have changed.
    package var numbersChanged: UInt64 = 0
    /// Whether the store cannot write.
    package var isStalled = false
    /// Invalid values found in the store, by remedy.
    package var damages: [DamagedValue.Remedy: UInt64] = [:]

    /// Metrics with all counts at zero.
    package init() {}

    /// The counts of the backend's decisions about offers.
    package struct Decisions: Sendable {
        /// Offers by outcome.
        package var outcomes: [DecisionOutcome: UInt64] = [:]
        /// Results that came late or twice, and changed nothing.
        package var ignoredResults: UInt64 = 0
        /// Whether the backend is not asked, because it has failed too often.
        package var isBreakerOpen = false
        /// Whether the backend is asked at all.
        package var isAsked = false
        /// Time from a question to its decision, in milliseconds.
        package var milliseconds = Histogram(bounds: [5, 10, 20, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000])
    }

    /// A count for each kind of page of the call directory.
    package struct NumberPages: Equatable, Sendable {
        /// Pages of whole lists.
        package internal(set) var complete: UInt64 = 0
        /// Pages of changes.
        package internal(set) var changes: UInt64 = 0
        /// Pages that the client had already.
        package internal(set) var unchanged: UInt64 = 0
    }

    /// A count for each limit.
    package struct Limited: Sendable {
        /// The limits that are counted.
        package enum Limit: String, Sendable, CaseIterable {
            /// The backlog of a connection: signals and texts to it are refused.
            case backlog
            /// `end` signals without effect that a user sends.
            case ends
            /// Signs of life, other than frames, that a connection gives: pongs, pings and polls.
            case pongs
            /// Long polls of one user for one call.
            case polls
            /// Connections in one room.
            case roomMembers = "room_members"
            /// Events of one call's timeline.
            case timeline
            /// Bytes stored for a user in a day.
            case storedBytes = "stored_bytes"
            /// Rings of one caller to one callee.
            case ringsPerPair = "rings_per_pair"
            /// Rings of one callee by all callers.
            case ringsPerCallee = "rings_per_callee"
            /// Events that happen before the earlier events of a watched call are read.
            case watch
            /// Callers that ring one callee at the same time; a further caller is told that the callee is busy. The
            /// timeline's word is `crowded`, so the metric has it too.
            case tooManyCallers = "crowded"
            /// Pages of the call directory that one user reads, and those that the user awaits.
            case directoryReads = "directory_reads"
            /// Updates of the call directory that wait.
            case directoryUpdates = "directory_updates"
            /// Frames of a connection, except `end`.
            case frames
            /// Requests of a user, except `end`.
            case requests
            /// Offers and signals of a user that wait for a decision of the app's backend.
            case decisions
            /// Calls that a user begins.
            case newCalls = "new_calls"
            /// Schedules of a user.
            case schedules
            /// Rings of a user's schedules.
            case scheduledRings = "scheduled_rings"
            /// Users and numbers that a user blocks.
            case blocks
            /// Rooms of a connection.
            case rooms
            /// Users whose presence a connection watches.
            case presence
            /// Replays that a connection awaits.
            case syncs
        }

        private var counts: [Limit: UInt64] = [:]

        /// How often a limit was exceeded.
        package internal(set) subscript(limit: Limit) -> UInt64 {
            get { counts[limit, default: 0] }
            set { counts[limit] = newValue }
        }
    }

    /// A count for each kind of signal.
    ///
    /// An array, because it changes with every signal: nothing is hashed.
    package struct Signals: Sendable {
        private var counts = [UInt64](repeating: 0, count: SignalKind.allCases.count)

        /// The number of signals of a kind.
        package internal(set) subscript(kind: SignalKind) -> UInt64 {
            get { counts[Self.index(of: kind)] }
            set { counts[Self.index(of: kind)] = newValue }
        }

        private static func index(of kind: SignalKind) -> Int {
            switch kind {
            case .offer: 0
            case .ringing: 1
            case .answer: 2
            case .ice: 3
            case .connected: 4
            case .update: 5
            case .dtmf: 6
            case .info: 7
            case .end: 8
            }
        }
    }

    /// A count for each type of events for the app's backend.
    ///
    /// An array, because several change with every call: nothing is hashed.
    package struct AppEventCounts: Sendable {
        private var counts: [UInt64] = []

        /// The number of events of a type.
        package internal(set) subscript(type: AppEventType) -> UInt64 {
            get { counts.isEmpty ? 0 : counts[type.index] }
            set {
                // Nothing is allocated before the first event.
                if counts.isEmpty { counts = Array(repeating: 0, count: AppEventType.allCases.count) }
                counts[type.index] = newValue
            }
        }
    }

    /// A histogram: the number of values in each range.
    package struct Histogram: Sendable {
        /// The upper ends of the ranges, ascending.
        package let bounds: [Int64]
        /// The number of values in each range; the last one counts the values above all bounds.
        package private(set) var counts: [UInt64]
        /// The sum of the values.
        package private(set) var sum: Int64 = 0

        /// An empty histogram with these ranges.
        package init(bounds: [Int64]) {
            self.bounds = bounds
            counts = Array(repeating: 0, count: bounds.count + 1)
        }

        /// Counts one value.
        package mutating func record(_ value: Int64) {
            counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
            sum += value
        }
    }
}
