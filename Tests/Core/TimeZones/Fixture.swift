import CallCore
import Foundation
import Testing
import TimeZones

/// The zones of `transitions.txt`, and what Python's `zoneinfo` says about them; see `make_fixture.py`.
enum Fixture {
    struct Zone: Sendable, CustomTestStringConvertible {
        let name: String
        let file: [UInt8]
        let rules: TimeZoneRules
        var offsets: [(second: Int64, offset: Int)] = []
        var locals: [(time: String, second: Int64)] = []

        var testDescription: String { name }
    }

    static let zones: [Zone] = {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "transitions.txt")
        var zones: [Zone] = []
        // A file that is missing or malformed gives fewer zones, and a test counts them.
        let text = (try? String(contentsOf: path, encoding: .utf8)) ?? ""
        for words in text.split(separator: "\n").map({ $0.split(separator: " ") }) where words.count == 3 {
            switch words[0] {
            case "zone":
                let file = Data(base64Encoded: String(words[2])).map(Array.init) ?? []
                // See above.
                guard let rules = try? TimeZoneRules(tzif: file) else { return [] }
                zones.append(Zone(name: String(words[1]), file: file, rules: rules))
            case "at":
                guard let second = Int64(words[1]), let offset = Int(words[2]) else { return [] }
                zones[zones.count - 1].offsets.append((second, offset))
            case "local":
                guard let second = Int64(words[2]) else { return [] }
                zones[zones.count - 1].locals.append((String(words[1]), second))
            default: break
            }
        }
        return zones
    }()

    /// The zone of this name, which the fixture must have.
    static func zone(_ name: String) throws -> Zone {
        guard let zone = zones.first(where: { $0.name == name }) else { throw Missing(name: name) }
        return zone
    }

    struct Missing: Error { let name: String }
}

/// A TZif file to be written, by default a valid one of version 2 without transitions.
struct TZifFile {
    var magic = "TZif"
    var version = UInt8(ascii: "2")
    /// Seconds since 1970, and the index of a type.
    var transitions: [(second: Int64, type: UInt8)] = []
    /// Seconds east of UTC.
    var types: [Int32] = [0]
    var footer = "\nUTC0\n"
    var leapCount: UInt32 = 0
    var isUTCount: UInt32 = 0
    var nameIndex: UInt8 = 0
    var names = Array("UTC\0".utf8)
    /// What the first block of a version 2 file says; no reader of this version looks at it.
    var firstBlockOffset: Int32 = 12_345

    var bytes: [UInt8] {
        guard version != 0 else { return header(times: transitions.count, types: types.count) + block(Int32.self) }
        let first = [UInt8](bigEndian: firstBlockOffset) + [0, 0] + Array("OLD\0".utf8)
        return header(times: 0, types: 1, names: 4, ofFirst: true) + first
            + header(times: transitions.count, types: types.count) + block(Int64.self) + Array(footer.utf8)
    }

    private func header(times: Int, types: Int, names: Int? = nil, ofFirst: Bool = false) -> [UInt8] {
        let counts = [
            ofFirst ? 0 : isUTCount, 0, ofFirst ? 0 : leapCount, UInt32(times), UInt32(types),
            UInt32(names ?? self.names.count),
        ]
        return Array(magic.utf8) + [version] + [UInt8](repeating: 0, count: 15)
            + counts.flatMap { [UInt8](bigEndian: $0) }
    }

    private func block<Time: FixedWidthInteger>(_: Time.Type) -> [UInt8] {
        let leaps = [UInt8](repeating: 0, count: Int(leapCount) * (Time.bitWidth / 8 + 4))
        return transitions.flatMap { [UInt8](bigEndian: Time($0.second)) } + transitions.map(\.type)
            + types.flatMap { [UInt8](bigEndian: $0) + [0, nameIndex] } + names + leaps
            + [UInt8](repeating: 0, count: Int(isUTCount))
    }
}

extension [UInt8] {
    fileprivate init(bigEndian number: some FixedWidthInteger) {
        let bits = number.bitWidth
        self = stride(from: bits - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}

/// Reads `2026-12-01T06:30`.
func local(_ text: String) throws -> LocalTime {
    guard let date = CivilDate(String(text.prefix(10))), let time = TimeOfDay(String(text.dropFirst(11))) else {
        throw Fixture.Missing(name: text)
    }
    return LocalTime(date: date, time: time)
}

extension Moment {
    /// The moment at which UTC clocks show this time, such as `2026-12-01T06:30`.
    static func utc(_ text: String) throws -> Moment {
        try TimeZoneRules(tzif: TZifFile().bytes).moment(of: local(text))
    }
}

extension TimeZoneRules {
    /// What local clocks show at a moment, to the minute.
    func local(at moment: Moment) -> LocalTime? {
        let shifted = Moment(milliseconds: moment.milliseconds + Int64(offset(at: moment)) * 1_000)
        let minutes = Int((Double(shifted.milliseconds) / 60_000).rounded(.down))
        let date = CivilDate(daysSince1970: Int((Double(minutes) / 1_440).rounded(.down)))
        let minute = minutes - date.daysSince1970 * 1_440
        return TimeOfDay(hour: minute / 60, minute: minute % 60).map { LocalTime(date: date, time: $0) }
    }
}
