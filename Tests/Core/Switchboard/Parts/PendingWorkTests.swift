import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("Work that waits for the store, for APNs, for a log entry or for a device")
struct PendingWorkTests {
    private let numbers = (1...3).map { CallNumber(rawValue: $0) }
    private var calls: [Awaited] { numbers.map(Awaited.call) }

    @Test("Work waits until all its calls are loaded; each call is loaded only once")
    func parking() throws {
        var queries = PendingQueries()
        let first = queries.park(.endNotices(SocketID(rawValue: 1)), until: [calls[0], calls[1]])
        let second = queries.park(.expiry(numbers[1]), until: [calls[1], calls[2]])
        #expect(first == [calls[0], calls[1]] && second == [calls[2]])
        #expect(queries.unpark(calls[1]).isEmpty)
        let ready = queries.unpark(calls[0])
        guard case .endNotices(SocketID(rawValue: 1))? = ready.first else {
            throw Missing("the first work is not ready")
        }
        #expect(queries.hasParked)
        #expect(queries.unpark(calls[2]).count == 1)
        #expect(queries.isIdle)
    }

    @Test("If a call cannot be loaded, the work that needs it fails; only end notices continue, without that call")
    func failing() throws {
        var queries = PendingQueries()
        _ = queries.park(.endNotices(SocketID(rawValue: 1)), until: [calls[0], calls[1]])
        _ = queries.park(.expiry(numbers[0]), until: [calls[0]])
        _ = queries.park(.expiry(numbers[2]), until: [calls[2]])
        let (failed, notices) = queries.cancel(calls[0])
        #expect(failed.count == 1 && notices == [SocketID(rawValue: 1)])
        #expect(queries.unpark(calls[1]).count == 1, "the notice of the other call")
    }

    @Test("An epoch that is being read is found by its callId and either user until its query is finished")
    func epochs() throws {
        var queries = PendingQueries()
        let key = CallKey(id: try call("c"), pair: Pair(try user("11"), try user("10")))
        #expect(queries.park(.expiry(numbers[0]), until: [.epoch(key)]) == [.epoch(key)])
        #expect(queries.park(.expiry(numbers[1]), until: [.epoch(key), calls[0]]) == [calls[0]])
        for one in ["10", "11"] { #expect(queries.epochs(try call("c"), of: try user(one)) == [.epoch(key)]) }
        #expect(queries.epochs(try call("c"), of: try user("12")).isEmpty && queries.readsEpochs)
        #expect(queries.unpark(.epoch(key)).count == 1)
        #expect(queries.epochs(try call("c"), of: try user("10")).isEmpty && !queries.readsEpochs)
    }

    @Test("A fetch whose client has gone is not carried out; other requests of such a client are")
    func abandonedFetch() throws {
        var queries = PendingQueries()
        let (fetch, end) = (RequestID(rawValue: 1), RequestID(rawValue: 2))
        _ = queries.park(.request(fetch, try principal("11"), .fetch(try call("c-1"), .init())), until: [calls[0]])
        _ = queries.park(.request(end, try principal("11"), .end(try call("c-1"), device: nil)), until: [calls[0]])
        queries.removeFetch(fetch)
        queries.removeFetch(end)
        #expect(queries.unpark(calls[0]).count == 1)
    }

    @Test("A result of the store is matched with its query once, and not a second time")
    func queries() throws {
        var queries = PendingQueries()
        let now = Moment(milliseconds: 5)
        let a = queries.register(for: .peers(try user("11")), in: .user, at: now)
        let b = queries.register(for: .load(numbers[0]), in: .call, at: now)
        #expect(a != b)
        let found = queries.finish(b)
        guard case .load(numbers[0])? = found?.purpose else { throw Missing("another question") }
        #expect(found?.lane == .call && found?.since == now)
        let again = queries.finish(b) == nil
        #expect(again)
    }

    @Test("The pushes to a device are found in the order in which they were sent, by user, token and purpose")
    func pushes() throws {
        var pushes = PushDispatcher()
        func add(_ user: String, _ token: String, call: CallNumber?, tellsMissed: Bool = false) throws -> PushID {
            let push = PendingPush(
                call: call,
                user: try SwitchboardTests.user(user),
                device: try device("b1"),
                route: .apns(
                    APNsRoute(token: token, topic: "a.voip", environment: .production, pushType: .voip)
                ),
                sentAt: Values.now,
                afterRinging: tellsMissed ? .missed : nil
            )
            let id = pushes.makeID()
            pushes.insert(push, as: id)
            return id
        }
        let ring = try add("10", "aa", call: numbers[0])
        let missed = try add("10", "bb", call: numbers[0], tellsMissed: true)
        let text = try add("10", "bb", call: nil)
        _ = try add("11", "aa", call: numbers[0])
        let (owner, target) = (try user("10"), try device("b1"))
        #expect(pushes.underWay(to: target, of: owner, token: nil, onlyNotices: false) == [ring, missed, text])
        #expect(pushes.underWay(to: target, of: owner, token: "aa", onlyNotices: false) == [ring])
        #expect(pushes.underWay(to: target, of: owner, token: nil, onlyNotices: true) == [missed, text])
        let removed = [pushes.remove(ring) != nil, pushes.remove(ring) != nil]
        #expect(removed == [true, false] && pushes.count == 3)
    }

    @Test("Polls are counted for each user of a call, and equal fetches in the same millisecond share a body")
    func polls() throws {
        var polls = LongPolls(at: Values.now)
        let call = try Values.call()
        for (number, user) in [(2, "11"), (1, "11"), (3, "10")] {
            let poll = LongPolls.PendingFetch(
                call: call.number,
                principal: try principal(user),
                device: try Values.identity("a1"),
                fetch: .init(),
                until: Values.now,
                iceServers: []
            )
            call.polls.append(RequestID(rawValue: UInt64(number)))
            polls.insert(poll, as: RequestID(rawValue: UInt64(number)))
        }
        #expect(polls.count(of: try user("11"), for: call) == 2)
        #expect(polls.ids.map(\.rawValue) == [1, 2, 3])
        let key = FetchKey(try #require(polls[RequestID(rawValue: 1)]), call, since: 0)
        #expect(polls.body(key, at: Values.now) == nil)
        polls.keep([1], for: key)
        #expect(polls.body(key, at: Values.now) == [1])
        #expect(polls.body(key, at: Values.now + .milliseconds(1)) == nil, "a later fetch may see another state")
    }

    @Test("A user's end notices keep their order, name each call once, and are removed with the call")
    func notices() throws {
        var notices = EndNotices()
        let user = try user("10")
        for number in [numbers[1], numbers[0], numbers[1]] { notices.insert(number, for: user) }
        #expect(notices[user] == [numbers[1], numbers[0]])
        notices.keep { $0 == numbers[0] }
        #expect(notices[user] == [numbers[0]])
        notices.remove(numbers[0], for: user)
        #expect(notices.isEmpty)
    }
}
