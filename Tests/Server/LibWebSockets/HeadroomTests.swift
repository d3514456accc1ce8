import CallWire
import ServerTesting
import Testing

@testable import LibWebSockets

@Suite("The headroom of a frame")
struct HeadroomTests {
    @Test("The headroom is enough for the installed library, and a library that wants more prevents the start")
    func enough() throws {
        try LibraryContext.checkHeadroom()
        try LibraryContext.checkHeadroom(wanted: Frame.headroom)
        #expect(
            throws: ServerError.library(
                "its LWS_PRE is 17 bytes, but a frame reserves 16; build Ringline with a larger Frame.headroom"
            )
        ) {
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
