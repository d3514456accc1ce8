import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("A service's token in requests")
struct ServiceRequestTests {
    private func service() throws -> Principal {
        var service = try principal("backend")
        service.isService = true
        return service
    }

    @Test("A request about a call of other users is refused with what a service may do")
    func calls() throws {
        let talk = try Talk.answered()
        let id = try call("c-1")
        for request in [Switchboard.Request.fetch(id, .init()), .end(id, device: nil)] {
            let reply = try talk.world.reply(try service(), request)
            #expect(reply.status == 403 && reply["message"]?.contains("service token may send signals") == true)
        }
        #expect(try talk.world.post(try service(), #"{"action":"end","callId":"c-1","data":{}}"#).status == 403)
        let forTaro = #"{"action":"end","from":"11","callId":"c-1","data":{}}"#
        #expect(try talk.world.post(try service(), forTaro).status == 200)
    }

    @Test("A service that is in a call itself may fetch and end it")
    func own() throws {
        let world = SwitchboardWorld()
        let body = #"{"action":"offer","callId":"c-9","to":"10","data":{"sdp":"v=0\r\n"}}"#
        #expect(try world.post(try service(), body).status == 200)
        #expect(try world.fetched(try service(), "c-9")["state"] == "ringing")
        #expect(try world.reply(try service(), .end(try call("c-9"), device: nil)).status == 200)
    }
}
