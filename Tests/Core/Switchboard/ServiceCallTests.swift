import CallCore
import CallPorts
import CallWire
import JSON
import Testing

@testable import Switchboard

@Suite("Calls as a service reads them")
struct ServiceCallTests {
    private typealias Filter = Switchboard.CallFilter

    private func service() throws -> Principal {
        var service = try principal("backend")
        service.isService = true
        return service
    }

    /// Calls with these numbers, newest first; each began a second after the one before, and the even ones have ended.
    private func calls(_ numbers: ClosedRange<Int64>) throws -> [CallRecord] {
        try numbers.reversed().map { number in
            CallRecord(
                number: CallNumber(rawValue: number),
                id: try call("c-\(number)"),
                epoch: 1,
                room: "p2p:11-10",
                caller: try user("11"),
                callee: try user("10"),
                displayName: nil,
                hasVideo: false,
                startedAt: Moment(milliseconds: number * 1_000),
                ringUntil: Moment(milliseconds: number * 1_000 + 45_000),
                endedAt: number.isMultiple(of: 2) ? Moment(milliseconds: number * 1_000 + 500) : nil,
                reason: number.isMultiple(of: 4) ? .hangup : .cancelled
            )
        }
    }

    private func numbers(_ page: (calls: [CallRecord], next: CallNumber?)) -> ([Int64], Int64?) {
        (page.calls.map(\.number.rawValue), page.next?.rawValue)
    }

    @Test("The pages of a list, one after the other, have every call that fits once, and the last one has no next page")
    func pages() throws {
        let all = try calls(1...20)
        for count in [1, 2, 3, 7, 19, 20, 21] {
            for wanted in [Filter(), Filter(isLive: false), Filter(reason: .hangup)] {
                var found: [Int64] = []
                var filter = wanted
                filter.count = count
                for _ in 0...21 {
                    let before = filter.before
                    let rest = all.filter { call in before.map { call.number.rawValue < $0.rawValue } ?? true }
                    let (shown, next) = numbers(filter.page(among: Array(rest.prefix(filter.limit))))
                    #expect(shown.count <= count)
                    found += shown
                    filter.before = next.map { CallNumber(rawValue: $0) }
                    guard next != nil else { break }
                }
                let expected = all.filter { call in
                    (filter.isLive == nil || call.endedAt != nil) && (filter.reason == nil || call.reason == .hangup)
                }
                #expect(found == expected.map(\.number.rawValue), "pages of \(count)")
            }
        }
    }

    @Test("A page without a call that fits still leads to the next page")
    func emptyPage() throws {
        let read = try calls(1...Int64(Filter.readCount))
        let (shown, next) = numbers(Filter(reason: .busy).page(among: read))
        #expect(shown.isEmpty && next == 1)
    }

    @Test("A list since a moment ends at the first call that began before it")
    func since() throws {
        let filter = Filter(since: Moment(milliseconds: 5_000), count: 100)
        #expect(numbers(filter.page(among: try calls(1...8))).0 == [8, 7, 6, 5])
        #expect(numbers(filter.page(among: try calls(1...8))).1 == nil)
    }

    @Test("A call has the members of `call` in its events, with the same values, but for the moment of the ringing")
    func members() throws {
        let talk = try Talk.answered()
        let reply = try talk.world.reply(try service(), .calls(.record(try call("c-1"), of: nil, epoch: nil)))
        let object = try JSONObject(reply.body, names: MemberNames([]))
        let names = object.members.compactMap { object.name(of: $0) }
        #expect(
            names == [
                "callId", "epoch", "caller", "callee", "group", "hasVideo", "state", "startedAt", "answeredAt",
                "activeAt", "endedAt", "answeredBy", "reason", "data",
            ]
        )
        #expect(reply["state"] == "answered" && reply["caller"] == "11" && reply["callee"] == "10")
    }

    @Test("A user gets no list and no call, and a service no call that there is not")
    func refused() throws {
        let talk = try Talk.answered()
        let id = try call("c-1")
        for asked in [Switchboard.CallRequest.list(.init()), .record(id, of: nil, epoch: nil)] {
            #expect(try talk.world.reply(try principal("11"), .calls(asked)).status == 403)
        }
        for (of, epoch) in [("12", nil), (nil, 2)] as [(String?, UInt32?)] {
            let asked = Switchboard.CallRequest.record(id, of: try of.map { try user($0) }, epoch: epoch)
            #expect(try talk.world.reply(try service(), .calls(asked)).status == 404)
        }
    }

    @Test("The list has the calls of all users, or of one, newest first")
    func list() throws {
        let talk = try Talk.answered()
        for (of, count) in [(nil, 1), ("11", 1), ("10", 1), ("12", 0)] as [(String?, Int)] {
            let filter = Filter(user: try of.map { try user($0) })
            let reply = try talk.world.reply(try service(), .calls(.list(filter)))
            let body = String(decoding: reply.body, as: UTF8.self)
            #expect(body.split(separator: "\"callId\":\"c-1\"").count == count + 1, "\(body)")
            #expect(body.hasSuffix("],\"next\":null}"))
        }
    }
}
