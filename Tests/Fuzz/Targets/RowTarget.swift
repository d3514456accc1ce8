import CallCore
import CallPorts
import Foundation
import SQLite
import SQLiteStore

/// Invalid values in the database, which no version of the server writes.
///
/// Eleven bytes of an input set one value: a byte for the column, a byte for the kind of value, eight bytes for the
/// value, and a byte without effect. Then the folder is opened, a call is made, and an hour passes.
final class RowTarget: FuzzTarget {
    private let folder: URL
    private let template: Data
    private var columns: [(table: String, name: String)] = []

    init() throws {
        let memory = URL(fileURLWithPath: "/dev/shm", isDirectory: true)
        let files = FileManager.default
        let parent = files.isWritableFile(atPath: memory.path) ? memory : files.temporaryDirectory
        folder = parent.appendingPathComponent("ringline-rows-\(ProcessInfo.processInfo.processIdentifier)")
        try Self.furnish(folder)
        template = try Data(contentsOf: folder.appendingPathComponent("ringline.sqlite"))
        let connection = try Connection(.file(path: folder.appendingPathComponent("ringline.sqlite").path, .readOnly))
        let statement = try connection.statement(
            SQL(
                "columns",
                "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table'"
            )
        )
        while try statement.step() { columns.append((statement.text(0), statement.text(1))) }
        expect(columns.count > 40, "the schema's columns are there")
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func take(_ bytes: [UInt8]) throws {
        try? FileManager.default.removeItem(at: folder)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appendingPathComponent("ringline.sqlite")
        try template.write(to: file)
        try damage(file.path, bytes)
        let store = SQLiteCallStore(folder: folder.path) { _ in }
        defer { store.close() }
        // A database that cannot be read at all is refused with an explanation.
        guard let stored = try? store.open(at: FuzzSwitchboard.start) else { return }
        let desk = try FuzzSwitchboard(damaged: stored)
        let before = desk.said
        desk.take(Array(Self.offer.utf8), from: 0, asRequest: false, after: 1)
        expect(desk.said > before, "a caller is answered, whatever is in the database")
        desk.close()
    }

    private func damage(_ path: String, _ bytes: [UInt8]) throws {
        let connection = try Connection(.file(path: path, .readWrite))
        for start in stride(from: 0, to: bytes.count - 10, by: 11).prefix(16) {
            let column = columns[Int(bytes[start]) % columns.count]
            let number = bytes[(start + 2)..<(start + 10)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let value =
                switch bytes[start + 1] % 6 {
                case 0: "NULL"
                case 1: "\(Int64(bitPattern: number))"
                case 2: "\(Int64.max - Int64(number & 7))"
                case 3: "\(Int64(number & 7) &+ Int64.min + 1)"
                case 4: "CAST(x'\(String(format: "%016x", number))' AS TEXT)"
                default: "x'\(String(format: "%016x", number))'"
                }
            // A value that the schema does not accept cannot be in a database.
            try? connection.execute(SQL("damage", "UPDATE \"\(column.table)\" SET \"\(column.name)\" = \(value)"))
        }
    }

    private static let offer = #"{"type":"offer","id":"1","callId":"fresh","to":"12","sdp":"v=0\r\n"}"#

    /// Fills a folder with a ringing call, an ended call, a device, a block and do-not-disturb.
    ///
    /// The ringing call stays live, as after a kill, but the store is closed cleanly.
    private static func furnish(_ folder: URL) throws {
        try? FileManager.default.removeItem(at: folder)
        let store = SQLiteCallStore(folder: folder.path) { _ in }
        _ = try store.open(at: FuzzSwitchboard.start)
        let desk = try FuzzSwitchboard()
        for frame in [
            #"{"type":"offer","id":"1","callId":"ended","to":"11","sdp":"v=0\r\n"}"#,
            #"{"type":"end","id":"2","callId":"ended"}"#,
            #"{"type":"offer","id":"3","callId":"rings","to":"11","sdp":"v=0\r\n"}"#,
            #"{"type":"ice","id":"4","callId":"rings","candidate":{"candidate":"candidate:1"}}"#,
        ] {
            desk.take(Array(frame.utf8), from: 0, asRequest: false, after: 10)
        }
        desk.setUp()
        for (number, changes) in desk.commits.enumerated() {
            store.commit(changes, as: Ticket(rawValue: UInt64(number) + 1))
        }
        store.close()
    }
}
