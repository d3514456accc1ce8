public import CallClient
public import CallCore
public import Foundation

extension Ringline {
    /// The settings of a kit, fixed when it is created.
    public struct Configuration: Sendable {
        /// The server's address, `http` or `https`, such as `https://calls.example.com`; it may have a path.
        public var server: URL
        /// The user who is logged in, and whom the tokens name.
        public var user: UserID
        /// The app's bundle id, such as `com.example.chat`, to which the server addresses pushes.
        public var bundleID: String
        /// The user's name as callees see it; `nil` = the name in the bearer token.
        public var displayName: String?
        /// The address under which callees' systems show this user, such as a phone number; `nil` = the user id.
        public var handle: String?
        /// The kind of address in ``handle`` or, without a handle, in user ids: <doc:PhoneNumbers>.
        public var handleType = CallClient.HandleType.generic
        /// The service of Apple to which the app's push tokens belong; `nil` = the server finds out.
        public var environment: Registration.Environment?
        /// The platform under which the device registers for pushes (protocol, section 5.5).
        public var platform = "ios"
        /// The id of this installation, for an app on which several users may be signed in (protocol, section 5.5): a
        /// random text of 16 to 64
        /// characters, the same for all of them; `nil` = one user at a time.
        public var installation: String?
        /// The name of the sound of an alert that rings, a file in the app; `nil` = the system's.
        public var sound: String?
        /// Whether the app has a notification service extension that may change alerts before they are shown; `nil` = the
        /// server keeps what it knows.
        public var mutableContent: Bool?
        /// How long callees are rung: 5 to 120 s; 45 s by default.
        public var ringTimeout = Moment.Duration.seconds(45)
        /// The largest number of calls at a time, one active and the others on hold: 1 to 16; 2 by default.
        ///
        /// With `CallKitSystem`, it must be the product of its provider's `maximumCallGroups` and `maximumCallsPerCallGroup`.
        public var maximumCalls = 2

        /// Creates a configuration with default values for everything else.
        public init(server: URL, user: UserID, bundleID: String) {
            self.server = server
            self.user = user
            self.bundleID = bundleID
        }
    }

    /// The ports of a kit: the objects through which it reaches the network, the system and the app.
    @MainActor
    public struct Ports {
        /// Opens WebSockets.
        public var socket: any SocketOpener
        /// Sends requests.
        public var requests: any RequestSender
        /// Makes descriptions, and sends and plays audio and video.
        public var media: any MediaEngine
        /// Shows calls, and reports the user's actions and pushes.
        public var system: any CallSystem
        /// Gets the user's bearer tokens.
        public var tokens: any TokenSource
        /// Keeps the device's id and the clock skew over launches.
        public var store: any ValueStore
        /// Has the time and a timer.
        public var clock: any KitClock

        /// Creates the ports; sockets and requests use `URLSession` unless others are given, and the clock is the device's.
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
