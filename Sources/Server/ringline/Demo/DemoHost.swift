/// The names by which the demo's page may be asked for.
///
/// The page gives a token of either user to everybody who gets it. So it goes only to a browser that addresses this
/// machine itself: a page of the internet whose name leads to this machine gets nothing, because a browser sends that
/// name as `Host`.
struct DemoHost {
    /// The address on which the server listens.
    let listen: ListenAddress
    /// The address in the browser; `nil` = the one on which the server listens.
    let published: ListenAddress?

    /// Checks the addresses; `published` is the address at which a container's port is published.
    init(listen: ListenAddress?, published: String?) throws(UsageError) {
        let usual = ListenAddress(host: "127.0.0.1", port: 8_090)
        guard let published, !published.isEmpty else {
            self.published = nil
            self.listen = listen ?? usual
            guard ListenAddress.isLoopback(self.listen.host) else {
                throw UsageError(
                    "--listen: must be 127.0.0.1 or [::1], because the page gives its tokens to everybody, not "
                        + "'\(self.listen.host)'; in a container, see --published-on"
                )
            }
            return
        }
        guard let address = ListenAddress(published), address.port > 0, ListenAddress.isLoopback(address.host) else {
            throw UsageError(
                "--published-on: must be an address of the machine itself, as in 127.0.0.1:8090, not '\(published)'"
            )
        }
        // Docker's -p takes no names.
        self.published = address.host == "localhost" ? ListenAddress(host: "127.0.0.1", port: address.port) : address
        self.listen = listen ?? ListenAddress(host: "0.0.0.0", port: 8_090)
    }

    /// Returns the text for the user: the server listens on this port.
    func announcement(port: Int) -> String {
        let listening = ListenAddress(host: listen.host, port: port)
        let shown = published ?? listening
        var lines = ["demo on http://\(shown.text)/"]
        if published != nil {
            lines.append(
                "It listens on \(listening.text), and trusts that only \(shown.text) leads there: publish the port with "
                    + "-p \(shown.text):\(port), and for no other machine. A request that names another host gets no page."
            )
        }
        lines.append("Open it in a browser. Ctrl-C ends the demo, and forgets its calls.")
        lines.append(
            "For a browser on another machine, run there: ssh -L \(shown.port):\(shown.text) USER@THIS_MACHINE, and open "
                + "http://127.0.0.1:\(shown.port)/."
        )
        return lines.joined(separator: "\n")
    }
}
