public import CallCore

extension CallClient {
    /// What a client core is told of its surroundings once.
    public struct Configuration: Equatable, Sendable {
        /// The user.
        public var user: UserID
        /// This device, by the name it gives on its socket, in requests, and at its registration.
        public var device: DeviceID
        /// What the names of this core's signals begin with: at most 40 bytes, different in each launch of the app.
        ///
        /// The server takes a name that it has seen from this device for a repeat, so this is where chance is handed in.
        public var namePrefix: String
        /// The user's name as callees see it; `nil` = the token's.
        public var displayName: String?
        /// For how long callees are rung, 5 to 120 s.
        public var ringFor = Moment.Span.seconds(45)
        /// `CXProviderConfiguration.maximumCallGroups`, from 1: calls that may be held beside the one that is talked in.
        public var maximumCallGroups = 2
        /// `CXProviderConfiguration.maximumCallsPerCallGroup`, from 1.
        ///
        /// With ``maximumCallGroups`` it says how many calls there may be at once; calls are not merged.
        public var maximumCallsPerCallGroup = 1
        /// By how much this device's clock is ahead of the server's, as an earlier run found; `nil` = not known.
        public var clockSkew: Moment.Span?

        /// A configuration with the defaults.
        public init(user: UserID, device: DeviceID, namePrefix: String) {
            self.user = user
            self.device = device
            self.namePrefix = namePrefix
        }

        /// How many calls there may be at once.
        public var capacity: Int { max(1, min(16, maximumCallGroups)) * max(1, min(16, maximumCallsPerCallGroup)) }
    }
}
