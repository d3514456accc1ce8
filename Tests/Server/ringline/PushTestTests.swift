import CallCore
import CallPorts
import Switchboard
import Testing

@testable import ringline

@Suite("A test push")
struct PushTestTests {
    private func run(
        _ answers: [PushResult],
        preferred: APNsEnvironment? = nil,
        _ change: (inout DeviceRecord) -> Void = { _ in }
    ) throws -> (taken: Bool, pushes: [OutgoingPush], said: [String]) {
        let user = try #require(UserID("10"))
        let id = try #require(DeviceID("d"))
        let at = Moment(milliseconds: 0)
        var device = DeviceRecord(user: user, id: id, isNamed: true, platform: "ios", bundleID: "a.b", createdAt: at)
        device.routes[.voip] = RegisteredRoute("ab")
        change(&device)
        var (pushes, said): ([OutgoingPush], [String]) = ([], [])
        let test = PushTest(device: device, preferred: preferred, capability: nil)
        let taken = test.run(
            at: at,
            send: { push in
                pushes.append(push)
                return answers[pushes.count - 1]
            },
            say: { said.append($0) }
        )
        return (taken, pushes, said)
    }

    private let accepted = PushResult.response(status: 200, reason: nil, timestamp: nil)
    private let bad = PushResult.response(status: 400, reason: "BadDeviceToken", timestamp: nil)
    private let gone = PushResult.response(status: 410, reason: "Unregistered", timestamp: Moment(milliseconds: 0))

    @Test("The environment is that of the last accepted push, else the app's, else the setting's, else production")
    func environments() throws {
        #expect(try run([accepted]) { $0.workingEnvironment = .sandbox }.pushes.map(\.route.environment) == [.sandbox])
        #expect(
            try run([accepted], preferred: .production) { $0.environment = .sandbox }.pushes[0].route.environment
                == .sandbox
        )
        #expect(try run([accepted], preferred: .sandbox).pushes[0].route.environment == .sandbox)
        #expect(try run([accepted]).pushes[0].route.environment == .production)
    }

    @Test("If the first environment does not know the push token, the other environment is tried, once")
    func other() throws {
        let found = try run([bad, accepted])
        #expect(found.taken && found.pushes.map(\.route.environment) == [.production, .sandbox])
        #expect(found.pushes[0].uuid != found.pushes[1].uuid && found.pushes[0].id != found.pushes[1].id)
        let lost = try run([bad, bad])
        #expect(!lost.taken && lost.pushes.count == 2 && lost.said.count == 2)
    }

    @Test("Every other response ends the test, and is printed in words")
    func refused() throws {
        let refused = try run([gone])
        #expect(!refused.taken && refused.pushes.count == 1)
        #expect(
            refused.said[0].contains("410 Unregistered since 1970-01-01") && refused.said[0].contains("register again")
        )
        let silent = try run([.unreachable("no response came before the deadline")])
        #expect(!silent.taken && silent.said[0].contains("no response came before the deadline"))
    }

    @Test("A device with an alert token only is sent an alert, and the output says so")
    func alert() throws {
        let found = try run([accepted]) { device in
            device.routes[.alert] = device.routes[.voip]
            device.routes[.voip] = nil
        }
        #expect(found.taken && found.pushes.map(\.route.kind) == [.alert] && found.pushes[0].route.topic == "a.b")
        #expect(found.said[0].hasSuffix("(an alert)"))
        #expect(String(decoding: found.pushes[0].payload, as: UTF8.self).contains("ringline.call"))
    }

    @Test("A VoIP token is tested even if calls ring by alerts, because VoIP pushes had no effect")
    func withheld() throws {
        let found = try run([accepted]) { device in
            device.routes[.alert] = RegisteredRoute("cd")
            device.unansweredPushes = 5
        }
        #expect(found.pushes.map(\.route.kind) == [.voip])
    }

    @Test("A device without a push token is sent no push")
    func none() throws {
        let found = try run([]) { $0.routes[.voip] = nil }
        #expect(!found.taken && found.pushes.isEmpty && found.said[0].contains("no push token"))
    }
}

@Suite("A duration in a table")
struct SpanTests {
    @Test(
        "A duration is shown in its two largest units",
        arguments: [
            (0, "0s"), (59_999, "59s"), (60_000, "1m 00s"), (185_000, "3m 05s"), (7_800_000, "2h 10m"),
            (349_200_000, "4d 1h"), (-5_000, "0s"),
        ]
    )
    func spans(_ milliseconds: Int64, _ text: String) {
        let start = Moment(milliseconds: 1_000_000)
        #expect(CallsCommand.span(from: start, to: start + .milliseconds(milliseconds)) == text)
    }
}
