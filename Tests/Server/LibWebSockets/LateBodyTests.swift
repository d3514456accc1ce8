import LibWebSockets
import ServerTesting
import Testing

extension EveryTest {
    @Suite("Bodies that come too late")
    struct LateBodyTests {
        @Test(
            "A body that stops or trickles is refused with 408 at its time limit, and other connections go on meanwhile",
            arguments: ["Content-Length: 10000", "Transfer-Encoding: chunked"],
            [false, true]
        )
        func late(_ line: String, trickles: Bool) throws {
            // The library would end the connection of a client that pauses by its own limit, that of handshakes.
            func limits(_ configuration: inout ServerConfiguration) {
                configuration.handshakeTimeoutSeconds = 1
                (configuration.bodyTimeoutSeconds, configuration.closeTimeoutSeconds) = (3, 1)
            }
            try TestServer.run(limits) { test in
                let late = Peer(port: test.port)
                late.send("POST /late HTTP/1.1\r\nHost: x\r\n\(line)\r\n\r\n2710\r\nb")
                let other = Peer(port: test.port)
                var areOthersServed = true
                let isRefused = wait {
                    if trickles { late.send("b") }
                    other.send("POST /other HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nb")
                    areOthersServed = areOthersServed && other.readResponse()?.status == 200
                    return !areOthersServed || late.hasBytes
                }
                #expect(isRefused && areOthersServed)
                let response = late.readResponse()
                #expect(response?.status == 408 && response?.header("connection") == "close" && late.isEnded())
                #expect(response?.body.contains(#""code":"request_timeout""#) == true)
                // It is cut off although it never closes, and may go on sending.
                let isCutOff = wait {
                    if trickles { late.send("b") }
                    return test.onLoop { $0.connectionCount } == 1
                }
                #expect(isCutOff)
                #expect(Set(test.events) == ["POST /other 1"])
            }
        }
    }
}
