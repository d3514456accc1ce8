import Crypto
import OutboundHTTP
import Threads

/// The provider token, which authenticates this server to Apple: an ES256 JWT with key id, team id and time of issue.
///
/// It is kept and renewed.
///
/// Apple refuses a token older than 60 minutes (`ExpiredProviderToken`), and refuses a server that renews its token
/// more often than every 20 minutes (`TooManyProviderTokenUpdates`). So the token is renewed at the first use after 40
/// minutes. If Apple refuses the token as expired, ``renewed(insteadOf:)`` renews it once it is 20 minutes old. The
/// wall clock's time is written into the token, and the steady clock measures its age.
///
/// A jump of the wall clock renews the token at its next use, whatever its age, because Apple may find the time of
/// issue too old or in the future. To notice a jump, the time since the token was made is measured by both clocks. If
/// the two results differ by more than a minute, the wall clock has jumped.
///
/// Source: Apple, "Establishing a token-based connection to APNs"; RFC 7515, RFC 7519.
final class ProviderToken: Sendable {
    /// The age at which the token is renewed at its next use, in milliseconds.
    static let renewedAfterMilliseconds: Int64 = 40 * 60_000
    /// The least age at which the token is renewed when Apple calls it expired, in milliseconds.
    static let keptForMilliseconds: Int64 = 20 * 60_000
    /// The largest difference, in milliseconds, between the two clocks' measures of the token's age that does not count
    /// as a jump.
    static let jumpMilliseconds: Int64 = 60_000

    private struct Issued {
        let text: String
        let wall: Int64
        let steady: Int64
    }

    private struct State {
        var signer: APNsConfiguration.Signer
        var issued: Issued?
    }

    private let configuration: APNsConfiguration
    private let state: Monitor<State>

    init(_ configuration: APNsConfiguration) {
        self.configuration = configuration
        state = Monitor(State(signer: configuration.signer))
    }

    /// Signs with another key from now on.
    ///
    /// With the same key nothing changes, because Apple refuses a server that makes new tokens too often.
    func use(_ signer: APNsConfiguration.Signer) {
        state.withLock { state in
            if !state.signer.isSame(as: signer) { state = State(signer: signer) }
        }
    }

    /// Returns the token to send now.
    func current() throws(KeyError) -> String {
        try token { _, age in age >= Self.renewedAfterMilliseconds }
    }

    /// Returns the token to send after Apple refused the token `refused` as expired; nil if it cannot be renewed yet.
    ///
    /// If several requests are refused at a time, the first one renews the token and the others get the renewed one.
    func renewed(insteadOf refused: String) throws(KeyError) -> String? {
        let text = try token { text, age in text == refused && age >= Self.keptForMilliseconds }
        return text == refused ? nil : text
    }

    private func token(renewIf: (_ text: String, _ age: Int64) -> Bool) throws(KeyError) -> String {
        try state.withLock { (state: inout State) throws(KeyError) -> String in
            let (wall, steady) = (configuration.clock(), configuration.steadyClock())
            if let issued = state.issued {
                let (wallAge, age) = (wall - issued.wall, steady - issued.steady)
                let hasJumped = (wallAge - age).magnitude > Self.jumpMilliseconds
                if !hasJumped && !renewIf(issued.text, age) { return issued.text }
            }
            let text = try make(state.signer, issuedAt: wall / 1_000)
            state.issued = Issued(text: text, wall: wall, steady: steady)
            return text
        }
    }

    private func make(_ signer: APNsConfiguration.Signer, issuedAt seconds: Int64) throws(KeyError) -> String {
        // Both ids were checked to be letters and digits, so nothing here needs escaping.
        let header = #"{"alg":"ES256","kid":"\#(signer.keyID)"}"#
        let claims = #"{"iss":"\#(signer.teamID)","iat":\#(seconds)}"#
        return try CompactJWS.text(header: Array(header.utf8), payload: Array(claims.utf8), sign: signer.key.sign)
    }
}
