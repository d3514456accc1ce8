import CallPorts
import LibWebSockets

/// What the clients' listener answers at `/`: a few lines for a person who opens the server's address.
///
/// The lines are the same for everybody and name nothing of this server but its version.
struct FrontPage: Sendable {
    static let path = "/"
    private let body: [UInt8]

    init(version: String) {
        let lines = """
            Ringline \(version): call signaling for VoIP and WebRTC apps.

            Apps connect here; there is no page for people.

              WebSocket   /ws, with a token
              REST        /api/calls/signal, /api/me/devices and others
              Socket.IO   /socket.io/
              Health      /healthz, /readyz

            See it work:    ringline try; ringline demo
            Documentation:  README.md in Ringline's source; ringline --help

            """
        body = Array(lines.utf8)
    }

    /// Returns the page with the headers of every response.
    func response(_ headers: [HTTPField]) -> Response {
        Response(
            status: 200,
            contentType: "text/plain; charset=utf-8",
            headers: headers + [.init("X-Content-Type-Options", "nosniff")],
            body: body
        )
    }
}
