import CallClient
import CallCore
import CallWire
import SeededRandom
import Testing

/// A registration with a clock; requests are answered by hand.
private struct Bench {
    var registration = Registration(
        device: ClientBench.device("phone"),
        platform: "ios",
        bundleID: "com.example.chat",
        environment: .sandbox
    )
    var now = Moment(milliseconds: 1_000_000_000)
    var last: RegistrationNumber?

    @discardableResult
    mutating func take(_ input: Registration.Input) -> [Registration.Output] {
        let outputs = registration.handle(input, at: now)
        for output in outputs {
            switch output {
            case .upload(let number, _), .remove(let number): last = number
            }
        }
        return outputs
    }

    /// Answers the newest request.
    @discardableResult
    mutating func answer(_ failure: RequestFailure? = nil) -> [Registration.Output] {
        last.map { take(.answered($0, failure)) } ?? []
    }

    /// Advances the clock to the deadline, if it comes within that time, and hands it in.
    @discardableResult
    mutating func wait(_ duration: Moment.Duration) -> [Registration.Output] {
        let end = now + duration
        var outputs: [Registration.Output] = []
        var turns = 0
        while let deadline = registration.deadline, deadline <= end, turns < 1_000 {
            turns += 1
            now = max(now, deadline)
            outputs += take(.deadlineReached)
        }
        now = end
        return outputs
    }

    /// A bench whose tokens the server has confirmed.
    static func confirmed(_ tokens: [Registration.Kind: String] = [.voip: "aa"]) -> Bench {
        var bench = Bench()
        bench.take(.loggedIn)
        for kind in Registration.Kind.allCases { if let token = tokens[kind] { bench.take(.token(kind, token)) } }
        for _ in 0..<8 where !bench.registration.isSettled { bench.answer() }
        return bench
    }
}

private func number(_ value: UInt64) -> RegistrationNumber { RegistrationNumber(rawValue: value) }

private func tokens(_ list: (Registration.Kind, String)...) -> Registration.Tokens {
    var tokens = Registration.Tokens()
    for (kind, text) in list { tokens[kind] = text }
    return tokens
}

@Suite("The registration of a device")
struct RegistrationTests {
    @Test("The tokens are uploaded at launch, when there is both a token and a user, in either order")
    func launch() {
        var bench = Bench()
        #expect(bench.take(.loggedIn).isEmpty)
        #expect(bench.take(.token(.voip, "aa")) == [.upload(number(1), tokens((.voip, "aa")))])
        var other = Bench()
        #expect(other.take(.token(.voip, "aa")).isEmpty && other.registration.deadline == nil)
        #expect(other.take(.loggedIn) == [.upload(number(1), tokens((.voip, "aa")))])
        #expect(!other.registration.isSettled)
        #expect(other.answer().isEmpty && other.registration.isSettled)
        #expect(other.registration.confirmed == other.registration.wanted)
    }

    @Test("Every kind of token is uploaded at each change, with all others, and only if it is another one")
    func change() {
        for kind in Registration.Kind.allCases {
            var bench = Bench.confirmed([.voip: "aa", .alert: "bb", .firebase: "cc", .web: "dd"])
            #expect(bench.take(.token(kind, bench.registration.wanted[kind])).isEmpty, "\(kind)")
            var changed = bench.registration.wanted
            changed[kind] = "ee"
            let outputs = bench.take(.token(kind, "ee"))
            #expect(outputs.count == 1 && outputs.first?.tokens == changed, "\(kind)")
        }
    }

    @Test("A token that changes while an upload is under way is uploaded after it, so that the newest one stays")
    func meanwhile() {
        var bench = Bench()
        bench.take(.loggedIn)
        bench.take(.token(.voip, "aa"))
        #expect(bench.take(.token(.voip, "bb")).isEmpty, "one request at a time")
        #expect(bench.answer() == [.upload(number(2), tokens((.voip, "bb")))])
        #expect(bench.take(.answered(number(1), nil)).isEmpty, "a response that comes twice confirms nothing")
        #expect(bench.registration.confirmed == tokens((.voip, "aa")))
        #expect(bench.answer().isEmpty && bench.registration.confirmed == tokens((.voip, "bb")))
    }

    @Test("The tokens are uploaded again after 24 hours, not earlier, and when the clock was set back")
    func daily() {
        var bench = Bench.confirmed()
        #expect(bench.wait(.seconds(24 * 3_600 - 1)).isEmpty)
        #expect(bench.wait(.seconds(1)) == [.upload(number(2), tokens((.voip, "aa")))])
        bench.answer()
        bench.now = bench.now + .seconds(-1)
        #expect(bench.take(.deadlineReached).count == 1)
    }

