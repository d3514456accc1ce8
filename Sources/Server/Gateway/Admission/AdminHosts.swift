import CallPorts
import LibWebSockets

/// The names by which the operators' listener may be addressed.
///
/// A page of the internet can make its own name lead to this machine (DNS rebinding), and then read what the listener
/// answers. Its name is in `Host`. Names that nobody can register are admitted: addresses, `localhost`, names without a
/// dot, and names of services in Kubernetes. All others must be configured.
package struct AdminHosts: Sendable {
    private let names: Set<String>

    /// Admits these names too.
    init(_ names: Set<String>) { self.names = names }

    /// Whether a request with this `Host` is answered; a request without one comes from no browser.
    func admits(_ host: String?) -> Bool {
        guard let host else { return true }
        guard let authority = Authority(host) else { return false }
        let name = authority.host
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        if name.hasPrefix("[") || labels.count == 1 || NumericAddress.canonical(name, isIPv6: false) != nil {
            return true
        }
        return Self.isService(labels) || names.contains(name)
    }

    /// Whether a name is that of a service in Kubernetes: `name.namespace.svc`, alone or in a cluster's domain.
    ///
    /// The last part of that domain must be one that is never registered (`cluster.local`): `a.svc.example.com` may be
    /// anybody's.
    private static func isService(_ labels: [Substring]) -> Bool {
        guard let last = labels.last, labels.dropFirst().contains("svc") else { return false }
        return last == "svc" || privateDomains.contains(last)
    }

    /// The last parts of names that exist only in private networks.
    private static let privateDomains: Set<Substring> = [
        "local", "internal", "lan", "localdomain", "cluster", "corp", "home", "private", "test",
    ]

    /// The response to a request with another name.
    static let refusal = Response.problem(
        403,
        code: "forbidden",
        message: "this Host is not allowed; see --admin-host"
    )
}

extension AdminHosts {
    /// Returns a name in the operator's settings as it is compared; `nil` = it is no host name without a port.
    package static func configured(_ text: String) -> String? {
        guard let authority = Authority(text), authority.port == nil, !text.contains(":") else { return nil }
        return authority.host
    }
}
