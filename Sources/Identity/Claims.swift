/// What a verified token says about who is there.
public struct Claims: Sendable, Equatable {
    /// The user's id: 1–128 characters of the alphabet of ids (protocol, section 1).
    public var user: String
    /// Whether the claim was a JSON integer, so that the app's shapes answer ids as integers (protocol, section 9).
    public var userIsInteger: Bool
    /// The display name (`name`, else `u`); nil if there is none or it is empty.
    public var name: String?
    /// The device's id (`device`), of the same alphabet as the user's.
    public var device: String?
    /// Full names of the group rooms that the user may join (`rooms`), such as `room:team`.
    public var rooms: [String]
    /// Whether it is a service, which may name any user (`scope` holds the word `server`).
    public var isService: Bool
    /// Seconds since 1970 from which on the token is no longer good, leeway not counted; nil if it has no `exp`.
    ///
    /// Not above 2^53, so that adding a leeway never overflows.
    public var expiresAtSeconds: Int64?
    /// Seconds since 1970 at which the token was issued, rounded down; nil if its `iat` is missing or no such number.
    public var issuedAtSeconds: Int64?
    /// The first eight bytes, big endian, of SHA-256 of the token's `jti`, or of its text if it has none.
    ///
    /// One token is one phone: the hexadecimal digits name its device when it names none (protocol, section 9).
    public var mark: UInt64

    /// Claims as given, unchecked: for tests and for users who come in by other ways than a token.
    public init(
        user: String,
        userIsInteger: Bool = false,
        name: String? = nil,
        device: String? = nil,
        rooms: [String] = [],
        isService: Bool = false,
        expiresAtSeconds: Int64? = nil,
        issuedAtSeconds: Int64? = nil,
        mark: UInt64 = 0
    ) {
        self.user = user
        self.userIsInteger = userIsInteger
        self.name = name
        self.device = device
        self.rooms = rooms
        self.isService = isService
        self.expiresAtSeconds = expiresAtSeconds
        self.issuedAtSeconds = issuedAtSeconds
        self.mark = mark
    }
}