    @Test("After a failure the upload waits 2, 4, 8 … 300 s, whatever the failure was")
    func failures() {
        var bench = Bench()
        bench.take(.loggedIn)
        bench.take(.token(.voip, "aa"))
        let codes: [Int64: String] = [4: "rate_limited", 8: "invalid_field", 16: "token_expired"]
        for pause: Int64 in [2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            #expect(bench.answer(codes[pause].map { .refused(code: $0) } ?? .unreachable).isEmpty)
            #expect(bench.wait(.milliseconds(pause * 1_000 - 1)).isEmpty, "\(pause)")
            #expect(bench.wait(.milliseconds(1)).count == 1, "\(pause)")
        }
        bench.answer()
        bench.take(.token(.voip, "bb"))
        bench.answer(.unreachable)
        #expect(bench.registration.deadline == bench.now + .seconds(2), "a success makes the pauses short again")
    }

    @Test("A change or a login ends the pause after a failure")
    func impatience() {
        for input in [Registration.Input.token(.alert, "bb"), .loggedIn] {
            var bench = Bench()
            bench.take(.loggedIn)
            bench.take(.token(.voip, "aa"))
            for _ in 0..<6 {
                bench.answer(.unreachable)
                bench.wait(.seconds(300))
            }
            bench.answer(.unreachable)
            #expect(bench.take(input).count == 1)
        }
    }

    @Test("A request whose response never comes counts as failed after a minute")
    func silence() {
        var bench = Bench()
        bench.take(.loggedIn)
        bench.take(.token(.voip, "aa"))
        #expect(bench.wait(.seconds(61)).isEmpty)
        #expect(bench.wait(.seconds(1)) == [.upload(number(2), tokens((.voip, "aa")))])
        #expect(bench.take(.answered(number(1), nil)).isEmpty && bench.registration.confirmed == nil)
    }

    @Test("A token that the system took back is withdrawn: the row is removed, and the others are uploaded again")
    func withdrawn() {
        var bench = Bench.confirmed([.voip: "aa", .alert: "bb"])
        #expect(bench.take(.token(.voip, nil)) == [.remove(number(3))])
        #expect(bench.answer() == [.upload(number(4), tokens((.alert, "bb")))])
        bench.answer()
        #expect(bench.take(.token(.alert, nil)) == [.remove(number(5))])
        #expect(bench.answer(.refused(code: "not_found")).isEmpty && bench.registration.isSettled)
        #expect(bench.registration.deadline == nil, "nothing is left that could be uploaded")
    }

    @Test("A token that is taken back while its upload is under way is withdrawn after it, also if no response comes")
    func withdrawnMeanwhile() {
        for failure in [nil, RequestFailure.unreachable] {
            var bench = Bench()
            bench.take(.loggedIn)
            bench.take(.token(.voip, "aa"))
            #expect(bench.take(.token(.voip, nil)).isEmpty)
            let outputs = bench.answer(failure) + bench.wait(.seconds(2))
            #expect(outputs == [.remove(number(2))])
        }
    }

    @Test("Logout removes the row, again and again until it is gone, and uploads nothing more")
    func logout() {
        var bench = Bench.confirmed()
        #expect(bench.take(.loggedOut) == [.remove(number(2))])
        #expect(bench.take(.token(.voip, "bb")).isEmpty)
        bench.answer(.unreachable)
        #expect(!bench.registration.isSettled && bench.wait(.seconds(2)) == [.remove(number(3))])
        #expect(bench.answer().isEmpty && bench.registration.isSettled && bench.registration.deadline == nil)
        #expect(bench.take(.loggedOut).isEmpty)
        var gone = Bench.confirmed()
        gone.take(.loggedOut)
        gone.answer(.refused(code: "unauthenticated"))
        #expect(gone.registration.isSettled, "a user who was logged out everywhere has no row")
    }

    @Test("A logout during an upload removes the row after it, so that the upload cannot bring the row back")
    func logoutMeanwhile() {
        var bench = Bench()
        bench.take(.loggedIn)
        bench.take(.token(.voip, "aa"))
        #expect(bench.take(.loggedOut).isEmpty)
        #expect(bench.answer() == [.remove(number(2))])
    }

    @Test("The next login waits for the removal, which needs no row: another user has none")
    func nextLogin() {
        var bench = Bench.confirmed()
        bench.take(.loggedOut)
        #expect(bench.take(.loggedIn).isEmpty)
        #expect(bench.answer() == [.upload(number(3), tokens((.voip, "aa")))])
        bench = Bench.confirmed()
        bench.take(.loggedOut)
        bench.answer(.unreachable)
        #expect(bench.take(.loggedIn) == [.remove(number(3))])
        #expect(bench.answer(.refused(code: "not_found")) == [.upload(number(4), tokens((.voip, "aa")))])
    }

