/// What may go wrong in a simulated world.
public struct Faults: OptionSet, Hashable, Sendable {
    /// One bit a fault.
    public let rawValue: UInt32

    /// The faults of these bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Sockets break; what was under way is lost.
    public static let disconnects = Faults(rawValue: 1 << 0)
    /// Sockets die without a word: writes vanish, reads stop.
    public static let halfOpen = Faults(rawValue: 1 << 1)
    /// Phones lose their network for a while.
    public static let offline = Faults(rawValue: 1 << 2)
    /// Apps are suspended and killed, and forget.
    public static let power = Faults(rawValue: 1 << 3)
    /// Requests and their responses are lost or repeated.
    public static let requests = Faults(rawValue: 1 << 4)
    /// APNs refuses, repeats, delays and loses.
    public static let pushes = Faults(rawValue: 1 << 5)
    /// The server crashes; what was not committed is gone.
    public static let crashes = Faults(rawValue: 1 << 6)
    /// The store is slow, or cannot write for a while.
    public static let store = Faults(rawValue: 1 << 7)
    /// Latency jumps.
    public static let delays = Faults(rawValue: 1 << 8)
    /// Clients that mean harm, or are broken.
    public static let hostile = Faults(rawValue: 1 << 9)
    /// Phones' clocks are wrong.
    public static let skew = Faults(rawValue: 1 << 10)
    /// Tokens change, blocks and do-not-disturb come and go.
    public static let settings = Faults(rawValue: 1 << 11)
    /// The server is stopped in good order and started again.
    public static let restarts = Faults(rawValue: 1 << 12)
    /// Strangers call under the callIds of others' calls, ends come again when their name is in use again.
    public static let strangers = Faults(rawValue: 1 << 13)
    /// Several calls have one callId, and other peers.
    public static let sharedNames = Faults(rawValue: 1 << 14)
    /// Phones say very much at once, and connections take it slowly.
    public static let bursts = Faults(rawValue: 1 << 15)
    /// The server's clock is another one after a restart.
    public static let leaps = Faults(rawValue: 1 << 16)

    /// All of them, each with its name.
    public static let named: [(fault: Faults, name: String)] = [
        (.disconnects, "disconnects"), (.halfOpen, "half-open"), (.offline, "offline"), (.power, "power"),
        (.requests, "requests"), (.pushes, "pushes"), (.crashes, "crashes"), (.store, "store"), (.delays, "delays"),
        (.hostile, "hostile"), (.skew, "skew"), (.settings, "settings"), (.restarts, "restarts"),
        (.strangers, "strangers"), (.sharedNames, "shared-names"), (.bursts, "bursts"), (.leaps, "leaps"),
    ]

    /// Every fault.
    public static let all = Faults(rawValue: (1 << 17) - 1)

    /// The faults' names, comma between them.
    public var names: String { Self.named.filter { contains($0.fault) }.map(\.name).joined(separator: ", ") }
}
