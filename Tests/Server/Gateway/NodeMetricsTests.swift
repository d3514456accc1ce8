import Switchboard
import Testing

@testable import Gateway

@Suite("The metrics of one node of several")
struct NodeMetricsTests {
    private func page(_ node: MetricsPage.NodeFigures?) -> [Substring] {
        let figures = MetricsPage.ServerFigures(
            version: "1",
            connections: 0,
            commitsUnderWay: 0,
            certificateExpiry: nil,
            queueDrops: 0,
            connectsRefused: 0,
            unjoinedRefused: 0,
            unauthenticatedDropped: [],
            requestsRefused: [],
            originsRefused: 0,
            packetsRefused: [],
            process: ProcessFigures(.init(), connections: 0),
            logLines: LineFigures(),
            keySet: nil,
            outbound: [],
            auditLines: LineFigures(),
            refusedTokens: [],
            clockLeaps: 0,
            clockDifference: 0,
            node: node
        )
        return MetricsPage(Metrics(), calls: [:], figures).text.split(separator: "\n")
    }

    @Test("A server that owns its store alone has none of them")
    func none() { #expect(!page(nil).contains { $0.contains("ringline_node_") }) }

    @Test("Each figure is on the page, with its type")
    func figures() {
        let lines = page(
            .init(
                isOwner: true,
                isReady: false,
                epoch: 7,
                takeovers: 3,
                links: 2,
                unconfirmedEvents: 11,
                waitingRefused: 5,
                waitingBytes: 4_096
            )
        )
        let wanted = [
            "owner": 1, "ready": 0, "epoch": 7, "takeovers_total": 3, "links": 2, "unconfirmed_events": 11,
            "waiting_refused_total": 5, "waiting_bytes": 4_096,
        ]
        for (name, value) in wanted {
            #expect(lines.contains("ringline_node_\(name) \(value)"))
            let type = name.hasSuffix("_total") ? "counter" : "gauge"
            #expect(lines.contains("# TYPE ringline_node_\(name) \(type)"))
        }
        #expect(lines.filter { $0.hasPrefix("ringline_node_") }.count == wanted.count)
    }
}
