package import CallPorts

/// The senders of what leaves the server by other ways than sockets and responses.
package struct Senders: Sendable {
    /// The pushes' sender.
    let push: any PushSender
    /// The sender of the events for the app's backend; `nil` = no endpoint is configured.
    let events: (any EventSender)?

    /// The decider; `nil` = no backend is asked about calls.
    let decider: (any CallDecider)?

    /// These senders.
    package init(
        push: any PushSender,
        events: (any EventSender)? = nil,
        decider: (any CallDecider)? = nil
    ) {
        self.push = push
        self.events = events
        self.decider = decider
    }
}
