import CallWire
import Testing

@testable import LibWebSockets

@Suite("The headroom of a frame")
struct HeadroomTests {
    @Test("is enough for the library that is installed, and no server starts with one that wants more")
    func enough() throws {
        try LibraryContext.checkHeadroom()
        try LibraryContext.checkHeadroom(wanted: Frame.headroom)
        #expect(throws: ServerError.library("it writes up to 17 bytes in front of a frame, where 16 are free")) {
            try LibraryContext.checkHeadroom(wanted: 17)
        }
    }

    @Test("stands in front of the message, whose bytes are all in the frame")
    func layout() {
        let frame = Frame("hello".utf8)
        #expect(frame.bytes.count == Frame.headroom + 5)
        #expect(frame.message.elementsEqual("hello".utf8))
        #expect(frame == Frame(withHeadroom: frame.bytes))
    }
}
