import CallCore
import SeededRandom
import Testing
import TimeZones

@Suite("The reader of TZif files")
struct TZifReaderTests {
    private func offset(_ file: TZifFile, at second: Int64) throws -> Int {
        try TimeZoneRules(tzif: file.bytes).offset(at: Moment(milliseconds: second * 1_000))
    }

    @Test("The first type holds before the first transition, and the footer from the last one on")
    func order() throws {
        var file = TZifFile()
        file.types = [60, 120, 180]
        file.transitions = [(-5_000_000_000, 1), (0, 2), (5_000_000_000, 1)]
        file.footer = "\nAAA-1\n"
        let expected: [(Int64, Int)] = [
            (-5_000_000_001, 60), (-5_000_000_000, 120), (-1, 120), (0, 180), (4_999_999_999, 180),
            (5_000_000_000, 3_600), (9_000_000_000, 3_600),
        ]
        for (second, offset) in expected { #expect(try self.offset(file, at: second) == offset) }
        // Without a rule in the footer, the last type goes on.
        file.footer = "\n\n"
        #expect(try offset(file, at: 9_000_000_000) == 120)
    }

    @Test("A file of version 1 has 32-bit transitions and no footer")
    func versionOne() throws {
        var file = TZifFile()
        file.version = 0
        file.types = [60, 120]
        file.transitions = [(-1_000_000_000, 1), (1_000_000_000, 0)]
        #expect(try offset(file, at: -1_000_000_001) == 60)
        #expect(try offset(file, at: 999_999_999) == 120)
        #expect(try offset(file, at: 9_999_999_999) == 60)
    }

    @Test("The first block of a file of version 2 or later is skipped", arguments: ["2", "3", "4", "9"])
    func firstBlockIsSkipped(_ version: String) throws {
        var file = TZifFile()
        file.version = try #require(version.utf8.first)
        file.footer = "\n\n"
        #expect(try offset(file, at: 0) == 0)
    }

    @Test("Each kind of damage has its error")
    func errors() throws {
        func error(_ change: (inout TZifFile) -> Void) -> TZifError? {
            var file = TZifFile()
            change(&file)
            let bytes = file.bytes
            return #expect(throws: TZifError.self) { try TimeZoneRules(tzif: bytes) }
        }
        #expect(error { $0.magic = "TZiF" } == .noMagic)
        #expect(error { $0.version = UInt8(ascii: "1") } == .unknownVersion)
        #expect(error { $0.types = [] } == .badCount)
        #expect(error { $0.names = [] } == .badCount)
        #expect(error { $0.isUTCount = 2 } == .badCount)
        #expect(error { $0.leapCount = 1 } == .leapSeconds)
        #expect(error { $0.types = [.min] } == .badType)
        #expect(error { $0.types = [93_600] } == .badType)
        #expect(error { $0.types = [-90_000] } == .badType)
        #expect(error { $0.nameIndex = 4 } == .badType)
        #expect(error { $0.transitions = [(0, 1)] } == .badTransition)
        #expect(error { $0.transitions = [(0, 0), (0, 0)] } == .badTransition)
        #expect(error { $0.transitions = [(1, 0), (0, 0)] } == .badTransition)
        #expect(error { $0.transitions = [(.min, 0)] } == .badTransition)
        #expect(error { $0.transitions = [(.max, 0)] } == .badTransition)
        #expect(error { $0.footer = "" } == .truncated)
        #expect(error { $0.footer = "UTC0\n" } == .badFooter)
        #expect(error { $0.footer = "\nUTC0" } == .badFooter)
        let valid = TZifFile().bytes
        let large = valid + [UInt8](repeating: 0, count: TimeZoneRules.maximumByteCount + 1 - valid.count)
        #expect(throws: TZifError.tooLarge) { try TimeZoneRules(tzif: large) }
        #expect(throws: Never.self) { try TimeZoneRules(tzif: large.dropLast()) }
    }

    @Test("Every beginning of a file is refused", arguments: Fixture.zones)
    func truncated(_ zone: Fixture.Zone) {
        for count in 0..<zone.file.count {
            #expect(throws: TZifError.self) { try TimeZoneRules(tzif: Array(zone.file.prefix(count))) }
        }
    }

    @Test(
        "Damaged files cause no crash, and accepted ones give offsets and moments",
        arguments: 1...8 as ClosedRange<UInt64>
    )
    func damaged(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var accepted = 0
        for _ in 0..<1_500 {
            var bytes = Fixture.zones[generator.below(Fixture.zones.count)].file
            for _ in 0...generator.below(4) { damage(&bytes, &generator) }
            // Most files are refused; that the accepted ones can be used is what is tested.
            guard let rules = try? TimeZoneRules(tzif: bytes) else { continue }
            accepted += 1
            try use(rules, &generator)
        }
        #expect(accepted > 50)
    }

    @Test("Random bytes after a valid beginning cause no crash", arguments: 1...4 as ClosedRange<UInt64>)
    func random(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<3_000 {
            var bytes = [UInt8]("TZif".utf8) + [generator.below(3) == 0 ? 0 : UInt8(ascii: "2")]
            bytes += (0..<15).map { _ in 0 }
            // Small counts, of which some are within the file, and now and then a huge one.
            for _ in 0..<6 {
                bytes += generator.below(12) == 0 ? [0xFF, 0xFF, 0xFF, 0xFF] : [0, 0, 0, UInt8(generator.below(6))]
            }
            bytes += (0..<generator.below(300)).map { _ in generator.below(3) == 0 ? UInt8(generator.below(256)) : 0 }
            // Refusing is right, too.
            if let rules = try? TimeZoneRules(tzif: bytes) { try use(rules, &generator) }
        }
    }

    private func damage(_ bytes: inout [UInt8], _ generator: inout SeededGenerator) {
        guard !bytes.isEmpty else { return }
        // Most damage is in the second half, where offsets and footer are.
        let place =
            generator.below(2) == 0
            ? generator.below(bytes.count) : bytes.count - 1 - generator.below(bytes.count / 2 + 1)
        switch generator.below(5) {
        case 0: bytes[place] ^= 1 << UInt8(generator.below(8))
        case 1: bytes[place] = UInt8(generator.below(256))
        case 2: bytes.remove(at: place)
        case 3: bytes.insert(Array("0123456789MJ,./+-<>\n".utf8)[generator.below(20)], at: place)
        default: bytes.swapAt(place, generator.below(bytes.count))
        }
    }

    private func use(_ rules: TimeZoneRules, _ generator: inout SeededGenerator) throws {
        let limits = -89_999...93_599
        for moment in [.min, 0, .max, Int64(truncatingIfNeeded: generator.next())] {
            #expect(limits.contains(rules.offset(at: Moment(milliseconds: moment))))
        }
        let time = try #require(TimeOfDay(hour: generator.below(24), minute: generator.below(60)))
        for days in [-1_000_000, -30_000 + generator.below(80_000), 5_000_000] {
            let wanted = LocalTime(date: CivilDate(daysSince1970: days), time: time)
            let moment = rules.moment(of: wanted)
            #expect(rules.date(at: moment) >= wanted.date || rules.date(at: moment) == .last)
            let recurrence = Recurrence(.weekly(Set(Weekday.allCases)), at: time)
            let next = recurrence.next(after: moment, in: rules)
            #expect(next.map { $0 > moment } ?? (wanted.date > CivilDate.last.adding(days: -3)))
        }
    }
}
