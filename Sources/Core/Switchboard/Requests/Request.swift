package import CallCore
import CallPorts
package import CallWire

extension Switchboard {
    /// A request that a user may make over HTTP (protocol, section 5), after its path and body were parsed.
    ///
    /// Most requests belong to a group. A group's file has its requests, their names, and what they do.
    package enum Request: Sendable {
        /// Append a signal.
        case signal(SignalMessage)
        /// Return everything that a device needs to know about a call.
        case fetch(CallID, Fetch)
        /// End a call; `peer` names the other user, because one callId may be in use with several users.
        case end(CallID, peer: UserID? = nil, device: DeviceID?)
        /// Return what the server knows about calls.
        case calls(CallRequest)
        /// Read or change the user's devices.
        case devices(DeviceRequest)
        /// Read or change whom the user blocks, and do-not-disturb.
        case blocks(BlockRequest)
        /// Read or change the call directory.
        case numbers(NumberRequest)
        /// Read or change schedules of a user; `nil` = of the user that makes the request.
        case schedules(ScheduleRequest, of: UserID?)
        /// Return a credential or a key, or revoke tokens.
        case credentials(CredentialRequest)
        /// Read the feed of events.
        case feed(FeedRead)
    }

    /// The parameters of a fetch.
    package struct Fetch: Equatable, Sendable {
        /// The other user of the call, because one callId may be in use with several users; `nil` = the live call, else
        /// the newest.
        package var peer: UserID?
        /// The cursor after which signals are returned; `nil` = return all signals.
        package var since: ClientMessage.Cursor?
        /// How long to wait for a signal; 0 = respond immediately.
        package var wait: Moment.Duration
        /// Whether to return only an array of the signals.
        package var isArray: Bool
        /// The device that makes the request; `nil` = the request names none.
        package var device: DeviceID?

        /// A fetch with the given parameters.
        package init(
            peer: UserID? = nil,
            since: ClientMessage.Cursor? = nil,
            wait: Moment.Duration = .seconds(0),
            isArray: Bool = false,
            device: DeviceID? = nil
        ) {
            self.peer = peer
            self.since = since
            self.wait = wait
            self.isArray = isArray
            self.device = device
        }
    }
}

extension Switchboard.Request {
    /// The request's name in the log.
    var name: Switchboard.LogWord {
        switch self {
        case .signal: "signal"
        case .fetch: "fetch"
        case .end: "end"
        case .calls(let asked): asked.name
        case .devices(let asked): asked.name
        case .blocks(let asked): asked.name
        case .numbers(let asked): asked.name
        case .schedules: "schedules"
        case .credentials(let asked): asked.name
        case .feed: "feed"
        }
    }

    /// The callId that the request names.
    var callID: CallID? {
        switch self {
        case .signal(let message): message.callID
        case .fetch(let id, _), .end(let id, _, _): id
        case .calls(let asked): asked.callID
        case .feed(let feed): feed.callID
        case .devices, .blocks, .numbers, .schedules, .credentials: nil
        }
    }

    /// The device that the request names as the one that makes it.
    var device: DeviceID? {
        switch self {
        case .signal(let message): message.device
        case .fetch(_, let fetch): fetch.device
        case .end(_, _, let device): device
        case .calls, .devices, .blocks, .numbers, .schedules, .credentials, .feed: nil
        }
    }
}
