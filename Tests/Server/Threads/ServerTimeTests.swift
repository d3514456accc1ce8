import Testing
import Threads

/// A boot clock and a wall clock that a test sets, and the server's time that follows them.
private struct Clocks {
    static let start: Int64 = 1_700_000_000_000
    var reading = ClockReading(boot: 5_000, wall: Self.start)
    var time = ServerTime(ClockReading(boot: 5_000, wall: Self.start))

    /// The milliseconds since the start, by the server's time.
    var elapsed: Int64 { time.now - Self.start }

    /// Advances both clocks, with a reading every 10 ms.
    mutating func pass(_ milliseconds: Int64) {
        var left = milliseconds
        while left > 0 {
            let step = min(10, left)
            reading.boot += step
            reading.wall += step
            look()
            left -= step
        }
    }

    /// Sets the wall clock forward or back, and takes a reading.
    mutating func set(by milliseconds: Int64) {
        reading.wall += milliseconds
        look()
    }

    mutating func look() { time.take(reading) }
}

@Suite("The server's time")
struct ServerTimeTests {
    private static let day: Int64 = 86_400_000

    @Test(
        "The time ignores a leap of the wall clock that is undone, and counts the leap",
        arguments: [(day, 1_500), (40 * day, 1_200), (-day, 1_500), (-400 * day, 1_200), (11_000, 59_000)]
            as [(
                Int64, Int64
            )]
    )
    func leapAndBack(_ leap: Int64, _ lasting: Int64) {
        var clocks = Clocks()
        clocks.pass(1_000)
        clocks.set(by: leap)
        #expect(clocks.elapsed == 1_000 && clocks.time.date == clocks.time.now)
        clocks.pass(lasting)
        #expect(clocks.elapsed == 1_000 + lasting && clocks.time.date == clocks.time.now)
        #expect(clocks.time.hasLeapt && clocks.time.difference == leap)
        clocks.set(by: -leap)
        clocks.pass(1_000)
        #expect(clocks.elapsed == 2_000 + lasting && clocks.time.date == clocks.time.now)
        #expect(!clocks.time.hasLeapt && clocks.time.leaps == 1)
        #expect(clocks.time.takeEvents() == [.leapt(milliseconds: leap), .agrees])
        #expect(clocks.time.takeEvents().isEmpty)
    }

    @Test("A minute after a leap `date` equals the wall clock, and `now` begins to be slewed towards it")
    func accepted() {
        for leap in [Self.day, -Self.day] {
            var clocks = Clocks()
            clocks.set(by: leap)
            clocks.pass(59_990)
            #expect(clocks.time.date == clocks.time.now)
            clocks.pass(20)
            #expect(clocks.time.date == clocks.reading.wall)
            #expect((clocks.elapsed - 60_010).magnitude < 10)
            #expect(clocks.time.takeEvents().first == .leapt(milliseconds: leap))
            clocks.pass(100_000)
            // The time runs a twentieth faster or slower until the clocks agree.
            let slewed = clocks.elapsed - 160_010
            #expect((4_990...5_010).contains(slewed * leap.signum()))
            #expect(clocks.time.date == clocks.reading.wall)
        }
    }

