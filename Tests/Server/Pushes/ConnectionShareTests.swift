import OutboundHTTP
import Testing

@testable import Pushes

@Suite("The shares of the connections")
struct ConnectionShareTests {
    @Test("Those of all services are 42 together")
    func shares() {
        let all = [APNsConfiguration.share, FirebaseConfiguration.share, .browsers, .keySet, .backend, .decisions]
        #expect(all.reduce(0) { $0 + $1.count } == 42)
    }
}
