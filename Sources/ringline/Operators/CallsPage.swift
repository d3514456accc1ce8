import CallCore
import CallPorts
import Gateway
import LibWebSockets
import ServerLog
import Switchboard

/// The page of `ringline serve` on which operators see why a call did not ring.
final class CallsPage: OperatorPage {
    /// The page's files.
    private static let page = PageFiles.Page(
        index: "/operators/index.html",
        paths: [
            "/page/page.css", "/page/ladder.css", "/page/ladder.js", "/operators/operators.css",
            "/operators/operators.js", "/operators/calls.js",
        ],
        setting: "operator-pages"
    )

    /// The content security policy; a text of a stranger's can neither become a script nor leave the page.
    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; \
        form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'
        """

    private let files: PageFiles
    private let records: CallsReader
    private let audit: AuditLog
    /// Whether only this machine can connect to the admin listener.
    private let isLocal: Bool

    /// Reads the page's files; `nil` = the settings ask for no page.
    init?(_ settings: ServeSettings, audit: AuditLog, _ log: ServerLog) throws(UsageError) {
        guard let folder = settings.operatorPages, let admin = settings.admin else { return nil }
        files = try PageFiles(Self.page, in: folder)
        records = try CallsReader(RecordsPlace(settings), log)
        isLocal = ListenAddress.isLoopback(admin.host)
        self.audit = audit
    }

    /// A page of the internet whose name leads to this machine gets nothing: the name is not this machine's own.
    ///
    /// On another address the machine's own names are not known, and the token alone protects the calls.
    func admits(host: String?) -> Bool { !isLocal || host.map(ListenAddress.isOwn) ?? false }

    func file(for head: RequestHead) -> HTTPResponse? { files.response(at: head.path, policy: Self.policy) }

    func read(
        _ request: OperatorRequest,
        for service: UserID,
        _ respond: @escaping @Sendable (Reply) -> Void
    ) {
        let subject: (String, AuditLog.Value) =
            switch request {
            case .calls(let user, _, _): ("user", .text(user.text))
            case .namesakes(let id, _): ("callId", .text(id.text))
            case .timeline(let choice): ("callId", .text(choice.id.text))
            }
        audit.write("calls_read", [subject, ("service", .text(service.text))])
        records.read(request, respond)
    }
}
