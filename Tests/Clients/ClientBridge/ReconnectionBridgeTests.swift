import CallClient
import CallCore
import ClientBridge
import Testing

@Suite("The bridge to the connection's machine")
struct ReconnectionBridgeTests {
    private let now = Moment(milliseconds: 1_700_000_000_000)

    private func take(_ input: String, by machine: inout BridgedReconnection) throws(BridgeFault) -> String {
        String(decoding: try machine.handle(Array(input.utf8), at: now), as: UTF8.self)
    }

    @Test("Inputs and outputs are those of the machine, in order")
    func outputs() throws {
        var machine = BridgedReconnection()
        let steps = [
            (#"{"in":"deadlineReached","chance":0}"#, "[]"),
            (#"{"in":"wanted","urgent":false,"chance":0}"#, #"[{"out":"open","number":1}]"#),
            (#"{"in":"opened","number":1,"chance":0}"#, #"[{"out":"connectionOpened"}]"#),
            (
                #"{"in":"pathChanged","chance":0}"#,
                #"[{"out":"connectionClosed"},{"out":"giveUp","number":1},{"out":"open","number":2}]"#
            ),
            (#"{"in":"closed","number":1,"chance":0}"#, "[]"),
            (#"{"in":"closed","number":2,"chance":500000}"#, "[]"),
        ]
        for (input, outputs) in steps { #expect(try take(input, by: &machine) == outputs, "\(input)") }
        #expect(machine.reconnection.deadline == now + .milliseconds(125))
        #expect(String(decoding: machine.state, as: UTF8.self) == #"{"deadline":1700000000125}"#)
        #expect(try take(#"{"in":"wanted","urgent":true,"chance":0}"#, by: &machine) == #"[{"out":"open","number":3}]"#)
        #expect(try take(#"{"in":"unwanted","chance":0}"#, by: &machine) == #"[{"out":"giveUp","number":3}]"#)
    }

    @Test("The pause that a server names reaches the machine, by its frame and by the reason of its close")
    func pauses() throws {
        for input in [
            #"{"in":"draining","reconnectAfterMs":3000,"chance":0}"#,
            #"{"in":"closed","number":1,"reason":"reconnectAfterMs=3000","chance":0}"#,
        ] {
            var machine = BridgedReconnection()
            _ = try take(#"{"in":"wanted","urgent":false,"chance":0}"#, by: &machine)
            _ = try take(#"{"in":"opened","number":1,"chance":0}"#, by: &machine)
            _ = try take(input, by: &machine)
            #expect(machine.reconnection.reconnectAt == now + .seconds(3))
            #expect(String(decoding: machine.state, as: UTF8.self).contains(#""reconnectAt":1700000003000"#))
        }
    }

    @Test(
        "A malformed input is refused with the name of the member, and changes nothing",
        arguments: [
            (#"{"in":"wanted","chance":0}"#, "urgent: is missing"),
            (#"{"in":"unwanted"}"#, "chance: is missing"),
            (#"{"in":"unwanted","chance":1000000}"#, "chance: must be 0 to 999999"),
            (#"{"in":"unwanted","chance":-1}"#, "chance: must be 0 to 999999"),
            (#"{"in":"unwanted","chance":0.5}"#, "chance: must be a whole number"),
            (#"{"in":"opened","number":-1,"chance":0}"#, "number: is out of range"),
            (#"{"in":"draining","reconnectAfterMs":-1,"chance":0}"#, "reconnectAfterMs: is out of range"),
            (#"{"in":"pathChanged","number":1,"chance":0}"#, "number: is not a member of this object"),
            (#"{"in":"connectionOpened","chance":0}"#, "in: there is no input connectionOpened"),
        ]
    )
    func faults(_ input: String, _ message: String) {
        var machine = BridgedReconnection()
        #expect(throws: BridgeFault.self) { try take(input, by: &machine) }
        do throws(BridgeFault) { _ = try take(input, by: &machine) } catch { #expect(error.line == message) }
        #expect(machine.reconnection == Reconnection())
    }

    @Test("The wish for a connection says whether it may wait", arguments: [true, false])
    func urgency(_ isUrgent: Bool) throws {
        var client = try BridgedClient(configuration: Array(#"{"user":"11","device":"d","signalIDPrefix":"p"}"#.utf8))
        let uuid = "6f9619ff-8b86-4d01-b42d-00cf4fc964f0"
        let start = #"{"in":"startCall","uuid":"\#(uuid)","callId":"c-1","to":"10","hasVideo":false}"#
        var outputs = try client.handle(Array(start.utf8), at: now)
        if !isUrgent {
            _ = try client.handle(Array(#"{"in":"connectionOpened"}"#.utf8), at: now)
            outputs = try client.handle(Array(#"{"in":"connectionClosed"}"#.utf8), at: now)
        }
        #expect(String(decoding: outputs, as: UTF8.self).hasSuffix(#"{"out":"connect","urgent":\#(isUrgent)}]"#))
    }
}
