import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("The bounds on undecided offers, and the breaker")
struct DecisionBoundTests {
    private func offer(_ world: SwitchboardWorld, from user: String, _ number: Int) throws -> SocketID {
        let socket = try world.open(user, "a-\(user)")
        _ = world.takeFrames(of: socket)
        world.send(socket, SwitchboardWorld.offer("c-\(user)-\(number)", to: "10", id: "o\(number)"))
        return socket
    }

    private func fail(_ world: SwitchboardWorld) {
        world.give(.decided(world.questions[world.questions.count - 1].id, .unreachable("no route")))
    }

    @Test("A caller has at most four undecided offers; a withdrawn one counts until it has its result")
    func perCaller() throws {
        let rig = try DecisionRig()
        for number in 1...4 { try rig.offer("c-\(number)", id: "o\(number)") }
        rig.world.send(rig.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        rig.clear()
        rig.world.send(rig.caller, SwitchboardWorld.offer("c-5", to: "10", id: "o5"))
        #expect(rig.world.takeFrames(of: rig.caller).first?["code"] == "rate_limited")
        #expect(rig.world.questions.count == 4)
        rig.respond(rig.world.questions[0], #"{"allow":true}"#)
        try rig.offer("c-6", id: "o6")
    }

    @Test("All callers have at most 256 undecided offers; the next ones are allowed or refused unasked, and not stored")
    func inAll() throws {
        for failure in DecisionPolicy.Failure.allCases {
            let rig = try DecisionRig(failure) { policy in
                policy.ringsPerCallee = 0
                policy.callersPerCallee = 1_000
            }
            for number in 0..<64 { for call in 1...4 { _ = try offer(rig.world, from: "u\(number)", call) } }
            #expect(rig.world.questions.count == CallDecisions.openInAll)
            let last = try offer(rig.world, from: "late", 1)
            #expect(rig.world.questions.count == CallDecisions.openInAll)
            let told = try #require(rig.world.takeFrames(of: last).last)
            switch failure {
            case .allow: #expect(told["type"] == "ack")
            case .refuse:
                #expect(told["code"] == "decision_unavailable" && told["retryAfter"] == "1")
                #expect(rig.world.record("c-late-1") == nil, "a flood of offers is no flood of rows")
            }
            #expect(rig.world.switchboard.metrics.decisions.outcomes[.overloaded] == 1)
        }
    }

    @Test("After failures of five callers nobody is asked for ten seconds; then one question finds out")
    func breaker() throws {
        let rig = try DecisionRig(.allow) { $0.ringsPerCallee = 0 }
        for number in 0..<20 {
            _ = try offer(rig.world, from: "u\(number % 5)", number)
            fail(rig.world)
        }
        #expect(rig.world.notes.contains(.decisionsFail) && rig.world.switchboard.metrics.decisions.isBreakerOpen)
        let caller = try offer(rig.world, from: "v", 1)
        #expect(rig.world.questions.count == 20 && rig.world.takeFrames(of: caller).ack != nil)
        rig.world.wait(10)
        _ = try offer(rig.world, from: "v", 2)
        _ = try offer(rig.world, from: "w", 2)
        #expect(rig.world.questions.count == 21, "one question at a time")
        fail(rig.world)
        _ = try offer(rig.world, from: "w", 3)
        #expect(rig.world.questions.count == 21)
        rig.world.wait(10)
        _ = try offer(rig.world, from: "x", 4)
        rig.respond(rig.world.questions[21], #"{"allow":false}"#)
        #expect(rig.world.notes.contains(.decisionsSucceed) && !rig.world.switchboard.metrics.decisions.isBreakerOpen)
        _ = try offer(rig.world, from: "y", 5)
        #expect(rig.world.questions.count == 23)
    }

    @Test("Offers that wait for their decisions are within the limits of rings when they ring, too")
    func ringLimits() throws {
        let rig = try DecisionRig { $0.ringsPerPair = 2 }
        let questions = try (1...4).map { try rig.offer("c-\($0)", id: "o\($0)") }
        for question in questions { rig.respond(question, #"{"allow":true}"#) }
        #expect(rig.world.takeFrames(of: rig.callee).types.filter { $0 == "offer" }.count == 2)
    }

    @Test("A malformed response to the question that finds out shows that the backend responds")
    func malformedProbe() throws {
        let rig = try DecisionRig { $0.ringsPerCallee = 0 }
        for number in 0..<20 {
            _ = try offer(rig.world, from: "u\(number % 5)", number)
            fail(rig.world)
        }
        rig.world.wait(10)
        _ = try offer(rig.world, from: "v", 1)
        rig.respond(rig.world.questions[20], "{}")
        _ = try offer(rig.world, from: "w", 1)
        #expect(rig.world.questions.count == 22)
    }

    @Test("Four accounts cannot switch the decision off, however often their questions fail")
    func fewCallers() throws {
        let rig = try DecisionRig(.allow) { $0.ringsPerCallee = 0 }
        for number in 0..<80 {
            _ = try offer(rig.world, from: "u\(number % 4)", number)
            fail(rig.world)
        }
        #expect(!rig.world.notes.contains(.decisionsFail))
        #expect(rig.world.questions.count == 80)
    }

    @Test("A response in between begins the count of failures again, and a malformed one leaves it alone")
    func notInARow() {
        var breaker = DecisionBreaker()
        let now = SwitchboardWorld.start
        func fail(_ number: Int) -> DecisionBreaker.Change? {
            let id = DecisionID(rawValue: UInt64(number))
            guard let caller = UserID("u\(number % 7)") else { return nil }
            return breaker.failed(id, of: caller, at: now)
        }
        for number in 0..<19 { #expect(fail(number) == nil) }
        #expect(breaker.succeeded() == nil)
        for number in 0..<19 { #expect(fail(number) == nil) }
        #expect(breaker.responded(to: DecisionID(rawValue: 99)) == nil)
        #expect(fail(20) == .opened)
        #expect(!breaker.admits(at: now + .seconds(9)) && breaker.admits(at: now + .seconds(10)))
    }
}

@Suite("The response of the app's backend to a question")
struct DecisionResponseTests {
    private func read(_ body: String) throws -> DecisionResponse {
        var unknown: [String] = []
        return try DecisionResponse.read(Array(body.utf8), unknown: &unknown)
    }

    @Test("What is understood")
    func understood() throws {
        #expect(try read(#"{"allow":true}"#) == .allowed(.init()))
        #expect(try read(#" {"allow":true,"displayName":null,"handle":null} "#) == .allowed(.init()))
        #expect(try read(#"{"allow":true,"to":null}"#) == .allowed(.init()))
        #expect(try read(#"{"allow":false}"#) == .refused(code: nil, message: nil))
        #expect(try read(#"{"allow":false,"show":"nothing"}"#) == .hidden(code: nil))
        let refused = DecisionResponse.refused(code: "closed.now", message: "Open at 9.")
        #expect(try read(#"{"allow":false,"show":"refused","code":"closed.now","message":"Open at 9."}"#) == refused)
    }

    @Test(
        "What is malformed, and says which member is wrong",
        arguments: [
            ("", ""), ("null", ""), ("[]", ""), ("true", ""), (#"{"allow":true"#, ""), ("{}", "allow"),
            (#"{"allow":"true"}"#, "allow"), (#"{"allow":1}"#, "allow"), (#"{"allow":null}"#, "allow"),
            (#"{"allow":true,"allow":false}"#, "allow"), (#"{"allow":true,"to":["10"]}"#, "to"),
            (#"{"allow":false,"to":[]}"#, "to"), (#"{"allow":true,"displayName":7}"#, "displayName"),
            (#"{"allow":true,"handle":""}"#, "handle"), (#"{"allow":true,"handle":"\u202E"}"#, "handle"),
            (#"{"allow":true,"handleType":"generic"}"#, "handleType"),
            (#"{"allow":true,"handle":"a","handleType":"phone"}"#, "handleType"),
            (#"{"allow":true,"ringTimeout":4}"#, "ringTimeout"), (#"{"allow":true,"ringTimeout":121}"#, "ringTimeout"),
            (#"{"allow":true,"ringTimeout":"30"}"#, "ringTimeout"),
            (#"{"allow":true,"ringTimeout":5.5}"#, "ringTimeout"),
            (#"{"allow":false,"show":"all"}"#, "show"), (#"{"allow":false,"show":true}"#, "show"),
            (#"{"allow":false,"code":""}"#, "code"), (#"{"allow":false,"code":"not a word"}"#, "code"),
            (#"{"allow":false,"code":7}"#, "code"), (#"{"allow":false,"message":{}}"#, "message"),
        ]
    )
    func malformed(_ body: String, _ member: String) {
        do {
            _ = try read(body)
            Issue.record("\(body) was understood")
        } catch {
            #expect((error as? DecisionResponse.Fault)?.why.contains(member) == true, "\(error)")
        }
    }

    @Test("A body that is too large or no UTF-8 is malformed")
    func bytes() {
        var unknown: [String] = []
        let large = Array(#"{"allow":true,"x":"\#(String(repeating: "x", count: 20_000))"}"#.utf8)
        for body in [large, [0x7B, 0xFF, 0x7D]] {
            #expect(throws: DecisionResponse.Fault.self) { try DecisionResponse.read(body, unknown: &unknown) }
        }
    }
}
