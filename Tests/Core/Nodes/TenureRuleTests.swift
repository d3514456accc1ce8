import CallCore
import CallPorts
import Testing

@testable import Nodes

@Suite("The rules of a tenure")
struct TenureRuleTests {
    /// A tenure with a clock.
    struct Bench {
        var tenure: Tenure
        var now = Situation.start

        init(_ situation: Situation) throws { tenure = try situation.tenure() }

        @discardableResult
        mutating func give(_ input: Tenure.Input) -> [Tenure.Effect] {
            var effects: [Tenure.Effect] = []
            tenure.handle(input, at: now, into: &effects)
            return effects
        }

        /// Lets time pass, and passes in each deadline that comes.
        @discardableResult
        mutating func wait(_ milliseconds: Int64) -> [Tenure.Effect] {
            let end = now + .milliseconds(milliseconds)
            var effects: [Tenure.Effect] = []
            while let deadline = tenure.deadline, deadline <= end {
                now = max(now, deadline)
                effects += give(.deadlineReached)
            }
            now = end
            return effects
        }
    }

    private let five = Situation.epoch5
    private let six = Situation.epoch6

    private func row(_ name: String = "b", lease: Int64, epoch: OwnerEpoch = Situation.epoch5) throws -> Tenure.Input {
        .rowRead(try Situation.row(name, epoch, lease: .milliseconds(lease)))
    }

    @Test("A node claims at once when its link is lost and a new one is refused")
    func refused() throws {
        var bench = try Bench(.following)
        bench.give(.linkLost(.closed))
        #expect(bench.give(.linkRefused) == [.claim(after: five, above: five)])
    }

    @Test("A refused link to an owner that the node never had a link to is no reason to claim")
    func refusedFirst() throws {
        var bench = try Bench(.connecting)
        #expect(bench.give(.linkRefused) == [])
        #expect(bench.tenure.state == .searching)
        #expect(bench.wait(250) == [.readRow])
        #expect(bench.give(try row(lease: 1)) == [.connect(try Situation.node("b"), address: "b:1")])
    }

    @Test("A node says that it is reading the calls from the moment its claim is durable until it has them")
    func loading() throws {
        var bench = try Bench(.claiming)
        #expect(!bench.tenure.isLoading && bench.give(.loading) == [] && bench.tenure.isLoading)
        bench.give(.claimFailed)
        #expect(!bench.tenure.isLoading)
        bench.give(.loading)
        #expect(!bench.tenure.isLoading, "a late word of a claim that is over")
        bench = try Bench(.claiming)
        bench.give(.loading)
        bench.give(.claimed(six, others: []))
        #expect(!bench.tenure.isLoading)
    }

    @Test("A node whose link fell silent reads the row every 250 ms, and claims when the lease has run out")
    func silent() throws {
        var bench = try Bench(.following)
        #expect(bench.give(.linkLost(.silent)) == [.readRow])
        for _ in 0..<4 {
            bench.give(try row(lease: 100))
            #expect(bench.wait(249).filter { $0 == .readRow } == [])
            #expect(bench.wait(1).filter { $0 == .readRow } == [.readRow])
        }
        #expect(bench.give(try row(lease: 0)).contains(.claim(after: five, above: five)))
    }

    @Test("A row is read again only when the last read has ended")
    func oneRead() throws {
        var bench = try Bench(.following)
        bench.give(.linkLost(.silent))
        #expect(bench.wait(3_000) == [])
        bench.give(.rowUnreadable)
        #expect(bench.wait(250) == [.readRow])
    }

    @Test("A server that is not one of several nodes keeps its calls until its lease has run out")
    func singleServer() throws {
        var bench = try Bench(.searching)
        func single(_ lease: Int64) -> Tenure.Input {
            .rowRead(OwnerRow(epoch: five, node: nil, address: "", lease: .milliseconds(lease)))
        }
        bench.give(.rowUnreadable)
        #expect(bench.give(single(1)) == [])
        #expect(bench.give(single(0)) == [.claim(after: five, above: five)])
    }