    @Test("The server reads the body; a browser's subscription that is no JSON object is left out of it")
    func body() throws {
        let bench = Bench()
        let all = tokens((.voip, "abababababababab"), (.alert, "cdcdcdcdcdcdcdcd"), (.firebase, "f\"c"), (.web, "{"))
        let read = try DeviceRegistration(body: bench.registration.body(of: all), device: nil)
        #expect(read.tokens[.voip] == .plain("abababababababab") && read.tokens[.alert] == .plain("cdcdcdcdcdcdcdcd"))
        #expect(
            read.tokens[.firebase] == .plain("f\"c") && read.bundleID == "com.example.chat" && read.platform == "ios"
        )
        #expect(read.device == bench.registration.device && read.environment == .sandbox)
        #expect(read.tokens[.web] == nil)
        var account = bench.registration
        account.installation = "i-0123456789abcdef"
        account.sound = "ring.caf"
        account.mutableContent = true
        let named = try DeviceRegistration(body: account.body(of: all), device: nil)
        #expect(named.installation == "i-0123456789abcdef" && named.sound == "ring.caf")
        #expect(named.mutableContent == true && read.mutableContent == nil)
        let keys = #"{"p256dh":"\#(String(repeating: "B", count: 87))","auth":"\#(String(repeating: "A", count: 22))"}"#
        let browser = tokens((.web, #"{"endpoint":"https://fcm.googleapis.com/1","keys":\#(keys)}"#))
        let token = try DeviceRegistration(body: bench.registration.body(of: browser), device: nil).tokens[.web]
        guard case .subscription(let web)? = token else { return #expect(Bool(false), "\(String(describing: token))") }
        #expect(web.endpoint == "https://fcm.googleapis.com/1" && web.auth.utf8.count == 22)
        #expect(RequestFailure(status: 200, body: Array(#"{"ok":true}"#.utf8)) == nil)
        #expect(RequestFailure(status: 204, body: []) == nil)
        #expect(RequestFailure(status: 404, body: []) == .refused(code: "not_found"))
        #expect(RequestFailure(status: 0, body: []) == .unreachable)
        #expect(RequestFailure(status: 408, body: Array(#"{"code":"request_timeout"}"#.utf8)) == .unreachable)
    }

    @Test("Whatever happens, the server has the wanted tokens in the end, and nothing after a logout")
    func random() {
        for seed in 0..<400 {
            var generator = SeededGenerator(mixing: UInt64(seed))
            var bench = Bench()
            var row: Registration.Tokens?
            /// Carries out the newest request, or loses it or its response.
            func serve(_ output: Registration.Output) -> RequestFailure? {
                if generator.one(in: 4) { return .unreachable }
                switch output {
                case .upload(_, let tokens):
                    var merged = row ?? Registration.Tokens()
                    for kind in Registration.Kind.allCases { merged[kind] = tokens[kind] ?? merged[kind] }
                    row = merged
                case .remove:
                    if row == nil { return .refused(code: "not_found") }
                    row = nil
                }
                return generator.one(in: 4) ? .unreachable : nil
            }
            var open: Registration.Output?
            func note(_ outputs: [Registration.Output]) {
                #expect(outputs.count <= 1)
                if let output = outputs.first { open = output }
            }
            for _ in 0..<60 {
                bench.now = bench.now + .milliseconds(Int64.random(in: 0...9_000, using: &generator))
                switch Int.random(in: 0..<8, using: &generator) {
                case 0: note(bench.take(.loggedIn))
                case 1: note(bench.take(.loggedOut))
                case 2, 3:
                    let kind = generator.pick(Registration.Kind.allCases)
                    let text = generator.one(in: 3) ? nil : generator.pick(["aa", "bb", "cc"])
                    note(bench.take(.token(kind, text)))
                case 4, 5:
                    guard let output = open else { break }
                    open = nil
                    note(bench.answer(serve(output)))
                default: note(bench.take(.deadlineReached))
                }
            }
            // From now on the network works.
            for _ in 0..<12 {
                if let output = open {
                    open = nil
                    if case .upload(_, let tokens) = output {
                        var merged = row ?? Registration.Tokens()
                        for kind in Registration.Kind.allCases { merged[kind] = tokens[kind] ?? merged[kind] }
                        row = merged
                    } else {
                        row = nil
                    }
                    note(bench.answer())
                }
                if bench.registration.isSettled { break }
                if let deadline = bench.registration.deadline { bench.now = max(bench.now, deadline) }
                note(bench.take(.deadlineReached))
            }
            #expect(bench.registration.isSettled, "seed \(seed)")
            let isLoggedIn = bench.registration.isLoggedIn
            if isLoggedIn, !bench.registration.wanted.isEmpty { #expect(row == bench.registration.wanted, "\(seed)") }
        }
    }
}

extension Registration.Output {
    fileprivate var tokens: Registration.Tokens? { if case .upload(_, let tokens) = self { tokens } else { nil } }
}
