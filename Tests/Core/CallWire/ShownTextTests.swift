import CallCore
import CallWire
import JSON
import Testing

@Suite("A text that people are shown")
struct ShownTextTests {
    @Test(
        "A text in which nothing is visible counts as none",
        arguments: [
            "", " ", "\u{200B}", "\u{3164}", "\u{2800}", "\u{AD}", "\u{FE0F}", "\u{FE00}", "\u{E0100}",
            "\u{E0041}\u{E007F}",
            "\u{301}", "\u{20DD}", "\u{903}", "\u{115F}\u{1160}", "\u{FFA0}", "\u{17B4}", "\u{34F}", "\u{61C}",
            "\u{180E}",
            "\u{2060}\u{2063}", "\u{FEFF}", "\u{A0}\u{3000}\u{2003}", "\u{200D}\u{200C}", "\u{200E}\u{200F}",
            "\u{202E}",
            "\u{2066}\u{2069}", "\u{FFF9}\u{FFFB}", "\u{FFFC}", "\u{1D159}", "\u{1D173}", "\n\t\r",
            "\u{0}\u{1B}\u{7F}\u{85}",
            "\u{2028}\u{2029}", "\u{FFFE}", "\u{1FFFF}", " \u{200B}\u{301}\u{3164} ",
        ]
    )
    func invisible(_ text: String) {
        #expect(text.shown() == nil)
        #expect((text + text).shown(upTo: 256) == nil)
        #expect(("A" + text).shown() != nil)
    }

    @Test(
        "A text of people's names and emoji is shown as it is",
        arguments: [
            "Alice", "山田太郎", "김철수", "Đặng Thị", "می\u{200C}خواهم", "क्\u{200D}ष", "श्री\u{200C}मान", "עומר",
            "O’Brien", "-", "1",
            "👨\u{200D}👩\u{200D}👧\u{200D}👦", "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
            "🇰🇷", "❤\u{FE0F}", "1\u{FE0F}\u{20E3}",
            "👍🏽", "e\u{301}", "\u{2067}עומר\u{2069} Omer", "\u{200F}עומר", "ไทย\u{200B}ภาษา", "\u{E000}", "\u{1FAE9}",
            "\u{378}",
            " Alice ",
        ]
    )
    func kept(_ text: String) {
        #expect(text.shown().map { Array($0.utf8) } == Array(text.utf8))
        #expect(text.shown(upTo: 256).map { Array($0.utf8) } == Array(text.utf8))
    }

    @Test(
        "Controls, overrides and open isolates are left out, and a line break is a blank",
        arguments: [
            ("Bank\u{202E}evil\u{202C}", "Bankevil"), ("\u{2066}Alice", "Alice"), ("Alice\u{2069}", "Alice"),
            ("\u{2066}\u{2067}a\u{2069}b", "\u{2067}a\u{2069}b"), ("\u{2068}a\u{2069}\u{2069}", "\u{2068}a\u{2069}"),
            ("Alice\nMissed call", "Alice Missed call"), ("Alice\r\n\tBob", "Alice Bob"), ("\nAlice\n", "Alice"),
            ("A\u{0}l\u{1B}[31mice", "Al[31mice"), ("A\u{2028}B\u{85}C", "A B C"), ("A\u{7F}\u{9B}B", "AB"),
            ("\u{202A}+82 10\u{202C}", "+82 10"), ("A\u{206A}\u{FFF9}B", "AB"),
        ]
    )
    func cleaned(_ text: String, _ shown: String) {
        #expect(text.shown().map { Array($0.utf8) } == Array(shown.utf8))
    }

    @Test(
        "A character keeps at most 32 of its scalars, so that one character cannot fill a push",
        arguments: [
            "a" + String(repeating: "\u{301}", count: 1_500), "👨" + String(repeating: "\u{200D}👩", count: 900),
        ]
    )
    func manyMarks(_ name: String) {
        let shown = name.shown(upTo: 256)
        #expect(shown?.unicodeScalars.count == 32 && shown?.count == 1)
        #expect("👨‍👩‍👧‍👦 می‌خواهم".shown(upTo: 256) == "👨‍👩‍👧‍👦 می‌خواهم")
    }

    @Test("A text is cut between two characters, and an isolate whose end is cut off is left out")
    func cut() {
        #expect("Alice".shown(upTo: 3) == "Ali")
        #expect("👨\u{200D}👩\u{200D}👧A".shown(upTo: 1) == "👨\u{200D}👩\u{200D}👧")
        #expect("\u{2067}עומר\u{2069}".shown(upTo: 3) == "עו")
        #expect(String(repeating: "\u{2066}", count: 20_000).shown() == nil)
    }

    @Test("The names in offers, texts and schedules are cleaned, and absent if nothing in them is visible")
    func names() throws {
        let names = [(#"\u200b"#, nil), (#"\u202eAda\n"#, "Ada"), ("Ada", "Ada"), (#"\ud83d\ude00"#, "😀")]
        for (written, shown) in names {
            let offer = #"{"type":"offer","callId":"c","to":"10","sdp":"v=0\r\n","displayName":"\#(written)"}"#
            #expect(try signal(offer)?.displayName == shown)
            let text = #"{"type":"message","to":"10","body":"b","displayName":"\#(written)"}"#
            let read = try TextMessage(try JSONObject.ofBody(Array(text.utf8)))
            #expect(read.displayName == shown)
            // The receivers of the frame are shown no other name either.
            let relayed = try JSONObject.ofBody([UInt8(ascii: "{")] + read.relayed + [UInt8(ascii: "}")])
            #expect(relayed.text("displayName") == shown)
            let schedule = #"{"from":{"id":"wake","displayName":"\#(written)"},"handle":"\#(written)"}"#
            let form = try ScheduleForm(body: Array(schedule.utf8))
            #expect(form.displayName == shown)
            #expect(form.handle == .some(shown))
        }
    }

    @Test("The alert of a text has neither line breaks nor overrides, in its title nor in its body")
    func alert() throws {
        let frame = #"{"type":"message","to":"10","body":"pay\n\u202enow\u0000","displayName":"\u202eAda"}"#
        let message = try TextMessage(try JSONObject.ofBody(Array(frame.utf8)))
        for form in [PushForm.alert, .data, .web] {
            let bytes = NoticePayload.text(
                message,
                from: try #require(UserID("11")),
                name: message.displayName,
                as: form,
                at: Moment(milliseconds: 1)
            )
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.contains("pay now") && text.contains("Ada"), "\(text)")
            #expect(!text.contains("\\n") && !text.contains("\u{202E}") && !text.contains("\\u"), "\(text)")
        }
    }

    @Test("A schedule's handle in a push has no overrides, and an invisible one is replaced by the caller's id")
    func handle() {
        var payload = IncomingCallPayload(
            callID: "c",
            epoch: 1,
            caller: "11",
            name: "Ada",
            callee: "10",
            room: "p2p:11-10",
            hasVideo: false,
            uuid: "u",
            ringUntil: Moment(milliseconds: 1),
            capability: nil
        )
        payload.handle = "\u{202A}+82 10\u{202C}"
        func text() -> String { String(decoding: payload.bytes(at: Moment(milliseconds: 1)), as: UTF8.self) }
        #expect(text().contains(#""handle":"+82 10""#))
        payload.handle = "\u{3164}"
        #expect(text().contains(#""handle":"11""#))
    }
}
