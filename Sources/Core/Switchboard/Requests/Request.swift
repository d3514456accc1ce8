package import CallCore
package import CallPorts
package import CallWire

extension Switchboard {
    /// A request that a user may make over HTTP (protocol, section 5), after its path and body were parsed.
    package enum Request: Sendable {
        /// Append a signal.
        case signal(SignalMessage)
        /// Return everything that a device needs to know about a call.
        case fetch(CallID, Fetch)
        /// End a call; `peer` names the other user, because one callId may be in use with several users.
        case end(CallID, peer: UserID? = nil, device: DeviceID?)
        /// Return the user's calls, newest first.
        case history(limit: Int, before: CallNumber?)
        /// Return the record of a call with another user; the client believes that it has just begun this call.
        case callJustBegun(with: UserID)
        /// Return state, legs and durations of a call; `peer` and `epoch` choose among several calls under one callId.
        case call(CallID, peer: UserID? = nil, epoch: UInt32? = nil)
        /// Return the timeline of a call.
        case timeline(CallID, peer: UserID? = nil, epoch: UInt32? = nil)
        /// Register a device.
        case register(DeviceRegistration)
        /// Return the user's devices.
        case devices
        /// Remove a device.
        case removeDevice(DeviceID)
        /// Return a credential for the TURN server.
        case turnCredential
        /// Return the public key that browsers need to subscribe to Web Push.
        case webPushKey
        /// Return the users that the user blocks.
        case blocks
        /// Block a user.
        case block(UserID)
        /// Remove the block of a user.
        case unblock(UserID)
        /// Block a phone number.
        case blockNumber(PhoneNumber)
        /// Remove the block of a phone number.
        case unblockNumber(PhoneNumber)
        /// Return a page of a list of the call directory.
        indirect case numbers(NumberQuery)
        /// Change the names for a user's callers, or those for all users (`nil`).
        indirect case updateNumbers(UserID?, NumberUpdate)
        /// Set do-not-disturb until a moment, or end it (`nil`).
        case doNotDisturb(until: Moment?)
        /// Read or change schedules of a user; `nil` = of the user that makes the request.
        case schedules(ScheduleRequest, of: UserID?)
        /// Refuse all tokens that were issued to a user so far; `nil` = to the user that makes the request.
        case revokeTokens(UserID?)
    }

    /// The parameters of a request for a page of a list of the call directory.
    package struct NumberQuery: Equatable, Sendable {
        /// The list.
        package var list: NumberList
        /// The client's place; `nil` = it has read nothing.
        package var cursor: NumberCursor?
        /// The largest number of lines.
        package var limit: Int
        /// The entity tags of the pages that the client has (`If-None-Match`).
        package var knownTags: [String]

        /// The largest number of lines that a client may ask for.
        package static let mostLines = 10_000

        /// A request with the given parameters.
        package init(
            _ list: NumberList = .identities,
            since cursor: NumberCursor? = nil,
            limit: Int = mostLines,
            knownTags: [String] = []
        ) {
            self.list = list
            self.cursor = cursor
            self.limit = limit
            self.knownTags = knownTags
        }
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
