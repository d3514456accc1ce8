import Glibc

/// Probes the addresses on which a server listens, and those through which the nodes of one database reach each other.
package enum NodeProbe {
    /// The result of an attempt to listen on an address.
    package enum Listening: Equatable {
        /// Nothing else listens there.
        case free
        /// Another socket listens there.
        case taken
        /// The user who asks may not listen there (`EACCES`); the server may be run by another user.
        case forbidden
        /// A server cannot listen there, for this reason.
        case impossible(String)
    }

    /// Tries to listen on a host's first address, for a moment.
    ///
    /// With `::` a server listens on IPv4 only if IPv6 is switched off.
    package static func listening(host: String, port: Int) -> Listening {
        let addresses: [ClientSocket.Address]
        do { addresses = try ClientSocket.addresses(of: host, port: port) } catch {
            return .impossible(error.description)
        }
        guard let address = addresses.first else { return .impossible("\(host) has no address") }
        switch ClientSocket.errorOfListening(on: address) {
        case 0: return .free
        case EADDRINUSE: return .taken
        case EACCES: return .forbidden
        case EADDRNOTAVAIL where host == "::", EAFNOSUPPORT where host == "::":
            return listening(host: "0.0.0.0", port: port)
        case EADDRNOTAVAIL: return .impossible("\(host) is no address of this machine")
        case let error: return .impossible(String(cString: strerror(error)).lowercased())
        }
    }

    /// Returns why the host's name has no address; `nil` if it has one.
    package static func faultOfName(_ host: String) -> String? {
        do {
            _ = try ClientSocket.addresses(of: host, port: 0)
            return nil
        } catch { return error.description }
    }

    /// Returns why no TCP connection to the address can be made; `nil` if one was made.
    ///
    /// The connection is closed at once.
    package static func faultOfConnecting(host: String, port: Int) -> String? {
        do {
            _ = try ClientSocket.connected(host: host, port: port, until: .now + .seconds(2))
            return nil
        } catch { return error.description }
    }
}
