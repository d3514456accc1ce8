import Testing

@testable import Nodes

@Suite("The end of a tenure whose process is to end")
struct TenureEndTests {
    private typealias Bench = TenureRuleTests.Bench
    private let five = Situation.epoch5
    private let six = Situation.epoch6

    @Test("A node that is to end takes no more events, also while its claim is under way")
    func leaving() throws {
        for situation in [Situation.searching, .following, .claiming, .gathering, .owning] {
            var bench = try Bench(situation)
            #expect(!bench.tenure.isLeaving)
            bench.give(.terminate)
            #expect(bench.tenure.isLeaving)
        }
        var bench = try Bench(.owning)
        bench.give(.commitRefused(six))
        #expect(bench.tenure.isLeaving)
    }

    @Test("A node that is to end releases the calls that its claim brings")
    func terminateInClaim() throws {
        let before: [(Situation, [Tenure.Effect])] = [
            (.claiming, []), (.claimingWithLink, [.depose(by: six), .disconnect]),
        ]
        for (situation, effects) in before {
            var bench = try Bench(situation)
            #expect(bench.give(.terminate) == [])
            #expect(bench.give(.claimed(six, others: [])) == effects + [.release(six, heir: nil)])
            #expect(bench.give(.released(six)) == [.announceRelease(heir: nil), .drop(six)])
            #expect(bench.tenure.state == .ended(.released))
        }
    }

    @Test("A node that is to end has ended when its claim was lost or has failed")
    func terminateInLostClaim() throws {
        for input in [Tenure.Input.claimLost, .claimFailed] {
            var bench = try Bench(.claiming)
            bench.give(.terminate)
            #expect(bench.give(input) == [])
            #expect(bench.tenure.state == .ended(.terminated))
            bench = try Bench(.claimingWithLink)
            bench.give(.terminate)
            #expect(bench.give(input) == [.disconnect])
            #expect(bench.tenure.state == .ended(.terminated))
        }
    }

    @Test("A node that is to end waits for its claim for 5 s, and releases what comes later")
    func terminateInLongClaim() throws {
        var bench = try Bench(.claiming)
        bench.give(.terminate)
        #expect(bench.wait(4_999) == [])
        #expect(bench.tenure.state == .claiming(after: five))
        bench.wait(1)
        #expect(bench.tenure.state == .ended(.terminated))
        #expect(bench.give(.claimed(six, others: [])) == [.release(six, heir: nil)])
        #expect(bench.tenure.deadline == nil)
    }
}
