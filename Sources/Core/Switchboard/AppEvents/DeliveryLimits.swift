/// The limits of the delivery of events to an endpoint, which bound its memory and the work of a turn.
struct DeliveryLimits {
    /// The largest number of events in the window.
    var window = 4_096
    /// The largest distance between the first and the last position of the window: what a restart sends again at most.
    var span: Int64 = 4 * 4_096
    /// The largest number of events in a page, at most a quarter of the window.
    var page = 1_024
    /// The largest number of held events in memory, and in a page of them.
    var retries = 1_024
    /// The largest number of calls with held events in memory.
    var calls = 4_096
    /// The largest number of calls that are asked for at once.
    var asked = 256
    /// The largest number of parked events that are read at once.
    var portion = 64
    /// The number of held events that are searched for such as wait behind a deleted one.
    var searched = 1_024
    /// The largest number of events that are parked in one turn because the endpoint is down.
    var parked = 256
}
