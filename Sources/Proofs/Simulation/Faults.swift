/// The faults that a simulated world injects.
package struct Faults: OptionSet, Hashable, Sendable {
    /// The bits of the set, one for each fault.
    package let rawValue: UInt32

    /// Creates a set from its bits.
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Sockets break, and what is in transit is lost.
    package static let disconnects = Faults(rawValue: 1 << 0)
    /// Sockets die silently: writes vanish, reads stop.
    package static let halfOpen = Faults(rawValue: 1 << 1)
    /// Devices lose their network for a while.
    package static let offline = Faults(rawValue: 1 << 2)
    /// Apps are suspended and killed.
    ///
    /// A killed app loses its state.
    package static let power = Faults(rawValue: 1 << 3)
    /// Requests and their responses are lost or repeated.
    package static let requests = Faults(rawValue: 1 << 4)
    /// APNs refuses, repeats, delays and loses pushes.
    package static let pushes = Faults(rawValue: 1 << 5)
    /// The server crashes and loses what was not committed.
    package static let crashes = Faults(rawValue: 1 << 6)
    /// The store is slow, or cannot write for a while.
    package static let store = Faults(rawValue: 1 << 7)
    /// Latency jumps.
    package static let delays = Faults(rawValue: 1 << 8)
    /// Some clients are malicious or broken.
    package static let hostile = Faults(rawValue: 1 << 9)
    /// The devices' clocks are wrong.
    package static let skew = Faults(rawValue: 1 << 10)
    /// Push tokens change, bearer tokens expire, and users set and remove blocks and set do-not-disturb.
    package static let settings = Faults(rawValue: 1 << 11)
    /// The server is shut down cleanly and started again.
    package static let restarts = Faults(rawValue: 1 << 12)
    /// Users begin calls under the callIds of calls that they are not in, and acknowledged `end` signals arrive again.
    ///
    /// The `end` signals are mostly those whose callId is in use again for a later call.
    package static let outsiders = Faults(rawValue: 1 << 13)
    /// Several calls with different peers have the same callId.
    package static let sharedNames = Faults(rawValue: 1 << 14)
    /// Devices send many messages at once, and connections are slow.
    package static let bursts = Faults(rawValue: 1 << 15)
    /// At a start of the server, its clock may be set wrong by up to 20 s.
    package static let leaps = Faults(rawValue: 1 << 16)

    /// Not a fault, but a policy of the server: it shows a change of a call's course only when the change is durable.
    package static let withholding = Faults(rawValue: 1 << 17)

    /// Nodes stall, and are cut off from the database or from each other, so that another node takes the calls over and
    /// the earlier owner lives on without knowing it; a server of one node does not have this fault.
    package static let takeOver = Faults(rawValue: 1 << 18)

    /// Not a fault, but a kind of client: some give no device id when they connect, so that the server makes one for
    /// their connection; only servers of several nodes have them.
    package static let unnamed = Faults(rawValue: 1 << 19)

    /// A cut link between nodes is reported to one side only.
    ///
    /// The other side notices the silence, perhaps after the peer has linked again. Only for servers of several nodes.
    package static let halfCuts = Faults(rawValue: 1 << 20)

    /// The endpoints of the app's backend fail, in worlds that have a backend.
    package static let backend = Faults(rawValue: 1 << 21)

    /// All faults, each with its name.
    package static let named: [(fault: Faults, name: String)] = [
        (.disconnects, "disconnects"), (.halfOpen, "half-open"), (.offline, "offline"), (.power, "power"),
        (.requests, "requests"), (.pushes, "pushes"), (.crashes, "crashes"), (.store, "store"), (.delays, "delays"),
        (.hostile, "hostile"), (.skew, "skew"), (.settings, "settings"), (.restarts, "restarts"),
        (.outsiders, "strangers"), (.sharedNames, "shared-names"), (.bursts, "bursts"), (.leaps, "leaps"),
        (.withholding, "withholding"), (.takeOver, "take-over"), (.unnamed, "unnamed"),
        (.halfCuts, "half-cuts"), (.backend, "backend"),
    ]

    /// Every fault of one server, without ``withholding``, ``takeOver``, ``unnamed``, ``halfCuts`` and
    /// ``backend``.
    package static let all = Faults(rawValue: (1 << 17) - 1)

    /// Everything that a world may have.
    package static let known = all.union([.withholding, .takeOver, .unnamed, .halfCuts, .backend])

    /// The names of the faults, separated by commas.
    package var names: String { Self.named.filter { contains($0.fault) }.map(\.name).joined(separator: ", ") }
}
