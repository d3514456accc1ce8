import CallCore
import Testing

@testable import CallWire

@Suite("The form of a schedule")
struct ScheduleFormTests {
    private func data(_ text: String) throws(WireError) -> String?? {
        try ScheduleForm(body: Array(#"{"data":\#(text)}"#.utf8)).data
    }

    @Test(
        "Data that some parser cannot read is refused, because an app that cannot read its push does not ring",
        arguments: [
            #""\ud800""#, #"{"\ud83d":1}"#, #"["\ude00\ud83d"]"#, "1e400", "[[-1e999]]", #"{"a":{"b":1e309}}"#,
            #"{"a":1,"a":2}"#, #"[{"a":1,"\u0061":2}]"#,
        ]
    )
    func unreadable(_ text: String) {
        let error = #expect(throws: WireError.self) { _ = try data(text) }
        #expect(error?.code == .invalidField && error?.field == "data")
    }

    @Test(
        "Other data is kept byte for byte",
        arguments: [
            #""\ud83d\ude00""#, "1.7976931348623157e308", "-0.10e-400", #"{"a":{"a":1}, "b":[ ]}"#, #""\u0000\/""#,
        ]
    )
    func readable(_ text: String) throws { #expect(try data(text) == .some(.some(text))) }
}
