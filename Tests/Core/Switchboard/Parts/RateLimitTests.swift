import CallCore
import Testing

@testable import Switchboard

@Suite("The rates and quotas of users")
struct RateLimitTests {
    @Test("A rate allows each user a burst, and then events at the rate")
    func rate() throws {
        var rate = UserRate(perSecond: 2, burst: 3)
        let (a, b) = (try user("11"), try user("10"))
        let first = (0..<4).map { _ in rate.admit(a, at: Values.now) }
        #expect(first == [true, true, true, false])
        let other = rate.admit(b, at: Values.now)
        #expect(other)
        let later = (0..<2).map { _ in rate.admit(a, at: Values.now + .milliseconds(500)) }
        #expect(later == [true, false])
    }

    @Test("An exhausted quota reports the seconds until its refill, and none once it has refilled")
    func quota() throws {
        var quotas = StorageQuotas(bytesPerDay: 86_400)
        let user = try user("11")
        quotas.spend(86_400 + 9, for: user, at: Values.now)
        #expect(quotas.exhausted == [user])
        #expect(quotas.secondsUntilRefill(of: user, at: Values.now) == 10)
        #expect(quotas.secondsUntilRefill(of: user, at: Values.now + .seconds(11)) == nil)
        #expect(quotas.exhausted.isEmpty)
    }

    @Test("Nothing is stored for a user that stores nothing")
    func noBytes() throws {
        var quotas = StorageQuotas(bytesPerDay: 10)
        quotas.spend(0, for: try user("11"), at: Values.now)
        #expect(quotas.count == 0)
    }

    @Test("One sweep of all limits forgets the users whose limits are full again, and no others")
    func sweep() throws {
        var limits = RateLimits(Policy())
        let (a, b) = (try user("11"), try user("10"))
        let later = Values.now + .seconds(2 * 86_400)
        for (user, at) in [(a, Values.now), (b, later)] {
            _ = limits.calls.admit(user, at: at)
            _ = limits.requests.admit(user, at: at)
            _ = limits.notices.admit(user, at: at)
            _ = limits.ends.admit(user, at: at)
            limits.quotas.spend(1 << 40, for: user, at: at)
            limits.rings.began(CallNumber(rawValue: 1), .init(from: user, to: b), rings: true, at: at)
        }
        #expect(limits.quotas.exhausted == [a, b])
        limits.forgetFull(at: later)
        #expect([limits.calls, limits.requests, limits.notices, limits.ends].map(\.count) == [1, 1, 1, 1])
        #expect(limits.rings.count == 2, "the pair of the newer ring, and its callee")
        limits.forgetFull(at: later + .seconds(1 << 30))
        #expect(limits.quotas.count == 0)
        #expect(limits.quotas.exhausted.isEmpty)
        #expect(limits.rings.count == 0)
    }
}
