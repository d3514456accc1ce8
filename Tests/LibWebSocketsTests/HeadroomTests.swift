import CallWire
import Testing

@testable import LibWebSockets

@Suite("The headroom of a frame")
struct HeadroomTests {
    @Test("The headroom is enough for the installed library, and a library that wants more prevents the start")
    func enough() throws {
        try LibraryContext.checkHeadroom()
        try LibraryContext.checkHeadroom(wanted: Frame.headroom)
        #expect(throws: ServerError.library("it writes up to 17 bytes in front of a frame, where 16 are free")) {
            try LibraryContext.checkHeadroom(wanted: 17)
        }
    }

    @Test("The headroom precedes the message, and the frame contains all bytes of the message")
    func layout() {
        let frame = Frame("hello".utf8)
        #expect(frame.bytes.count == Frame.headroom + 5)
        #expect(frame.message.elementsEqual("hello".utf8))
        #expect(frame == Frame(withHeadroom: frame.bytes))
    }
}
