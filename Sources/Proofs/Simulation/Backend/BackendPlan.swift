import CallCore
import CallPorts
import SeededRandom
import Switchboard

/// What the app's backend of a world is like: what it wants to be told, and how badly it works.
///
/// All of it comes from the world's seed.
struct BackendPlan {
    /// What the server reports.
    let policy: EventPolicy
    /// The time between two outages of an endpoint, on average, in milliseconds; `nil` = there are none.
    let outageEvery: Int64?
    /// How many of a hundred requests fail while an endpoint works.
    let failShare: Int
    /// Of how many of a hundred calls no event is accepted.
    let stuckShare: Int
    /// Of how many of a hundred failed requests the response is that the endpoint is gone for ever.
    let goneShare: Int
    /// How long after the end of all other faults the backend works, in milliseconds.
    let wellAfter: Int64
    /// How long after the end of the users' calls the events of those stuck calls are accepted, in milliseconds.
    let stuckFor: Int64
    private let salt: UInt64

    /// The plan of a world.
    init(seed: UInt64, faults: Faults) {
        var generator = SeededGenerator(seed: seed, stream: 14)
        let urls = ["https://app.example/ringline", "https://crm.example/calls?key=1"]
        let count = [0, 1, 1, 1, 1, 1, 2, 2, 2, 2][generator.below(10)]
        var types = Set(AppEventType.allCases)
        if generator.percent(10) { types.subtract([.callRinging, .callActive, .deviceRegistered]) }
        let hasFewBytes = generator.percent(20)
        let bytes = generator.within(3_000...30_000)
        policy = EventPolicy(
            types: types,
            endpoints: Array(urls.prefix(count)),
            keptFor: .seconds(14 * 86_400),
            keptBytes: hasFewBytes ? bytes : 1 << 30
        )
        salt = generator.next()
        let isFaulty = faults.contains(.backend)
        let every: Int64? = generator.percent(70) ? generator.within(8_000...60_000) : nil
        let share = [0, 0, 3, 10, 30][generator.below(5)]
        let stuck = [0, 0, 8, 25][generator.below(4)]
        let gone = generator.percent(8) ? 2 : 0
        let span = generator.below(100)
        let hour = generator.within(60_000...3_600_000)
        let days = generator.within(74...100) * 3_600_000
        outageEvery = isFaulty ? every : nil
        failShare = isFaulty ? share : 0
        stuckShare = isFaulty ? stuck : 0
        goneShare = isFaulty ? gone : 0
        wellAfter = !isFaulty || span >= 14 ? 0 : span < 4 ? days : hour
        stuckFor = span % 10 == 9 ? days : 400_000
    }

    /// Whether no event of a call is accepted for a long time.
    func isStuck(_ call: CallNumber) -> Bool {
        stuckShare > 0 && Int((UInt64(bitPattern: call.rawValue) &* 0x9E37_79B9_7F4A_7C15 ^ salt) % 100) < stuckShare
    }
}