    @Test("A node with a sound link claims when the owner's store stands still and the lease has run out")
    func ownerStalled() throws {
        var bench = try Bench(.following)
        bench.give(.ownerStalled(true))
        #expect(bench.give(try row(lease: 1)) == [])
        #expect(bench.wait(250) == [.readRow])
        #expect(bench.give(try row(lease: 0)) == [.claim(after: five, above: five)])
        #expect(
            bench.give(.claimed(six, others: [])) == [.depose(by: six), .disconnect, .gather(six), .serve(six)]
        )
    }

    @Test("A node does not claim when the owner's store works again before the row is read")
    func ownerRecovered() throws {
        var bench = try Bench(.following)
        bench.give(.ownerStalled(true))
        bench.give(.ownerStalled(false))
        #expect(bench.give(try row(lease: 0)) == [])
        #expect(bench.wait(10_000) == [])
        #expect(bench.tenure.state == .following(five))
    }

    @Test("An owner says once that its store stands still, and that it works again")
    func announces() throws {
        var bench = try Bench(.owning)
        #expect(bench.give(.storeStalled(six, false)) == [])
        #expect(bench.give(.storeStalled(six, true)) == [.announceStall(true)])
        #expect(bench.give(.storeStalled(six, true)) == [])
        #expect(bench.give(.storeStalled(six, false)) == [.announceStall(false)])
    }

    @Test("A node that attaches while the store stands still is told so")
    func announcesToLateNodes() throws {
        var bench = try Bench(.gathering)
        bench.give(.storeStalled(six, true))
        #expect(bench.give(.nodeAttached(try Situation.node("c"))) == [.announceStall(true), .serve(six)])
        #expect(bench.give(.nodeAttached(try Situation.node("d"))) == [.announceStall(true)])
    }

    @Test("A new owner waits for the nodes that were seen, 300 ms at most")
    func gathers() throws {
        var bench = try Bench(.gathering)
        #expect(bench.wait(299) == [])
        #expect(bench.wait(1) == [.serve(six)])
        #expect(bench.tenure.isServing)
    }

    @Test("The heir of a released row claims at once, and others only when it has not")
    func heir() throws {
        var released = try Situation.row("b", five, lease: .milliseconds(0))
        released.isReleased = true
        released.heir = try Situation.node("a")
        var bench = try Bench(.searching)
        #expect(bench.give(.rowRead(released)) == [.claim(after: five, above: five)])
        released.heir = try Situation.node("c")
        bench = try Bench(.searching)
        for _ in 0..<2 {
            #expect(bench.give(.rowRead(released)) == [])
            #expect(bench.wait(250) == [.readRow])
        }
        #expect(bench.give(.rowRead(released)) == [.claim(after: five, above: five)])
    }

    @Test("A node whose claim failed claims again after 2 s if its own id stands in the row")
    func claimInDoubt() throws {
        var bench = try Bench(.claiming)
        #expect(bench.give(.claimFailed) == [.readRow])
        for _ in 0..<7 {
            #expect(bench.give(try row("a", lease: 2_900, epoch: six)) == [])
            #expect(bench.wait(250) == [.readRow])
        }
        bench.give(try row("a", lease: 2_900, epoch: six))
        #expect(bench.wait(249) == [])
        #expect(bench.wait(1) == [.readRow])
        #expect(bench.give(try row("a", lease: 2_900, epoch: six)) == [.claim(after: six, above: six)])
    }

    @Test("An heir whose claim has failed leaves the claim to others for 2 s")
    func pausingHeir() throws {
        var bench = try Bench(.claiming)
        bench.give(.claimFailed)
        bench.give(try row(lease: 2_000))
        bench.give(.linkOpened(five))
        #expect(bench.give(.ownerReleased(heir: try Situation.node("a"))) == [.disconnect, .readRow])
        bench = try Bench(.claiming)
        bench.give(.claimFailed)
        bench.give(try row(lease: 2_000))
        bench.give(.linkOpened(five))
        bench.give(.linkLost(.closed))
        #expect(bench.give(.linkRefused) == [])
    }

    @Test("A node that has kept its link through a claim that failed goes on following, and reads the row again")
    func claimFailedWithLink() throws {
        var bench = try Bench(.claimingWithLink)
        #expect(bench.give(.claimFailed) == [])
        #expect(bench.tenure.state == .following(five))
        #expect(bench.wait(250) == [.readRow])
        #expect(bench.give(try row(lease: 0)) == [])
        bench.wait(1_750)
        #expect(bench.give(try row(lease: 0)) == [.claim(after: five, above: five)])
    }

    @Test("A node whose link ends during its claim searches when the claim has failed")
    func linkLostInClaim() throws {
        for input in [Tenure.Input.linkLost(.closed), .linkLost(.silent), .ownerReleased(heir: nil)] {
            var bench = try Bench(.claimingWithLink)
            bench.give(input)
            #expect(bench.give(.claimFailed) == [.readRow])
            #expect(bench.tenure.state == .searching)
        }
    }

    @Test("A node whose owner's store works again does not read the row when its claim has failed")
    func recoveredInClaim() throws {
        var bench = try Bench(.claimingWithLink)
        #expect(bench.give(.ownerStalled(false)) == [])
        #expect(bench.give(.claimFailed) == [])
        #expect(bench.wait(10_000) == [])
    }

    @Test("A node that has lost a claim leaves the winner 250 ms before it reads the row")
    func claimLost() throws {
        for situation in [Situation.claiming, .claimingWithLink] {
            var bench = try Bench(situation)
            #expect(!bench.give(.claimLost).contains(.readRow))
            #expect(bench.wait(249) == [])
            #expect(bench.wait(1) == [.readRow])
        }
    }

    @Test("A claim that won after a newer ownership became known is released")
    func claimOvertaken() throws {
        var bench = try Bench(.claiming)
        bench.give(.heardOf(Situation.epoch9))
        #expect(bench.give(.claimed(six, others: [])) == [.release(six, heir: nil), .readRow])
        #expect(bench.tenure.state == .searching)
        #expect(bench.give(.released(six)) == [])
    }

    @Test("A node tells an owner that it connects to of a newer ownership, and does not follow it")
    func deposes() throws {
        var bench = try Bench(.connecting)
        bench.give(.heardOf(Situation.epoch9))
        #expect(bench.give(.linkOpened(five)) == [.depose(by: Situation.epoch9), .disconnect])
        #expect(bench.tenure.state == .searching)
    }

    @Test("A row that is older than an ownership that the node knows is not used")
    func oldRow() throws {
        var bench = try Bench(.searching)
        bench.give(.heardOf(Situation.epoch9))
        #expect(bench.give(try row(lease: 0)) == [])
        #expect(bench.tenure.state == .searching)
    }

    @Test("A row that was read before a newer ownership became known is not used; the next one is")
    func oldRead() throws {
        var bench = try Bench(.following)
        bench.give(.linkLost(.silent))
        bench.give(.heardOf(Situation.epoch9))
        bench.give(try row(lease: 0))
        #expect(bench.tenure.lossSeen == nil)
        #expect(bench.wait(250) == [.readRow])
        bench.give(try row(lease: 0))
        #expect(bench.tenure.lossSeen != nil)
    }

    @Test("A node whose database has lost claims leaves the owner 2 s, and then claims above all that it knows")
    func lostClaims() throws {
        for lower in [try Situation.row("b", five, lease: .milliseconds(0)), try Situation.released("b", five)] {
            var bench = try Bench(.following)
            bench.give(.linkLost(.silent))
            bench.give(.rowRead(try Situation.row("c", Situation.epoch9, lease: .seconds(2))))
            bench.give(.linkFailed)
            for _ in 0..<8 {
                #expect(bench.wait(250) == [.readRow])
                #expect(bench.give(.rowRead(lower)) == [])
            }
            #expect(bench.wait(250) == [.readRow])
            #expect(bench.give(.rowRead(lower)) == [.claim(after: five, above: Situation.epoch9)])
            let ten = OwnerEpoch(rawValue: 10)
            #expect(bench.give(.claimed(ten, others: [])) == [.gather(ten), .serve(ten)])
        }
    }

    @Test("An owner that repeats its lost claim in time stays the owner")
    func repeatedClaim() throws {
        var bench = try Bench(.following)
        bench.give(.linkLost(.silent))
        bench.give(try row("c", lease: 2_000, epoch: Situation.epoch9))
        bench.give(.linkFailed)
        for _ in 0..<7 {
            bench.wait(250)
            bench.give(try row(lease: 0))
        }
        bench.wait(250)
        #expect(
            bench.give(try row("c", lease: 2_000, epoch: Situation.epoch9))
                == [.connect(try Situation.node("c"), address: "c:1")]
        )
        bench.give(.linkFailed)
        bench.wait(250)
        bench.give(try row(lease: 0))
        #expect(bench.tenure.state == .searching)
    }

    @Test("A node with a sound link uses no lower row unless the owner's store stands still")
    func lostClaimsWithLink() throws {
        var bench = try Bench(.following)
        bench.give(.heardOf(Situation.epoch9))
        bench.give(try row("c", lease: 2_000, epoch: Situation.epoch9))
        bench.give(.linkOpened(Situation.epoch9))
        for _ in 0..<20 {
            #expect(bench.give(try row(lease: 0)) == [])
            #expect(bench.wait(250) == [])
        }
        bench.give(.ownerStalled(true))
        for _ in 0..<8 {
            #expect(bench.give(try row(lease: 0)) == [])
            #expect(bench.wait(250) == [.readRow])
        }
        #expect(bench.give(try row(lease: 0)) == [.claim(after: five, above: Situation.epoch9)])
    }

    @Test("An owner does not read its own end from a lower row")
    func lostClaimsOfOwner() throws {
        for situation in [Situation.gathering, .owning, .releasing] {
            var bench = try Bench(situation)
            let state = bench.tenure.state
            bench.give(try row(lease: 0))
            #expect(bench.tenure.state == state)
        }
    }

    @Test("An attempt to connect ends after a second, and the next read of the row makes another")
    func attempt() throws {
        var bench = try Bench(.connecting)
        bench.give(.rowUnreadable)
        var effects: [Tenure.Effect] = []
        for _ in 0..<4 {
            effects += bench.wait(250)
            bench.give(try row(lease: 500))
        }
        #expect(effects.filter { $0 == .disconnect }.count == 1)
        bench.wait(250)
        #expect(bench.tenure.connecting != nil)
    }

    @Test("An owner that cannot release gives up after 5 s")
    func releaseEnds() throws {
        var bench = try Bench(.releasing)
        #expect(bench.wait(4_999) == [])
        #expect(bench.wait(1) == [.drop(six)])
        #expect(bench.tenure.state == .ended(.releaseOverdue))
        #expect(bench.tenure.deadline == nil)
    }

    @Test("A link is pinged every 500 ms, and is dead after 1.5 s without a byte")
    func linkWatch() {
        var now = Situation.start
        var watch = LinkWatch(at: now)
        #expect(watch.check(at: now) == nil)
        for number: UInt64 in 1...2 {
            now = watch.deadline
            #expect(now == Situation.start + .milliseconds(Int64(number) * 500))
            #expect(watch.check(at: now) == .ping(number))
        }
        watch.heard(at: now)
        #expect(watch.check(at: now + .milliseconds(1_499)) == .ping(3))
        #expect(watch.check(at: now + .milliseconds(1_500)) == .dead)
    }
}
