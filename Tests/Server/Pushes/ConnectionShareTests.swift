import OutboundHTTP
import Testing

@testable import Pushes

@Suite("The shares of the connections")
struct ConnectionShareTests {
    @Test("Those of all services are 40 together")
    func shares() {
        let all = [APNsConfiguration.share, FirebaseConfiguration.share, .browsers, .keySet, .backend]
        #expect(all.reduce(0) { $0 + $1.count } == 40)
    }
}
