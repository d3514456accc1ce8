/// What a token must say beside being signed.
public struct TokenRules: Sendable, Equatable {
    /// The one claim that names the user; nil: `sub`, else `uid`.
    public var userClaim: String?
    /// What `iss` must be; nil: anything.
    public var issuer: String?
    /// What `aud` must be or hold; nil: anything.
    public var audience: String?
    /// Whether a token without `exp` is refused.
    ///
    /// `exp` and `nbf` are checked whenever they are there.
    public var requireExpiry: Bool
    /// How far the clocks of issuer and server may be apart, in seconds, 0 or more: `exp` and `nbf` are widened by it.
    public var leewaySeconds: Int64

    /// Rules with the protocol's defaults: expiry required, 60 s leeway.
    public init(
        userClaim: String? = nil,
        issuer: String? = nil,
        audience: String? = nil,
        requireExpiry: Bool = true,
        leewaySeconds: Int64 = 60
    ) {
        self.userClaim = userClaim
        self.issuer = issuer
        self.audience = audience
        self.requireExpiry = requireExpiry
        self.leewaySeconds = min(max(leewaySeconds, 0), 1 << 53)
    }
}
