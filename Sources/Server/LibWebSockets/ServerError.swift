/// The reason why a ``Server`` could not be created; each case says in one sentence what to do about it.
package enum ServerError: Error, Equatable, CustomStringConvertible {
    /// Another socket already listens on this address and port (`EADDRINUSE`).
    case portTaken(host: String, port: Int)
    /// `socket`, `bind` or `listen` failed for another reason.
    case cannotListen(host: String, port: Int, reason: String)
    /// The host is not an IPv4 or IPv6 address.
    case badAddress(String)
    /// A PEM file cannot be read.
    case unreadableFile(path: String, reason: String)
    /// OpenSSL does not accept the certificate together with this key.
    case badCertificate(path: String, reason: String)
    /// libwebsockets' libuv plugin is not installed.
    case eventLoopPluginMissing
    /// Any other failure of libwebsockets, such as of `lws_create_context`.
    case library(String)
    /// OpenSSL could not create something that TLS needs.
    case openSSL(String)
    /// libuv could not create an event loop.
    case eventLoop(String)
    /// The system could not start a thread for each event loop.
    case threads(String)

    /// One sentence for the operator.
    package var description: String {
        switch self {
        case .portTaken(let host, let port):
            "Port \(port) on \(host) is taken by another process: stop it, or choose another port."
        case .cannotListen(let host, let port, let reason): "Cannot listen on port \(port) of \(host): \(reason)."
        case .badAddress(let host): "“\(host)” is not an IPv4 or IPv6 address to listen on."
        case .unreadableFile(let path, let reason): "Cannot read \(path): \(reason)."
        case .badCertificate(let path, let reason): "The certificate \(path) cannot be used with its key: \(reason)."
        case .eventLoopPluginMissing:
            "libwebsockets cannot load its libuv plugin: apt-get install libwebsockets-evlib-uv."
        case .library(let reason): "libwebsockets did not start: \(reason)."
        case .openSSL(let reason): "OpenSSL failed: \(reason)."
        case .eventLoop(let reason): "The event loop of libuv did not start: \(reason)."
        case .threads(let reason): "The threads of the event loops did not start: \(reason)."
        }
    }
}
