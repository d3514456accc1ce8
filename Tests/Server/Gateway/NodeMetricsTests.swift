import Switchboard
import Testing

@testable import Gateway

/// Returns the lines of a metrics page with 7 sockets, 1 dropped for each of two reasons, and these figures.
private func page(_ node: MetricsPage.NodeFigures? = nil, _ metrics: Metrics = Metrics()) -> [Substring] {
    let figures = MetricsPage.ServerFigures(
        version: "1",
        connections: 7,
        commitsUnderWay: 0,
        certificateExpiry: nil,
        queueDrops: 0,
        connectsRefused: 0,
        unjoinedRefused: 0,
        unauthenticatedDropped: [("slow", 1), ("handshakes", 1)],
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
    return MetricsPage(metrics, calls: [:], figures).text.split(separator: "\n")
}

@Suite("The metrics of one node of several")
struct NodeMetricsTests {
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

@Suite("Metrics that were renamed")
struct RenamedMetricTests {
    @Test(
        "Each is written under its old name too, with the same type, labels and values",
        arguments: MetricsPage.formerNames
    )
    func alias(_ name: (old: String, new: String)) {
        var metrics = Metrics()
        metrics.connections = 3
        metrics.closes[4409] = 5
        let lines = page(nil, metrics).map(String.init)
        func family(_ name: String) -> [String] {
            lines.filter { $0.hasPrefix("\(name) ") || $0.hasPrefix("\(name){") || $0.hasPrefix("# TYPE \(name) ") }
        }
        #expect(!family(name.new).isEmpty)
        #expect(family(name.old) == family(name.new).map { $0.replacing(name.new, with: name.old) })
        #expect(lines.contains("# HELP \(name.old) Old name of \(name.new); goes in the next release."))
    }

    @Test("No metric has the old name of another, and no label value is written twice")
    func values() {
        let names = MetricsPage.formerNames.flatMap { [$0.old, $0.new] }
        #expect(Set(names).count == names.count)
        let lines = page()
        #expect(Set(lines).count == lines.count)
        #expect(lines.contains("ringline_tcp_connections 7") && lines.contains("ringline_connections 7"))
        #expect(lines.contains("ringline_strangers_dropped_total{reason=\"slow\"} 1"))
        #expect(!lines.contains { $0.contains("kept_bytes") })
    }
}
