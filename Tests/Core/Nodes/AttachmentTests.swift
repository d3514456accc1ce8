import CallCore
import CallPorts
import CallWire
import Testing

@testable import Nodes

/// The library of the tests has a type of this name, too.
typealias Attachment = Nodes.Attachment

/// An attachment with a clock, whose sockets are numbered.
struct AttachmentBench {
    var now = Moment(milliseconds: 1_000_000)
    var attachment: Attachment
    let principal: Principal

    init(attached: Bool = true) throws {
        principal = try #require(FrameSamples.principals.first)
        attachment = Attachment(at: now)
        if attached { give(.attached(Self.epoch(5))) }
    }

    static func epoch(_ number: UInt64) -> OwnerEpoch { OwnerEpoch(rawValue: number) }
    static func socket(_ number: UInt64) -> SocketID { SocketID(rawValue: number) }

    @discardableResult
    mutating func give(_ input: Attachment.Input) -> [Attachment.Effect] {
        var effects: [Attachment.Effect] = []
        attachment.handle(input, at: now, into: &effects)
        return effects
    }

    /// Opens a socket, which the owner of epoch 5 confirms.
    mutating func open(_ number: UInt64, by user: String? = nil) {
        var principal = principal
        if let user = user.flatMap(UserID.init) { principal.user = user }
        let effects = give(.event(.opened(Self.socket(number), principal, device: principal.device)))
        for case .pass(let event, _) in effects { give(.confirmed(Self.epoch(5), upTo: event)) }
    }

    @discardableResult
    mutating func receive(_ text: String, on number: UInt64) -> [Attachment.Effect] {
        give(.event(.received(Self.socket(number), Array(text.utf8))))
    }

    mutating func command(_ command: SocketCommand, of epoch: UInt64 = 5) -> [Attachment.Effect] {
        give(.command(Self.epoch(epoch), command))
    }

    mutating func wait(_ milliseconds: Int64) -> [Attachment.Effect] {
        let end = now + .milliseconds(milliseconds)
        var effects: [Attachment.Effect] = []
        while let deadline = attachment.deadline, deadline <= end {
            now = max(now, deadline)
            effects += give(.deadlineReached)
        }
        now = end
        return effects
    }

    func adopted(_ number: UInt64, openFor: Int64 = 0, seen: [LogMark] = []) -> Attachment.Effect {
        .adopt(
            AdoptedSocket(
                Self.socket(number),
                principal,
                device: principal.device,
                openFor: .milliseconds(openFor),
                seen: seen
            )
        )
    }

    static func closing(_ number: UInt64) -> Attachment.Effect { .carryOut(Attachment.closing(socket(number))) }
}

@Suite("The tie of an edge to its owner")
struct AttachmentTests {
    private typealias Bench = AttachmentBench

