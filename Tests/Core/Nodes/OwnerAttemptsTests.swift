import CallCore
import CallPorts
import Testing

@testable import Nodes

@Suite("An edge's attempts to reach the owner")
struct OwnerAttemptsTests {
    private var attempts = OwnerAttempts()
    private let start = Moment(milliseconds: 1_000_000)
    private let owner: NodeID
    private let other: NodeID

    init() throws {
        owner = try #require(NodeID("owner"))
        other = try #require(NodeID("other"))
    }

    private func after(_ milliseconds: Int64) -> Moment { start + .milliseconds(milliseconds) }

    @Test("An owner that cannot be reached for 2 s is reported once, with its address and the reason")
    mutating func unreachable() {
        #expect(attempts.begin(owner, at: "10.0.0.5:7070", now: start) == nil)
        attempts.failed("no route to host")
        #expect(attempts.begin(owner, at: "10.0.0.5:7070", now: after(1_999)) == nil)
        let report = attempts.begin(owner, at: "10.0.0.5:7070", now: after(2_000))
        #expect(report?.owner == owner && report?.address == "10.0.0.5:7070" && report?.reason == "no route to host")
        #expect(attempts.begin(owner, at: "10.0.0.5:7070", now: after(60_000)) == nil)
        attempts.opened()
        #expect(attempts.begin(owner, at: "10.0.0.5:7070", now: after(70_000)) == nil)
        #expect(attempts.begin(owner, at: "10.0.0.5:7070", now: after(72_000)) != nil, "the time counts anew")
    }

    @Test("A node that reads the calls it has claimed can be reached")
    mutating func claiming() {
        for second in 0..<20 as Range<Int64> {
            #expect(attempts.begin(owner, at: "a:1", now: after(second * 1_000)) == nil)
            attempts.noteClaiming()
        }
    }

    @Test("Another owner, and another address, is reported separately")
    mutating func others() {
        _ = attempts.begin(owner, at: "a:1", now: start)
        #expect(attempts.begin(other, at: "a:1", now: after(2_500)) == nil)
        #expect(attempts.begin(other, at: "b:1", now: after(4_600)) == nil)
        #expect(attempts.begin(other, at: "b:1", now: after(6_600))?.reason == "no response")
    }

    @Test("A refused node pauses, tells its operator at most once a minute, and does not call the owner unreachable")
    mutating func refused() {
        var told = 0
        for second in stride(from: Int64(0), to: 180, by: 1) {
            let now = after(second * 1_000)
            #expect(attempts.begin(owner, at: "a:1", now: now) == nil)
            guard attempts.mayConnect(at: now) else { continue }
            if attempts.refused(at: now) { told += 1 }
            #expect(attempts.isRefused && !attempts.mayConnect(at: now + .milliseconds(2_999)))
        }
        #expect(told == 3)
        attempts.opened()
        #expect(!attempts.isRefused)
    }

    @Test("After three links that ended within a second the node pauses")
    mutating func shortLinks() {
        for count in 1...3 {
            #expect(attempts.mayConnect(at: start))
            attempts.ended(afterBeginningAt: start, now: after(Int64(count)))
        }
        #expect(!attempts.mayConnect(at: after(3_000)))
        #expect(attempts.mayConnect(at: after(3_003)))
        attempts.ended(afterBeginningAt: start, now: after(5_000))
        #expect(attempts.mayConnect(at: after(5_000)))
    }

    @Test("Another owner is tried at once, and may be unreachable, although the one before it had refused the node")
    mutating func refusedByAnother() {
        _ = attempts.begin(owner, at: "a:1", now: start)
        _ = attempts.refused(at: start)
        #expect(attempts.begin(other, at: "b:1", now: after(100)) == nil)
        #expect(attempts.mayConnect(at: after(100)) && !attempts.isRefused)
        #expect(attempts.begin(other, at: "b:1", now: after(2_100))?.owner == other)
    }

    @Test("The time of a pause does not count as time in which the owner could not be reached")
    mutating func pause() {
        _ = attempts.begin(owner, at: "a:1", now: start)
        attempts.opened()
        for _ in 1...3 { attempts.ended(afterBeginningAt: start, now: start) }
        for time in stride(from: Int64(0), to: 5_000, by: 250) {
            #expect(attempts.begin(owner, at: "a:1", now: after(time)) == nil)
        }
        #expect(attempts.begin(owner, at: "a:1", now: after(5_000))?.reason == "no response")
    }
}

@Suite("Links that have not proved themselves")
struct UnprovenLinksTests {
    @Test("The oldest link of an address goes when the address has too many; the others stay")
    func ofAddress() {
        let strangers = Array(repeating: "10.0.0.9", count: NodeLimits.unprovenLinksOfAddress)
        #expect(UnprovenLinks.surplus(["10.0.0.1"] + strangers) == nil)
        #expect(UnprovenLinks.surplus(["10.0.0.1"] + strangers + ["10.0.0.9"]) == 1)
        #expect(UnprovenLinks.surplus([]) == nil)
    }

    @Test("A stranger's flood never displaces a node's link")
    func flood() {
        var links = ["node"]
        for number in 0..<10_000 {
            // From seven addresses, which together have all places but few.
            links.append("stranger-\(number % 7)")
            if let place = UnprovenLinks.surplus(links) { links.remove(at: place) }
        }
        #expect(links.first == "node" && links.count <= NodeLimits.unprovenLinks)
        links.append("another node")
        if let place = UnprovenLinks.surplus(links) { links.remove(at: place) }
        #expect(links.contains("node") && links.contains("another node"))
    }
}
