public import CallCore

extension CallClient {
    /// The settings of a client core, fixed when it is created.
    public struct Configuration: Equatable, Sendable {
        /// The user of this device.
        public var user: UserID
        /// This device's id, which the app also gives when it opens a connection, in requests, and when it registers
        /// for pushes.
        public var device: DeviceID
        /// The prefix of this core's signal ids: at most 40 bytes, and different in each launch of the app.
        ///
        /// The server treats an id that it has already received from this device as a repeat. The core makes no random
        /// numbers, so pass a random prefix.
        public var signalIDPrefix: String
        /// The user's name as callees see it; `nil` = the name in the user's bearer token.
        public var displayName: String?
        /// The address under which callees' systems show this user, such as a phone number; `nil` = the user id.
        public var handle: String?
        /// The kind of address in ``handle`` or, without a handle, in user ids.
        ///
        /// Without a ``handle``, the callees of own calls are shown with this kind, too.
        public var handleType = HandleType.generic
        /// How long callees are rung: 5 to 120 s.
        public var ringTimeout = Moment.Duration.seconds(45)
        /// `CXProviderConfiguration.maximumCallGroups`, from 1: one active call, and the calls on hold.
        public var maximumCallGroups = 2
        /// `CXProviderConfiguration.maximumCallsPerCallGroup`, from 1.
        ///
        /// The product with ``maximumCallGroups`` limits the number of calls (``capacity``). The core does not merge
        /// calls into a conference.
        public var maximumCallsPerCallGroup = 1
        /// Whether the app says of each reported call whether the system shows it (``Input/reportSucceeded(_:)``,
        /// ``Input/reportFailed(_:_:)``).
        ///
        /// The core then sends `ringing` only when the system shows the call, so that the caller hears no ringback tone
        /// for a device on which a Focus keeps the call back. Otherwise it sends `ringing` with the report.
        public var awaitsReports = false
        /// How far this device's clock is ahead of the server's clock, as an earlier launch measured it; `nil` =
        /// unknown.
        ///
        /// It is the stored ``CallClient/clockSkew`` of that launch.
        public var clockSkew: Moment.Duration?

        /// Creates a configuration with default values for everything else.
        public init(user: UserID, device: DeviceID, signalIDPrefix: String) {
            self.user = user
            self.device = device
            self.signalIDPrefix = signalIDPrefix
        }

        /// The kind of address in the app's user ids; ``HandleType/generic`` if ``handle`` replaces them.
        public var userIDType: HandleType { handle == nil ? handleType : .generic }

        /// The largest number of calls at a time: ``maximumCallGroups`` times ``maximumCallsPerCallGroup``, each
        /// limited to 1...16.
        public var capacity: Int { max(1, min(16, maximumCallGroups)) * max(1, min(16, maximumCallsPerCallGroup)) }
    }
}
