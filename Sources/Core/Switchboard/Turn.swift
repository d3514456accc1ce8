import CallCore
import CallPorts
import CallWire
import JSON

/// The moment and the outputs of one turn, and the arrays that are reused from turn to turn, so that a relayed signal
/// allocates nothing for them.
struct Turn {
    /// The moment of the input that is being handled, the same for everything that this input causes.
    var now: Moment
    /// How far the date, which the wall clock shows, is ahead of ``now``.
    var lead = Moment.Duration.milliseconds(0)
    /// How far the date has jumped in all (``WallClock/corrected``).
    var corrected = Moment.Duration.milliseconds(0)
    /// The outputs, in the order in which they are carried out.
    var out: [Switchboard.Output] = []
    /// The outputs of the call session that is handling an input.
    var steps: [CallSession.Output] = []
    /// The members of the frame that is being parsed.
    var scratch: [JSONObject.Member] = []
    /// How much is reported with ``Switchboard/Output/trace(_:)``.
    var detail = Switchboard.Detail.none
    /// The connections to which the current entry was sent; recorded only while decisions about calls are reported.
    var receivers: [SocketID] = []
    /// The commits that were reported and are not durable, oldest first, each with its calls.
    var uncommitted: [(ticket: Ticket, tags: [Switchboard.CallTag])] = []

    /// The date: what is due at a date of the world, such as a schedule, is compared with it (Decision 0010).
    var date: Moment { now + lead }
}
