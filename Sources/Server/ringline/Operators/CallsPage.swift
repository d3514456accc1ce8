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

    /// Reads the page's files; `nil` = the settings ask for no page.
    init?(_ settings: ServeSettings, audit: AuditLog, _ log: ServerLog) throws(UsageError) {
        guard let folder = settings.operatorPages, settings.admin != nil else { return nil }
        files = try PageFiles(Self.page, in: folder)
        records = try CallsReader(settings, log)
        self.audit = audit
    }

    /// Checks that the page's files can be read; returns what is well, or `nil` if the settings ask for no page.
    static func check(_ settings: ServeSettings) throws(UsageError) -> String? {
        guard let folder = settings.operatorPages else { return nil }
        _ = try PageFiles(page, in: folder)
        return "its files are in \(folder)"
    }

    func file(for head: RequestHead) -> Response? { files.response(at: head.path, policy: Self.policy) }

    func read(
        _ request: OperatorRequest,
        for service: UserID,
        _ respond: @escaping @Sendable (Reply) -> Void
    ) {
        let subject: (String, AuditLog.Value)? =
            switch request {
            case .overview: nil
            case .calls(let user, _, _): ("user", .text(user.text))
            case .namesakes(let id, _): ("callId", .text(id.text))
            case .timeline(let choice): ("callId", .text(choice.id.text))
            }
        audit.write("calls_read", [subject, ("service", .text(service.text))].compactMap { $0 })
        records.read(request, respond)
    }
}