    @Test("Events have numbers that count up by one")
    func numbers() throws {
        var bench = try Bench()
        let socket = Bench.socket(1)
        #expect(
            bench.give(.event(.opened(socket, bench.principal, device: nil)))
                == [.pass(1, .opened(socket, bench.principal, device: nil))]
        )
        #expect(bench.receive("a", on: 1) == [.pass(2, .received(socket, [97]))])
        #expect(bench.give(.event(.ponged(socket, 7))) == [.pass(3, .ponged(socket, 7))])
        #expect(bench.attachment.unconfirmedCount == 3)
        #expect(bench.give(.confirmed(Bench.epoch(5), upTo: 2)) == [])
        #expect(bench.attachment.unconfirmedCount == 1)
    }

    @Test("A socket to which no owner has sent a message is not welcome, whichever owner follows")
    func welcomes() throws {
        var bench = try Bench()
        for number: UInt64 in 1...2 { bench.open(number) }
        _ = bench.command(.send(Frame([]), Bench.socket(2), marks: []))
        #expect(bench.attachment.socketsToDrain.map(\.isWelcome) == [false, true])
        bench.give(.detached)
        bench.give(.attached(Bench.epoch(6)))
        #expect(bench.attachment.socketsToDrain.map(\.isWelcome) == [false, true])
    }

    @Test("A new owner adopts a socket of which everything is confirmed, with how far it was written each call")
    func adopts() throws {
        var bench = try Bench()
        bench.open(1)
        let call = CallNumber(rawValue: 4)
        for seq: UInt64 in [3, 7, 5] {
            let send = SocketCommand.send(Frame([]), Bench.socket(1), marks: [LogMark(call, seq: seq)])
            #expect(bench.command(send) == [.carryOut(send)])
        }
        #expect(bench.give(.detached) == [])
        bench.now = bench.now + .milliseconds(900)
        #expect(
            bench.give(.attached(Bench.epoch(6)))
                == [bench.adopted(1, openFor: 900, seen: [LogMark(call, seq: 5)]), .adoptionComplete]
        )
        #expect(bench.attachment.socketCount == 1)
    }

    @Test("A socket with a message that was not confirmed is closed with 1001")
    func closesUnconfirmed() throws {
        var bench = try Bench()
        bench.open(1)
        bench.open(2)
        bench.receive("a", on: 1)
        bench.receive("b", on: 2)
        bench.give(.confirmed(Bench.epoch(5), upTo: 3))
        #expect(bench.give(.detached) == [Bench.closing(2)])
        #expect(bench.give(.event(.closed(Bench.socket(2), code: 1001))) == [], "no owner needs to know")
        #expect(bench.give(.attached(Bench.epoch(6))) == [bench.adopted(1), .adoptionComplete])
    }

    @Test("A socket whose opening was not confirmed is closed: nobody knows whether it was welcomed")
    func closesUnwelcomed() throws {
        var bench = try Bench()
        bench.give(.event(.opened(Bench.socket(1), bench.principal, device: nil)))
        #expect(bench.give(.detached) == [Bench.closing(1)])
    }

    @Test("Pongs and signs of life need no confirmation")
    func pongs() throws {
        var bench = try Bench()
        bench.open(1)
        bench.give(.event(.ponged(Bench.socket(1), 1)))
        bench.give(.event(.signOfLife(Bench.socket(1))))
        #expect(bench.give(.detached) == [])
    }

    @Test("A confirmation of an earlier owner confirms nothing")
    func lateConfirmation() throws {
        var bench = try Bench()
        bench.open(1)
        bench.give(.attached(Bench.epoch(6)))
        bench.receive("a", on: 1)
        #expect(bench.give(.confirmed(Bench.epoch(5), upTo: 2)) == [])
        #expect(bench.give(.detached) == [Bench.closing(1)])
    }

    @Test("A confirmation that comes late over a lost link to the same owner confirms nothing new")
    func confirmationOfLostLink() throws {
        var bench = try Bench()
        bench.open(1)
        bench.give(.event(.ponged(Bench.socket(1), 1)))
        bench.give(.attached(Bench.epoch(5)))
        bench.receive("a", on: 1)
        bench.give(.confirmed(Bench.epoch(5), upTo: 2))
        #expect(bench.give(.detached) == [Bench.closing(1)])
    }

    @Test("A socket with a room or a watch is closed, unless it has left them")
    func closesBound() throws {
        var bench = try Bench()
        for number: UInt64 in 1...3 { bench.open(number) }
        #expect(bench.command(.bind(Bench.socket(1), true)) == [])
        #expect(bench.command(.bind(Bench.socket(2), true)) == [])
        #expect(bench.command(.bind(Bench.socket(2), false)) == [])
        #expect(bench.give(.detached) == [Bench.closing(1)])
        #expect(
            bench.give(.attached(Bench.epoch(6))) == [bench.adopted(2), bench.adopted(3), .adoptionComplete]
        )
    }

    @Test("A socket is closed at every moment between its message and the end of what the message made")
    func bindsBeforeConfirmation() throws {
        // The link of the owner ends after each of its frames.
        for frames in 0...2 {
            var bench = try Bench()
            bench.open(1)
            bench.receive("join", on: 1)
            if frames > 0 { #expect(bench.command(.bind(Bench.socket(1), true)) == []) }
            if frames > 1 { bench.give(.confirmed(Bench.epoch(5), upTo: 2)) }
            #expect(bench.give(.detached) == [Bench.closing(1)])
        }
        for frames in 0...2 {
            var bench = try Bench()
            bench.open(1)
            _ = bench.command(.bind(Bench.socket(1), true))
            bench.receive("leave", on: 1)
            if frames > 0 { #expect(bench.command(.bind(Bench.socket(1), false)) == []) }
            if frames > 1 { bench.give(.confirmed(Bench.epoch(5), upTo: 2)) }
            #expect(bench.give(.detached) == (frames > 1 ? [] : [Bench.closing(1)]))
        }
    }

    @Test("A node that becomes the owner brings its sockets to itself as to another node")
    func becomesOwner() throws {
        var bench = try Bench()
        for number: UInt64 in 1...3 { bench.open(number) }
        bench.receive("a", on: 2)
        #expect(bench.give(.detached) == [Bench.closing(2)])
        bench.receive("b", on: 3)
        #expect(
            bench.give(.attached(Bench.epoch(6))) == [
                bench.adopted(1), bench.adopted(3), .adoptionComplete, .pass(5, .received(Bench.socket(3), [98])),
            ]
        )
    }

    @Test("A socket of Socket.IO is always closed")
    func closesSocketIO() throws {
        var bench = try Bench()
        bench.give(.event(.openedSocketIO(Bench.socket(1), RequestHead(path: "/socket.io/"))))
        bench.give(.confirmed(Bench.epoch(5), upTo: 1))
        _ = bench.command(.bind(Bench.socket(1), false))
        #expect(bench.give(.detached) == [Bench.closing(1)])
    }

    @Test("Requests that the lost owner had get 503 with Retry-After, and a late response goes nowhere")
    func requests() throws {
        var bench = try Bench()
        let exchange = RequestID(rawValue: 1)
        let other = RequestID(rawValue: 2)
        for id in [exchange, other] { bench.give(.event(.requested(id, RequestHead(path: "/"), body: []))) }
        let response = SocketCommand.respond(other, Response(status: 200))
        #expect(bench.command(response) == [.carryOut(response)])
        #expect(bench.give(.detached) == [.refuse(exchange)])
        #expect(bench.command(.respond(exchange, Response(status: 200))) == [])
    }

    @Test("Events that come without an owner wait, and go to the next one behind the adopted sockets")
    func waits() throws {
        var bench = try Bench()
        bench.open(1)
        bench.give(.detached)
        let exchange = RequestID(rawValue: 1)
        #expect(bench.receive("a", on: 1) == [])
        #expect(bench.give(.event(.ponged(Bench.socket(1), 3))) == [], "the next owner pings anew")
        #expect(bench.give(.event(.opened(Bench.socket(2), bench.principal, device: nil))) == [])
        #expect(bench.receive("b", on: 2) == [])
        #expect(bench.give(.event(.requested(exchange, RequestHead(path: "/"), body: []))) == [])
        #expect(bench.attachment.bytesWaiting > 0)
        #expect(
            bench.give(.attached(Bench.epoch(6))) == [
                bench.adopted(1), .adoptionComplete, .pass(2, .received(Bench.socket(1), [97])),
                .pass(3, .opened(Bench.socket(2), bench.principal, device: nil)),
                .pass(4, .received(Bench.socket(2), [98])),
                .pass(5, .requested(exchange, RequestHead(path: "/"), body: [])),
            ]
        )
        #expect(bench.attachment.bytesWaiting == 0)
        // The new owner was passed the events that had waited, and has not confirmed them.
        #expect(
            bench.give(.detached) == [
                Bench.closing(1), Bench.closing(2), .refuse(exchange),
            ]
        )
    }

    @Test("A message that came before its socket was closed in the gap still reaches the next owner")
    func closedInGap() throws {
        var bench = try Bench()
        for number: UInt64 in 1...2 { bench.open(number) }
        bench.give(.detached)
        bench.receive("end", on: 1)
        for number: UInt64 in 1...2 { bench.give(.event(.closed(Bench.socket(number), code: 1000))) }
        #expect(bench.receive("late", on: 1) == [])
        #expect(
            bench.give(.attached(Bench.epoch(6))) == [
                bench.adopted(1), .adoptionComplete, .pass(3, .received(Bench.socket(1), Array("end".utf8))),
                .pass(4, .closed(Bench.socket(1), code: 1000)),
            ]
        )
        #expect(bench.attachment.socketCount == 0)
    }

    @Test("Above 8 MiB of waiting events the sockets are not read, until there is an owner")
    func holdsReading() throws {
        var bench = try Bench()
        for number: UInt64 in 1...9 { bench.open(number, by: "user-\(number)") }
        bench.give(.detached)
        let message = Array(repeating: UInt8(65), count: 1 << 20)
        for number: UInt64 in 1...7 { #expect(bench.give(.event(.received(Bench.socket(number), message))) == []) }
        #expect(bench.give(.event(.received(Bench.socket(8), message))) == [.rejectInput(true)])
        #expect(bench.give(.event(.received(Bench.socket(9), message))) == [])
        let effects = bench.give(.attached(Bench.epoch(6)))
        #expect(effects.last == .rejectInput(false))
        #expect(effects.count == 20)
    }

    @Test("Commands of an earlier owner are not carried out, and an earlier owner is not attached to")
    func olderEpoch() throws {
        var bench = try Bench()
        bench.open(1)
        bench.give(.attached(Bench.epoch(6)))
        let send = SocketCommand.send(Frame([]), Bench.socket(1), marks: [])
        #expect(bench.command(send, of: 5) == [])
        #expect(bench.command(send, of: 7) == [])
        #expect(bench.command(send, of: 6) == [.carryOut(send)])
        #expect(bench.give(.attached(Bench.epoch(5))) == [.endLink(.olderEpoch)])
        #expect(bench.attachment.epoch == Bench.epoch(6))
        bench.give(.detached)
        #expect(bench.command(send, of: 6) == [])
    }

    @Test("A confirmation of a number that no event has had ends the link")
    func confirmedUnsent() throws {
        var bench = try Bench()
        bench.open(1)
        #expect(bench.give(.confirmed(Bench.epoch(5), upTo: 2)) == [.endLink(.confirmedUnsent)])
    }

    @Test("A node without an owner is not ready after 2 s, and closes its sockets after 10 s")
    func ownerless() throws {
        var bench = try Bench()
        bench.open(1)
        bench.give(.detached)
        bench.receive("a", on: 1)
        let exchange = RequestID(rawValue: 1)
        bench.give(.event(.requested(exchange, RequestHead(path: "/"), body: [])))
        #expect(bench.wait(1_999) == [])
        #expect(bench.wait(1) == [.ready(false)])
        #expect(bench.wait(7_999) == [])
        #expect(bench.wait(1) == [Bench.closing(1), .refuse(exchange)])
        #expect(bench.attachment.deadline == nil)
        // A socket that opens later is closed as well.
        bench.give(.event(.opened(Bench.socket(2), bench.principal, device: nil)))
        #expect(bench.wait(10_000) == [Bench.closing(2)])
        #expect(bench.give(.attached(Bench.epoch(6))) == [.adoptionComplete, .ready(true)])
    }

    @Test("For each socket the newest 32 calls are remembered")
    func seenIsBounded() throws {
        var bench = try Bench()
        bench.open(1)
        for number in 1...40 {
            let mark = LogMark(CallNumber(rawValue: Int64(number)), seq: 1)
            _ = bench.command(
                .send(Frame([]), Bench.socket(1), marks: [LogMark(CallNumber(rawValue: 1), seq: 9), mark])
            )
        }
        bench.give(.detached)
        let effects = bench.give(.attached(Bench.epoch(6)))
        guard case .adopt(let adopted)? = effects.first else {
            Issue.record("no socket was adopted")
            return
        }
        #expect(adopted.seen.count == NodeLimits.seenCalls)
        #expect(adopted.seen.first == LogMark(CallNumber(rawValue: 1), seq: 9), "it was written to all the time")
        #expect(adopted.seen.last == LogMark(CallNumber(rawValue: 40), seq: 1))
    }
}
