import JSON
import Testing

@testable import CallWire

@Suite("A field of the protocol")
struct FieldTests {
    private func fault(_ text: String) -> JSONFault? {
        do throws(JSONFault) {
            _ = try JSONObject(bytes(text))
            return nil
        } catch { return error }
    }

    @Test("An object with a field twice is refused, even if one name is escaped")
    func duplicates() {
        #expect(fault(#"{"sdp":1,"\u0073dp":2}"#) == .duplicate("sdp"))
        #expect(fault(#"{"callId":null,"callId":"x"}"#) == .duplicate("callId"))
        #expect(fault(#"{"mine":1,"mine":2}"#) == nil)
    }

    @Test("Each field is found by its name, plain or escaped", arguments: Field.allCases)
    func fields(_ field: Field) throws {
        #expect(field.name == "\(field)")
        let escaped = field.name.utf8.map { "\\u00" + String($0, radix: 16) }.joined()
        for name in [field.name, escaped] {
            let object = try JSONObject(bytes(#"{"\#(name)":7,"\#(field.name)x":8}"#))
            let member = try #require(object[field])
            #expect(object.integer(member) == 7)
            #expect(object.members.last?.number != field.rawValue)
        }
    }

    @Test("The subscript treats a null member as absent; `member(_:)` distinguishes null from absent members")
    func null() throws {
        let object = try JSONObject(bytes(#"{"sdp":null}"#))
        #expect(object[.sdp] == nil)
        #expect(object.member(.sdp)?.kind == .null)
        #expect(object.member(.candidate) == nil)
    }

    @Test("The members of an inner object can be read")
    func inner() throws {
        let object = try JSONObject(bytes(#"{"calls":{"a":{"seq":1}},"n":[{}]}"#))
        let calls = try #require(object.inner(object.members[0]))
        let call = try #require(calls.inner(calls.members[0]))
        #expect(call[.seq].flatMap { call.integer($0) } == 1)
        #expect(object.inner(object.members[1]) == nil)
    }

    @Test("A signal has at most 256 bytes, because more are copied in a slower way")
    func size() { #expect(MemoryLayout<SignalMessage>.size <= 256) }
}
