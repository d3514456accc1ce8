import Crypto
import Testing

@testable import Identity

@Suite("The schedule for fetching a published key set")
struct KeySetScheduleTests {
    @Test(
        "The first fetch is due immediately; the next after an hour, or the time that the server states, within limits"
    )
    func refresh() {
        for (life, expected) in [
            (nil, 3_600_000), (0, 300_000), (299_999, 300_000), (1_000_000, 1_000_000), (.max, 86_400_000),
        ] as [(Int64?, Int64)] {
            var schedule = KeySetSchedule(at: 1_000)
            let first = schedule.begins(at: 1_000)
            let second = schedule.begins(at: 1_001)
            #expect(first && !second, "one at a time")
            schedule.succeeded(at: 2_000, life: life)
            #expect(schedule.dueAt == 2_000 + expected && schedule.failures == 0)
            let early = schedule.begins(at: 2_000 + expected - 1)
            let due = schedule.begins(at: 2_000 + expected)
            #expect(!early && due)
        }
    }

    @Test("After failures the pauses are 2, 4, 8 s and so on, up to 300 s; a success resets them")
    func backOff() {
        var schedule = KeySetSchedule(at: 0)
        var now: Int64 = 0
        var pauses: [Int64] = []
        for _ in 0..<80 {
            let begins = schedule.begins(at: now)
            #expect(begins)
            schedule.failed(at: now)
            pauses.append(schedule.dueAt - now)
            now = schedule.dueAt
        }
        #expect(pauses.prefix(9) == [2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000])
        #expect(pauses.dropFirst(9).allSatisfy { $0 == 300_000 } && schedule.failures == 80)
        _ = schedule.begins(at: now)
        schedule.succeeded(at: now, life: nil)
        _ = schedule.begins(at: schedule.dueAt)
        schedule.failed(at: now)
        #expect(schedule.dueAt == now + 2_000)
    }

    @Test("A token with an unknown key causes a fetch, at most once a minute, but not during the pause after a failure")
    func misses() {
        var schedule = KeySetSchedule(at: 0)
        _ = schedule.begins(at: 0)
        let underWay = schedule.missed(at: 10)
        #expect(underWay, "the fetch under way may bring the key")
        schedule.succeeded(at: 100, life: nil)
        let missed = schedule.missed(at: 200)
        let begins = schedule.begins(at: 200)
        #expect(missed && begins)
        schedule.succeeded(at: 300, life: nil)
        for now in stride(from: Int64(1_000), to: 60_000, by: 1_000) {
            let again = schedule.missed(at: now)
            let begins = schedule.begins(at: now)
            #expect(!again && !begins)
        }
        #expect(schedule.dueAt == 60_200, "the request is remembered: a new key is fetched a minute later")
        let later = schedule.begins(at: 60_200)
        #expect(later)
        schedule.failed(at: 60_300)
        let afterFailure = schedule.missed(at: 60_400)
        #expect(!afterFailure && schedule.dueAt == 62_300)
        schedule.fetchSoon(at: 60_500)
        let hurried = schedule.begins(at: 60_500)
        #expect(hurried)
    }

    @Test(
        "A key set is fresh for as long as the response's Cache-Control states",
        arguments: [
            ("max-age=600", 600_000), ("public, max-age=600, must-revalidate", 600_000), ("MAX-AGE=\"600\"", 600_000),
            ("no-cache", 0), ("no-store, max-age=600", 0), ("max-age=-1", 0), ("max-age=", 0), ("max-age", 0),
            ("max-age=99999999999999999999", .max), ("max-age=9999999999999999", .max), ("public", nil), ("", nil),
            ("x-max-age=5", nil), ("s-maxage=5", nil),
        ] as [(String, Int64?)]
    )
    func cacheControl(_ text: String, _ life: Int64?) {
        #expect(KeySetSchedule.life(cacheControl: text) == life)
    }

    @Test("A secret in a published key set is not used, because anyone can read it")
    func secrets() throws {
        let secret = #"{"kty":"oct","k":"\#(Base64URL.encode([UInt8](repeating: 7, count: 32)))"}"#
        let json = Array(#"{"keys":[\#(secret)]}"#.utf8)
        #expect(try TokenVerifier(keys: [.keySet(json: json)]).keyCount == 1)
        #expect(throws: TokenKeyError.self) { try TokenVerifier(keys: [.publishedKeySet(json: json)]) }
    }
}
