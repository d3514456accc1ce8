import CPostgres

/// The server, the database and the way to connect, from a URL such as `postgres://user@host:5432/db?sslmode=require`.
///
/// libpq parses the URL, so several hosts, `service`, `sslmode` and libpq's other parameters have their usual meaning.
/// For a parameter that neither the URL nor `defaults` contains, libpq uses its environment variable, such as `PGHOST`
/// or `PGPASSFILE`.
package struct ConnectionSettings: Equatable, Sendable {
    /// A parameter of libpq and its value.
    struct Option: Equatable, Sendable {
        let keyword: String
        var value: String
    }

    /// The parameters; each keyword occurs once.
    private(set) var options: [Option]

    /// The reason why a text cannot be parsed; the reason does not quote the text, which may contain a password.
    package struct Invalid: Error, Equatable, Sendable {
        /// The reason in a few words.
        package let reason: String

        /// Creates an error with this reason.
        package init(reason: String) { self.reason = reason }
    }

    /// Parses a URL or a libpq connection string.
    /// - Parameters:
    ///   - url: The URL, or a connection string such as `host=db dbname=calls`.
    ///   - password: The password, which replaces one in `url`; `nil` = that one, if there is one.
    /// - Throws: ``Invalid``.
    package init(url: String, password: String? = nil) throws(Invalid) {
        guard !url.utf8.contains(0) else { throw Invalid(reason: "it contains a zero byte") }
        guard url.hasPrefix("postgres://") || url.hasPrefix("postgresql://") || url.contains("=") else {
            throw Invalid(reason: "it does not begin with postgres://")
        }
        guard !Self.hasAmbiguousPassword(url) else {
            throw Invalid(reason: "in a user name, a password or a database name, write %2F for / and %40 for @")
        }
        var message: UnsafeMutablePointer<CChar>?
        guard let parsed = PQconninfoParse(url, &message) else {
            // libpq's message may quote the whole text.
            PQfreemem(message)
            throw Invalid(reason: "it must have the form postgres://user@host:port/database?parameter=value")
        }
        defer { PQconninfoFree(parsed) }
        var given: [Option] = []
        var next = parsed
        while let keyword = next.pointee.keyword {
            if let value = next.pointee.val {
                given.append(Option(keyword: String(cString: keyword), value: String(cString: value)))
            }
            next += 1
        }
        options = Self.defaults.filter { preset in !given.contains { $0.keyword == preset.keyword } } + given
        try checkPorts()
        if let password { self = with(password: password) }
    }

    /// Returns whether a URL contains an `@` that is neither escaped nor the one after the user and the password.
    ///
    /// libpq ends the user and the password at the first `@` or `/`. If a password contains one of them, libpq takes
    /// the rest of the password for the host, the port or the database, which are shown in messages.
    private static func hasAmbiguousPassword(_ url: String) -> Bool {
        guard url.hasPrefix("postgres://") || url.hasPrefix("postgresql://") else { return false }
        let address = url.drop { $0 != "/" }.dropFirst(2)
        let end = address.firstIndex { $0 == "@" || $0 == "/" } ?? address.endIndex
        let rest = end < address.endIndex && address[end] == "@" ? address[end...].dropFirst() : address
        return rest.prefix { $0 != "?" }.contains("@")
    }

    /// Throws unless each port is a number; the reason does not quote the port, which may be a part of a password.
    private func checkPorts() throws(Invalid) {
        for port in (value("port") ?? "").split(separator: ",") where UInt16(port) == nil || UInt16(port) == 0 {
            throw Invalid(reason: "a port is not a number from 1 to 65535; in a password, write %2F for /")
        }
    }

    /// Returns the same settings with another password.
    package func with(password: String) -> Self {
        var copy = self
        copy.options.removeAll { $0.keyword == "password" }
        copy.options.append(Option(keyword: "password", value: password))
        return copy
    }

    /// The values of parameters that the URL does not contain; they go before libpq's environment variables.
    ///
    /// The first five give up a host after some seconds: while connecting, on an idle connection (keep-alives), and
    /// when the host does not acknowledge the bytes that were sent to it (`tcp_user_timeout`, in milliseconds).
    private static let defaults = [
        Option(keyword: "connect_timeout", value: "3"),
        Option(keyword: "keepalives_idle", value: "5"),
        Option(keyword: "keepalives_interval", value: "3"),
        Option(keyword: "keepalives_count", value: "3"),
        Option(keyword: "tcp_user_timeout", value: "14000"),
        Option(keyword: "fallback_application_name", value: "ringline"),
        // With several hosts, standbys are skipped.
        Option(keyword: "target_session_attrs", value: "read-write"),
        Option(keyword: "client_encoding", value: "UTF8"),
    ]

    func value(_ keyword: String) -> String? { options.first { $0.keyword == keyword }?.value }

    /// The server and the database, without user and password: `postgres://host:5432/db`.
    package var shown: String {
        let hosts = (value("host") ?? value("hostaddr") ?? "").split(separator: ",", omittingEmptySubsequences: false)
        let ports = (value("port") ?? "").split(separator: ",", omittingEmptySubsequences: false)
        let servers = hosts.enumerated().map { index, host in
            let port = ports.count == hosts.count ? ports[index] : ports.first ?? ""
            return String(host) + (port.isEmpty ? "" : ":\(port)")
        }
        return "postgres://\(servers.joined(separator: ","))/\(value("dbname") ?? value("user") ?? "")"
    }

    /// Whether a password is among the parameters: the user's, or the one of a TLS key (`sslpassword`).
    package var hasPassword: Bool { value("password") != nil || value("sslpassword") != nil }
    /// The user; `nil` = libpq chooses one (`PGUSER`, or else the name of the process's user).
    package var user: String? { value("user") }
    /// The database, or else the user, after whom libpq names the database by default; `nil` if neither is given.
    package var database: String? { value("dbname") ?? value("user") }
    /// The hosts, separated by commas; `nil` = libpq chooses one (`PGHOST`, or else the local socket).
    package var host: String? { value("host") }

    /// The files that libpq opens for a connection, by the parameter that names each.
    package var files: [(parameter: String, path: String)] {
        ["sslcert", "sslkey", "sslrootcert", "sslcrl", "passfile"].compactMap { name in
            value(name).flatMap { $0.isEmpty || $0 == "system" ? nil : (name, $0) }
        }
    }

    /// The same settings, but with a connection to a standby accepted as well.
    ///
    /// A demand other than that for the primary, such as `prefer-standby`, stays.
    package var acceptingStandbys: Self {
        var copy = self
        for index in copy.options.indices where copy.options[index].keyword == "target_session_attrs" {
            if copy.options[index].value == "read-write" { copy.options[index].value = "any" }
        }
        return copy
    }
}