    @Test("The time is slewed until it agrees with a corrected wall clock, and the agreement is reported")
    func meets() {
        var clocks = Clocks()
        clocks.set(by: 40_000)
        clocks.pass(60_000 + 30_000 * 20 + 20)
        #expect(
            clocks.time.takeEvents() == [
                .leapt(milliseconds: 40_000), .accepted(milliseconds: 40_000), .agrees,
            ]
        )
        clocks.pass(10_000 * 20)
        #expect((clocks.time.now - clocks.reading.wall).magnitude <= 1 && clocks.time.difference.magnitude <= 1)
    }

    @Test("`date` does not jump while `now` is slewed to the wall clock", arguments: [40_000, -40_000] as [Int64])
    func dateIsEven(_ leap: Int64) {
        var clocks = Clocks()
        clocks.set(by: leap)
        clocks.pass(60_020)
        var worst: UInt64 = 0
        for _ in 0..<(40_000 * 20 / 100 + 100) {
            let before = clocks.time.date
            clocks.pass(100)
            worst = max(worst, (clocks.time.date - before - 100).magnitude)
        }
        #expect(worst <= 1)
        #expect(!clocks.time.hasLeapt && clocks.time.difference.magnitude <= 1)
        // From here on `date` is `now` again, which follows a small correction slowly.
        clocks.set(by: 5_000)
        #expect(clocks.time.date == clocks.time.now)
    }

    @Test("`date` ignores a second leap too, until the second leap is accepted")
    func dateIgnoresSecondLeap() {
        var clocks = Clocks()
        clocks.set(by: Self.day)
        clocks.pass(60_020)
        let wall = clocks.reading.wall
        clocks.set(by: Self.day)
        #expect(clocks.time.date == wall)
        clocks.pass(59_000)
        #expect(clocks.time.date == wall + 59_000)
        clocks.pass(1_020)
        #expect(clocks.time.date == clocks.reading.wall)
    }

    @Test("A wall clock that is set back to a time that was believed wrong must be steady for a minute, too")
    func dateIgnoresTheReturn() {
        var clocks = Clocks()
        clocks.set(by: -Self.day)
        clocks.pass(60_020)
        #expect(clocks.time.isSteady)
        clocks.set(by: Self.day)
        let date = clocks.time.date
        #expect(date < clocks.reading.wall - Self.day + 10_000 && !clocks.time.isSteady)
        clocks.pass(59_000)
        #expect(clocks.time.date == date + 59_000)
        clocks.pass(1_020)
        #expect((clocks.time.date - clocks.reading.wall).magnitude <= 1 && clocks.time.isSteady)
        #expect(clocks.time.takeEvents().last == .agrees)
    }

    @Test("A second leap that is undone changes nothing")
    func undoneSecondLeap() {
        var clocks = Clocks()
        clocks.set(by: Self.day)
        clocks.pass(60_020)
        clocks.set(by: 3_600_000)
        clocks.pass(1_000)
        #expect(!clocks.time.isSteady)
        clocks.set(by: -3_600_000)
        #expect(clocks.time.isSteady && clocks.time.date == clocks.reading.wall)
    }

    @Test("The time never goes back, and never runs more than a twentieth faster or slower")
    func monotonic() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<10 {
            var clocks = Clocks()
            var last = clocks.time.now
            let began = clocks.reading.boot
            var (isMonotonic, isEven) = (true, true)
            for _ in 0..<2_000 {
                let step = Int64.random(in: 0...60, using: &generator)
                clocks.reading.boot += step
                clocks.reading.wall += step
                if Bool.random(using: &generator) {
                    clocks.reading.wall += .random(in: -9_000...9_000, using: &generator)
                }
                let isLeap = Int.random(in: 0..<500, using: &generator) == 0
                if isLeap { clocks.reading.wall += .random(in: -Self.day...Self.day, using: &generator) }
                clocks.look()
                isMonotonic = isMonotonic && clocks.time.now >= last
                last = clocks.time.now
                let (passed, real) = (last - Clocks.start, clocks.reading.boot - began)
                isEven = isEven && (passed - real).magnitude <= real / 20 + 1
            }
            #expect(isMonotonic && isEven)
        }
    }

    @Test("The time goes on while the machine sleeps, so that a ring is over after the sleep")
    func sleep() {
        var clocks = Clocks()
        clocks.reading.boot += 3_600_000
        clocks.reading.wall += 3_600_000
        clocks.look()
        #expect(clocks.elapsed == 3_600_000 && clocks.time.leaps == 0)
    }

    @Test("The time follows a wall clock that NTP corrects by less than a leap")
    func corrected() {
        var clocks = Clocks()
        clocks.set(by: -900)
        #expect(clocks.elapsed == 0)
        clocks.pass(18_100)
        #expect((clocks.time.now - clocks.reading.wall).magnitude <= 1 && clocks.time.leaps == 0)
        #expect(clocks.time.takeEvents().isEmpty)
    }

    @Test("If the thread sleeps between the readings of the two clocks, the difference is not taken for a leap")
    func pausedBetween() {
        let readings = Monitor<[ClockReading]>([
            ClockReading(boot: 0, wall: Clocks.start),
            // The wall clock was read 30 s after the boot clock.
            ClockReading(boot: 1_000, wall: Clocks.start + 31_000),
            ClockReading(boot: 31_000, wall: Clocks.start + 31_000),
        ])
        let clock = ServerClock {
            readings.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
        }
        #expect(clock.now() == Clocks.start + 31_000)
        #expect(clock.leaps == 0 && clock.takeEvents().isEmpty)
    }

    @Test("A wall clock that leaps to and fro leaves few events, and every leap is counted")
    func flapping() {
        var clocks = Clocks()
        for _ in 0..<1_000 {
            clocks.set(by: Self.day)
            clocks.set(by: -Self.day)
        }
        #expect(clocks.time.takeEvents().count <= 8 && clocks.time.leaps == 1_000)
    }
}
