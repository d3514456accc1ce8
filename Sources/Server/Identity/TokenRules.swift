/// The required content of a token, in addition to a valid signature.
package struct TokenRules: Sendable, Equatable {
    /// The one claim that names the user; nil: `sub`, or `uid` if there is no `sub`.
    package var userClaim: String?
    /// The required `iss`; nil: any.
    package var issuer: String?
    /// The required `aud`, or one of its elements; nil: any.
    package var audience: String?
    /// Whether a token without `exp` is refused.
    ///
    /// `exp` and `nbf` are checked whenever they are present.
    package var requireExpiry: Bool
    /// The largest expected difference between the clocks of issuer and server, in seconds, from 0.
    ///
    /// It extends the token's validity at both ends: before `nbf` and after `exp`.
    package var leewaySeconds: Int64
    /// The names of the claims that the app's backend is told (``Claims/told``).
    package var toldClaims: [String] = []

    /// Creates rules with the protocol's defaults: an expiry is required, and the leeway is 60 s.
    package init(
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
