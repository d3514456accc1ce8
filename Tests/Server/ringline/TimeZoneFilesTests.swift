import CallCore
import Foundation
import Testing
import TimeZones

@testable import ringline

@Suite("The folder of time zones")
struct TimeZoneFilesTests {
    /// Runs a test with a new folder, which is removed afterwards.
    private func withFolder(_ body: (URL, TimeZoneFiles) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "zones-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder.appending(path: "Area/Region"),
            withIntermediateDirectories: true
        )
        defer {
            // A folder that stays behind among the temporary ones harms nobody.
            try? FileManager.default.removeItem(at: folder)
        }
        try body(folder, TimeZoneFiles(folder: folder.path()))
    }

    /// The file of a zone that is some hours east of UTC, at most 14.
    private func zone(_ hours: Int) throws -> Data {
        try Data(contentsOf: URL(filePath: "\(TimeZoneFiles.systemFolder)/Etc/GMT-\(hours)"))
    }

    private let epoch = Moment(milliseconds: 0)

    @Test(
        "Names of the tz database are valid",
        arguments: [
            "UTC", "Asia/Seoul", "America/Argentina/ComodRivadavia", "Etc/GMT+5", "Etc/GMT-14", "EST5EDT", "W-SU",
            "America/Port-au-Prince", "A", String(repeating: "A", count: 64),
        ]
    )
    func valid(_ name: String) { #expect(TimeZoneName.isValid(name)) }

    @Test(
        "No other text is a valid name",
        arguments: [
            "", "/", "/etc/passwd", "Asia/", "Asia//Seoul", ".", "..", "../Asia/Seoul", "Asia/../Asia/Seoul",
            "Asia/.", "Asia/Seoul\0", "Asia/Seoul ", "Asia/Se\u{F6}ul", "Asia\\Seoul", "zone.tab", "localtime",
            "posixrules", "right/Asia/Seoul", "posix/Asia/Seoul", "_A", "+5", String(repeating: "A", count: 65),
        ]
    )
    func invalid(_ name: String) throws {
        #expect(!TimeZoneName.isValid(name))
        #expect(TimeZoneFiles().rules(named: name) == nil)
    }

    @Test("A zone's file is read once")
    func cache() throws {
        try withFolder { folder, files in
            let file = folder.appending(path: "Area/City")
            #expect(files.rules(named: "Area/City") == nil)
            try zone(1).write(to: file)
            #expect(files.rules(named: "Area/City")?.offset(at: epoch) == 3_600, "a missing file is looked up again")
            try zone(2).write(to: file)
            #expect(files.rules(named: "Area/City")?.offset(at: epoch) == 3_600)
        }
    }

    @Test("Only readable regular files of valid contents and size are zones")
    func refused() throws {
        try withFolder { folder, files in
            try Data("no zone".utf8).write(to: folder.appending(path: "Text"))
            try Data().write(to: folder.appending(path: "Empty"))
            let large = try zone(1) + Data(count: TimeZoneRules.maximumByteCount)
            try large.write(to: folder.appending(path: "Large"))
            #expect(mkfifo(folder.appending(path: "Pipe").path(), 0o600) == 0)
            for name in ["Text", "Empty", "Large", "Pipe", "Area", "Area/Region", "Missing"] {
                #expect(files.rules(named: name) == nil, "\(name)")
            }
            try zone(1).write(to: folder.appending(path: "Area/Region/City"))
            try FileManager.default.createSymbolicLink(
                atPath: folder.appending(path: "Link").path(),
                withDestinationPath: "Area/Region/City"
            )
            #expect(files.rules(named: "Area/Region/City") != nil)
            #expect(files.rules(named: "Link") != nil, "the system's files are links to each other")
        }
    }

    @Test("With more zones than are kept, every zone is still found")
    func bounded() throws {
        try withFolder { folder, files in
            let count = TimeZoneFiles.maximumCount + 30
            for number in 0..<count {
                try zone(number % 14).write(to: folder.appending(path: "Zone\(number)"))
            }
            for _ in 1...2 {
                for number in 0..<count {
                    #expect(files.rules(named: "Zone\(number)")?.offset(at: epoch) == number % 14 * 3_600)
                }
            }
            // What is kept is found without its file, and is not more than allowed.
            for number in 0..<count { try FileManager.default.removeItem(at: folder.appending(path: "Zone\(number)")) }
            #expect((0..<count).filter { files.rules(named: "Zone\($0)") != nil }.count == TimeZoneFiles.maximumCount)
        }
    }

    @Test("All files of the system's folder are read, if it has one")
    func system() throws {
        let files = TimeZoneFiles()
        let folder = TimeZoneFiles.systemFolder
        let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        for name in names where TimeZoneName.isValid(name) {
            let head = FileManager.default.contents(atPath: "\(folder)/\(name)")?.prefix(4)
            if head == Data("TZif".utf8) { #expect(files.rules(named: name) != nil, "\(name)") }
        }
    }
}
