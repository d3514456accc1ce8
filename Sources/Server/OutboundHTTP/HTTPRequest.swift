/// One request to send: its content, its address, and how long to wait for the response.
///
/// No headers are added except those that HTTP itself needs (`host`, `content-length`): libcurl's `accept`,
/// `user-agent`, `expect` and form `content-type` are left out. Redirects are not followed.
package struct HTTPRequest: Sendable {
    /// The method, an HTTP token in capitals such as `GET`.
    package var method: String
    /// An absolute `https:` or `http:` URL.
    package var url: String
    /// The headers in the order in which they are sent; an HTTP/2 connection sends the names in lower case.
    package var headers: [HTTPHeader]
    /// The body; empty means that there is no body.
    package var body: [UInt8]
    /// The time limit for the whole request, in milliseconds from ``HTTPClient/send(_:completion:)``, the time in the
    /// client's queue included.
    package var timeoutMilliseconds: Int64
    /// The names of the response headers to keep, in lower case.
    ///
    /// Other headers are dropped as they arrive.
    package var wantedHeaders: [String] = []
    /// The largest accepted response body, in bytes; a larger one fails with ``HTTPFailure/bodyTooLarge``.
    ///
    /// Default 1 MiB.
    package var bodyLimit = 1 << 20
    /// Whether a response counts only with its whole body.
    ///
    /// Default true. If false, a response whose body is lost, late or too large is reported with its status and an empty
    /// body: what the status says has happened.
    package var needsBody = true
    /// Whether a response over a version older than HTTP/2 is a failure (``HTTPFailure/notHTTP2``).
    ///
    /// Default false.
    package var requiresHTTP2 = false
    /// The addresses to which a connection may be made.
    ///
    /// Default ``AllowedAddresses/all``.
    package var addresses = AllowedAddresses.all

    /// A choice of addresses; a request that finds no other one fails.
    package enum AllowedAddresses: Sendable {
        /// All addresses.
        case all
        /// No address that is not reachable from everywhere, such as one of a private network or of this machine; the
        /// failure is ``HTTPFailure/privateAddress``.
        ///
        /// If the environment names a proxy, the request goes through it whatever `no_proxy` says: the proxy resolves the
        /// name, and no address is refused.
        case publicOnly
        /// Only addresses of this machine and of private networks (``OwnNetwork``); the failure is
        /// ``HTTPFailure/publicAddress``.
        ///
        /// No proxy is used: it would resolve the name, and could connect to any address.
        case ownNetworkOnly
    }

    /// The user for whom the request is; nil = none.
    ///
    /// The places for requests that resolve a name or connect are given to users in turn, and only a few to each.
    package var user: String?
    /// Whether the server knows the host by itself, so that no user has named it.
    ///
    /// Default false. Such a request also gets the places that are reserved for known hosts.
    package var isToKnownHost = false

    /// Creates a request with its usual parts; the other properties have defaults.
    package init(
        method: String,
        url: String,
        headers: [HTTPHeader] = [],
        body: [UInt8] = [],
        timeoutMilliseconds: Int64
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeoutMilliseconds = timeoutMilliseconds
    }
}

extension HTTPRequest {
    /// Returns whether a text is `https://host` or `https://host:port`, to which a request's path can be appended.
    package static func isSecureOrigin(_ text: String) -> Bool {
        let rest = text.dropFirst("https://".count)
        return text.hasPrefix("https://") && !rest.isEmpty
            && rest.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"/?#@\\".utf8.contains($0) }
    }
}

/// A header's name and value.
package struct HTTPHeader: Equatable, Sendable {
    /// The name; lower case in a response.
    package var name: String
    /// The value, without white space around it.
    package var value: String

    /// Creates a header of a name and a value.
    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Whether the header can be sent: its name consists of token characters (RFC 9110, section 5.6.2), and its value
    /// has no control characters except tabs.
    ///
    /// Other headers are refused before libcurl sees them. libcurl would send a line break in a value unchanged, and
    /// the server would read a second header.
    var isSendable: Bool {
        !name.isEmpty && name.utf8.allSatisfy(Self.isToken)
            && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 9 }
    }

    static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

/// The response to a request.
package struct HTTPResponse: Equatable, Sendable {
    /// The status code, such as 200.
    package var status: Int
    /// The headers that the request wanted, names in lower case, in the order of arrival.
    package var headers: [HTTPHeader]
    /// The body: complete, or empty if it was lost (``HTTPRequest/needsBody``).
    package var body: [UInt8]
    /// The HTTP version of the response.
    package var version: HTTPVersion

    /// Returns the value of the first header with this (lower-case) name.
    package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    /// Creates a response of these parts.
    package init(status: Int, headers: [HTTPHeader] = [], body: [UInt8] = [], version: HTTPVersion = .http2) {
        self.status = status
        self.headers = headers
        self.body = body
        self.version = version
    }
}

/// A version of HTTP, oldest first.
package enum HTTPVersion: Int, Comparable, Sendable {
    /// HTTP/1.0.
    case http1
    /// HTTP/1.1.
    case http11
    /// HTTP/2.
    case http2
    /// HTTP/3.
    case http3

    /// Returns whether `a` is older than `b`.
    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// The id of a request, with which the request can be cancelled; unique within one client.
package struct HTTPRequestID: Hashable, Sendable {
    let rawValue: UInt64
}
