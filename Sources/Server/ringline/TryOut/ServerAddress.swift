import LibWebSockets

/// The address of a server's WebSocket, made from what a user gives as `--url`.
struct ServerAddress: Equatable {
    let target: ClientTarget
    /// Whether the user gave another address, such as that of a browser.
    let isConverted: Bool

    /// Takes `http` for `ws`, `https` for `wss`, no scheme for `ws`, and adds the path `/ws` if there is none.
    init(_ given: String) throws(UsageError) {
        let schemes = ["ws": "ws", "http": "ws", "wss": "wss", "https": "wss"]
        let parts = given.firstRange(of: "://").map { (given[..<$0.lowerBound], given[$0.upperBound...]) }
        let (scheme, rest) = parts ?? ("ws", given[...])
        guard let known = schemes[scheme.lowercased()], var target = ClientTarget("\(known)://\(rest)") else {
            throw UsageError("--url must be like ws://127.0.0.1:8080/ws or wss://calls.example.com/ws, not '\(given)'")
        }
        let end = target.path.firstIndex(of: "?") ?? target.path.endIndex
        if target.path[..<end] == "/" { target.path = "/ws\(target.path[end...])" }
        self.target = target
        isConverted = target != ClientTarget(given)
    }
}
