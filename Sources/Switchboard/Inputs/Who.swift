public import CallCore

/// Who asks: what a verified token says.
public struct Who: Equatable, Sendable {
    /// The user.
    public var user: UserID
    /// What tells this token from another.
    public var mark: TokenMark
    /// The user's name as it is shown.
    public var name: String?
    /// The device that the token names.
    public var device: DeviceID?
    /// The group rooms that the user may enter, by full name.
    public var rooms: Set<String>
    /// Whether it is a service, which may act for any user.
    public var isService: Bool
    /// Until when the token is valid.
    public var expiresAt: Moment?
    /// Whether the token writes the user as a JSON integer.
    public var userIsInteger: Bool

    /// A token's word.
    public init(
        user: UserID,
        mark: TokenMark,
        name: String? = nil,
        device: DeviceID? = nil,
        rooms: Set<String> = [],
        isService: Bool = false,
        expiresAt: Moment? = nil,
        userIsInteger: Bool = false
    ) {
        self.user = user
        self.mark = mark
        self.name = name
        self.device = device
        self.rooms = rooms
        self.isService = isService
        self.expiresAt = expiresAt
        self.userIsInteger = userIsInteger
    }

    /// The phone that a request comes from: the named device, else the token itself.
    public func phone(named device: DeviceID?) -> Phone {
        if let id = device ?? self.device { return Phone(id: id, mark: mark) }
        return Phone(unnamed: mark)
    }
}

/// One connection of a device, as the gateway numbers them; never used twice.
public struct SessionID: Hashable, Sendable {
    /// The number.
    public let rawValue: UInt64

    /// The session with this number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// One request that awaits its reply, as the gateway numbers them; never used twice.
public struct RequestID: Hashable, Sendable {
    /// The number.
    public let rawValue: UInt64

    /// The request with this number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}
