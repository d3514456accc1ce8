import Foundation
import LibWebSockets
import Testing

@Suite("The gzip format")
struct GzipTests {
    /// Returns what another program reads from bytes in the gzip format.
    private func read(_ bytes: [UInt8]) throws -> [UInt8] {
        let file = FileManager.default.temporaryDirectory.appending(path: "ringline-\(UUID().uuidString).gz")
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/bin/gzip")
        process.arguments = ["-dc", file.path]
        process.standardOutput = output
        try process.run()
        let read = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return Array(read)
    }

    @Test("What was compressed is read back by gzip", arguments: [0, 1, 1_000, 300_000], [Int32(1), 6, 9])
    func roundTrip(_ count: Int, _ level: Int32) throws {
        let lines = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) }
        let compressed = try #require(Gzip.compress(lines, level: level))
        #expect(try read(compressed) == lines)
    }

    @Test("Lines of numbers and names become smaller by half")
    func ratio() throws {
        let lines = (0..<10_000).map { "+8210\(10_000_000 + $0 * 37)\tName \($0)\n" }.joined()
        #expect(try #require(Gzip.compress(Array(lines.utf8))).count < lines.utf8.count / 2)
    }
}
