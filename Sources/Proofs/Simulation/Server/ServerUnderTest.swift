import Switchboard

/// The server of a world: one node, or several.
///
/// Its ``turns`` are those of the switchboard that decides; the server carries out what that switchboard orders, and
/// plays everything around it.
protocol ServerUnderTest: AnyObject {
    var turns: Turns { get }
    /// Whether the switchboard's deadlines count at present.
    var decides: Bool { get }
    /// Whether the loop of the switchboard is stopped.
    var isStopped: Bool { get }

    func start()
    /// Opens a socket of a device for an attempt to connect (0 for a model client); returns whether somebody answers.
    func connect(_ device: SimulatedDevice, attempt: UInt64) -> Connecting
    /// Handles something that reaches the server, or that it has planned.
    func handle(_ event: Event)
    /// Injects a fault if it is one of servers, and returns whether it is.
    func inject(_ fault: Faults) -> Bool
    /// Ends all faults: the server and its store work from now on.
    func endFaults()
    /// Closes a socket because its token has expired.
    func closeExpired(_ link: Int)
    /// Checks at the end of a world what only this kind of server has.
    func checkEnd()

    func carryOut(_ output: Switchboard.Output)
    /// An input was handled, with all its outputs.
    func turnEnded()
    /// A turn with several inputs has made its commit.
    func flushed()
}

/// What becomes of an attempt to connect.
enum Connecting {
    /// The socket is on its way to the server.
    case opens
    /// The connection is refused, after additional milliseconds for a model client.
    case refused(wait: Int64)
    /// Nothing answers: a real app waits until its own timer ends the attempt.
    case silent
}
