import Testing

@testable import Nodes

@Suite("Confirmations of a link's events, and its numbers")
struct EventConfirmationsTests {
    @Test("An event is confirmed only when everything that was changed until then is durable")
    func waits() {
        var confirmations = EventConfirmations()
        #expect(confirmations.confirm(after: 0, durable: 0) == nil)
        confirmations.handled = 3
        #expect(confirmations.confirm(after: 1, durable: 0) == nil)
        confirmations.handled = 5
        #expect(confirmations.confirm(after: 2, durable: 0) == nil)
        #expect(confirmations.confirm(after: 2, durable: 1) == 3)
        #expect(confirmations.confirm(after: 2, durable: 1) == nil)
        #expect(confirmations.confirm(after: 2, durable: 2) == 5)
        #expect(confirmations.confirm(after: 9, durable: 2) == nil)
    }

    @Test("An event that has changed nothing is confirmed at once")
    func unchanged() {
        var confirmations = EventConfirmations()
        confirmations.handled = 1
        #expect(confirmations.confirm(after: 4, durable: 4) == 1)
    }

    @Test("Events that wait for the same commit are confirmed together")
    func together() {
        var confirmations = EventConfirmations()
        for number in 1...4 as ClosedRange<UInt64> {
            confirmations.handled = number
            #expect(confirmations.confirm(after: 7, durable: 6) == nil)
        }
        #expect(confirmations.confirm(after: 7, durable: 7) == 4)
    }

    @Test("A number has the link in bits of its own")
    func numbers() {
        let number: UInt64 = 1 << 31 | 0x12_3456
        for link in LinkNumber.range {
            let there = LinkNumber.number(number, on: link)
            #expect(LinkNumber.link(of: there) == link)
            #expect(LinkNumber.edgeNumber(there) == number)
            #expect(LinkNumber.isElsewhere(there))
        }
        #expect(LinkNumber.link(of: number) == 0)
        #expect(!LinkNumber.isElsewhere(number))
        #expect(LinkNumber.isElsewhere(number | 1 << 24))
    }
}