extension ConnectionSettings {
    /// The parameters of the attempts to connect, in order: one for each host, so that each has its time.
    ///
    /// libpq chooses among several hosts itself if only its environment or a service file names them.
    var attempts: [[Option]] {
        let hosts = list("host"), addresses = list("hostaddr"), ports = list("port")
        let count = max(hosts.count, addresses.count)
        guard count > 1, hosts.isEmpty || addresses.isEmpty || hosts.count == addresses.count,
            ports.count <= 1 || ports.count == count
        else { return [options] }
        // As in libpq, the first choice is looked for at each host before the second one is.
        let choices = value("target_session_attrs") == "prefer-standby" ? ["standby", "any"] : [nil]
        return choices.flatMap { choice in
            (0..<count).map { index in
                var attempt = options
                for option in attempt.indices {
                    switch attempt[option].keyword {
                    case "host": attempt[option].value = hosts[index]
                    case "hostaddr": attempt[option].value = addresses[index]
                    case "port" where ports.count > 1: attempt[option].value = ports[index]
                    case "target_session_attrs": attempt[option].value = choice ?? attempt[option].value
                    default: break
                    }
                }
                return attempt
            }
        }
    }

    /// The time for each address of a host (`connect_timeout`); `nil` = without limit.
    var connectTimeout: Duration? {
        guard let seconds = value("connect_timeout").flatMap({ Int64($0) }), seconds > 0 else { return nil }
        // As in libpq, a limit of one second counts as two.
        return .seconds(max(2, seconds))
    }

    /// The parts of a value that has one for each host.
    private func list(_ keyword: String) -> [String] {
        guard let text = value(keyword), !text.isEmpty else { return [] }
        return text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }
}
