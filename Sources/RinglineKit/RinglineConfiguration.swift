public import CallClient
public import CallCore
public import Foundation

extension Ringline {
    /// The settings of a kit, fixed when it is created.
    public struct Configuration: Sendable {
        /// The server's address, such as `https://calls.example.com`; the WebSocket is at `/ws` below it.
        public var server: URL
        /// The user who is logged in.
        public var user: UserID
        /// The app's bundle id, to which the server addresses pushes.
        public var bundleID: String
        /// The user's name as callees see it; `nil` = the name in the bearer token.
        public var displayName: String?
        /// The service of Apple to which the app's push tokens belong; `nil` = the server finds out.
        public var environment: Registration.Environment?
        /// The platform under which the device registers.
        public var platform = "ios"
        /// How long callees are rung: 5 to 120 s.
        public var ringTimeout = Moment.Duration.seconds(45)
        /// The largest number of calls at a time: one active call and the calls on hold; 1 to 16.
        ///
        /// `CallKitSystem` sets `CXProviderConfiguration.maximumCallGroups`; both must say the same.
        public var maximumCalls = 2

        /// Creates a configuration with default values for everything else.
        public init(server: URL, user: UserID, bundleID: String) {
            self.server = server
            self.user = user
            self.bundleID = bundleID
        }
    }

    /// What the kit needs from outside.
    @MainActor
    public struct Ports {
        /// Opens WebSockets.
        public var socket: any SocketOpener
        /// Sends requests.
        public var requests: any RequestSender
        /// Makes media.
        public var media: any MediaEngine
        /// Shows calls.
        public var system: any CallSystem
        /// Gets tokens.
        public var tokens: any TokenSource
        /// Keeps values.
        public var store: any ValueStore
        /// Tells the time.
        public var clock: any KitClock

        /// Creates the ports, with `URLSession` and the device's clock unless others are given.
        public init(
            media: any MediaEngine,
            system: any CallSystem,
            tokens: any TokenSource,
            store: any ValueStore,
            socket: (any SocketOpener)? = nil,
            requests: (any RequestSender)? = nil,
            clock: (any KitClock)? = nil
        ) {
            self.media = media
            self.system = system
            self.tokens = tokens
            self.store = store
            let transport = socket == nil || requests == nil ? URLSessionTransport() : nil
            self.socket = socket ?? transport ?? URLSessionTransport()
            self.requests = requests ?? transport ?? URLSessionTransport()
            self.clock = clock ?? DeviceClock()
        }
    }
}
