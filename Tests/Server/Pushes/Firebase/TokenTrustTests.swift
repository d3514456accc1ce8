import ServerTesting
import Testing

@testable import Pushes

@Suite("An access token that Google refuses")
struct TokenTrustTests {
    /// A token, fetched at 0 in place of a refused one.
    private func fresh(isAccepted: Bool = false) -> TokenTrust {
        var trust = TokenTrust()
        trust.fetched(at: 0)
        #expect(trust.refused(for: "a", at: 0) == .replace)
        trust.fetched(at: 0)
        if isAccepted { trust.accepted() }
        return trust
    }

    @Test("A token that was in use is replaced")
    func used() {
        var trust = TokenTrust()
        trust.fetched(at: 0)
        trust.accepted()
        #expect(trust.refused(for: "a", at: 5) == .replace)
    }

    @Test("If the next one is refused for two devices, nothing is sent for ten seconds, then for 20, 40 and 60")
    func storm() {
        var trust = fresh()
        var now: Int64 = 0
        for pause in [10_000, 20_000, 40_000, 60_000, 60_000] as [Int64] {
            #expect(trust.refused(for: "a", at: now) == .wait(until: now + pause))
            #expect(trust.refused(for: "b", at: now) == .pause(until: now + pause))
            now += pause
            trust.fetched(at: now)
        }
        trust.accepted()
        now += 60_000
        #expect(trust.refused(for: "a", at: now) == .replace)
        trust.fetched(at: now)
        #expect(trust.refused(for: "a", at: now) == .wait(until: now + 10_000), "the pauses start again")
    }

    @Test("If it is refused for one device alone, only that device waits, and no token is fetched meanwhile")
    func alone() {
        var trust = fresh()
        for now in [0, 1, 5_000, 9_999] as [Int64] { #expect(trust.refused(for: "a", at: now) == .wait(until: 10_000)) }
        #expect(trust.refused(for: "a", at: 10_000) == .replace)
        trust.fetched(at: 10_000)
        #expect(trust.refused(for: "a", at: 10_000) == .wait(until: 30_000))
    }

    @Test("If it was accepted for another device, the message is at fault, and the token stays for a minute")
    func message() {
        var trust = fresh(isAccepted: true)
        for now in [0, 1, 30_000, 59_999] as [Int64] {
            #expect(trust.refused(for: "a", at: now) == .messageIsAtFault)
            trust.accepted()
        }
        #expect(trust.refused(for: "a", at: 60_000) == .replace)
    }

    @Test("If it was accepted, and is then refused for two devices, it is replaced, but not more often than every 10 s")
    func revoked() {
        var trust = fresh(isAccepted: true)
        #expect(trust.refused(for: "a", at: 1) == .messageIsAtFault)
        #expect(trust.refused(for: "b", at: 9_999) == .messageIsAtFault)
        #expect(trust.refused(for: "b", at: 10_000) == .replace)
    }

    @Test("Five hundred devices that are all refused cause one token for each pause")
    func bound() {
        var trust = fresh()
        var tokens = 0
        var pausesUntil: Int64 = 0
        for now in stride(from: 0, to: 100_000, by: 200) as StrideTo<Int64> where now >= pausesUntil {
            switch trust.refused(for: "\(now)", at: now) {
            case .replace:
                tokens += 1
                trust.fetched(at: now)
            case .pause(let until):
                tokens += 1
                pausesUntil = until
                trust.fetched(at: until)
            case .messageIsAtFault, .wait: break
            }
        }
        #expect(tokens == 4)
    }
}
