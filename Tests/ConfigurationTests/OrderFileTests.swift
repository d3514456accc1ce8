import CallCore
import FoundationEssentials
import Switchboard
import Testing

@testable import ringline

@Suite("An operator's order in the data folder")
struct OrderFileTests {
    private func order(_ user: String, _ milliseconds: Int64 = 1_700_000_000_123) throws -> Switchboard.OperatorOrder {
        .revoke(try #require(UserID(user)), before: Moment(milliseconds: milliseconds))
    }

    @Test(
        "The name of an order's file contains the whole order",
        arguments: ["10", "a-b", "x@y.z:+_-", "..", String(repeating: "a", count: 128)]
    )
    func names(_ user: String) throws {
        let file = OrderFile(try order(user))
        #expect(file.name.utf8.count < 255 && !file.name.contains("/"))
        #expect(OrderFile(name: file.name) == file)
    }

    @Test(
        "The name of any other file is not read as an order",
        arguments: [
            ".", "..", "ringline.sqlite", "server-key", "revoke-", "revoke-1", "revoke-1-", "revoke-x-10",
            "revoke-1-a b",
        ]
    )
    func others(_ name: String) { #expect(OrderFile(name: name) == nil) }

    @Test("An order is carried out once, and its file is removed when the order is durable")
    func once() throws {
        let folder =
            FileManager.default.temporaryDirectory.path + "/ringline-orders-\(UInt64.random(in: 0...UInt64.max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = OrderFile(try order("10"))
        try file.write(to: folder)
        let desk = OrderFolder(folder: folder)
        var taken: [Switchboard.OperatorOrder] = []
        var finish: (@Sendable () -> Void)?
        for _ in 0..<3 {
            desk.scan { order, done in
                taken.append(order)
                finish = done
            }
        }
        #expect(taken == [file.order])
        #expect(file.isThere(in: folder), "it is not durable yet")
        finish?()
        #expect(!file.isThere(in: folder))
        try file.write(to: folder)
        desk.scan { order, _ in taken.append(order) }
        #expect(taken.count == 2, "a second file with the same order is a new order")
    }
}
