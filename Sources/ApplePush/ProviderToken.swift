import Crypto
import OutboundHTTP
import Threads

/// The token by which we show Apple who we are: an ES256 JWT of key id, team id and time of issue, kept and renewed.
///
/// Apple refuses one older than 60 minutes (`ExpiredProviderToken`) and a server that renews more often than every 20
/// (`TooManyProviderTokenUpdates`). So it is renewed at the first use after 40 minutes, and at ``renewed(insteadOf:)``
/// after 20. The wall clock goes into the token, the steady clock measures its age. Only a jump of the wall clock
/// (the two disagree by more than a minute since the token was made) renews it at once whatever its age, for then the
/// time of issue in it is one that Apple may take for expired or for the future.
///
/// Source: Apple, "Establishing a token-based connection to APNs"; RFC 7515, RFC 7519.
final class ProviderToken: Sendable {
    /// The age at which it is renewed without being asked.
    static let renewedAfterMilliseconds: Int64 = 40 * 60_000
    /// The least age at which it is renewed when Apple calls it expired.
    static let keptForMilliseconds: Int64 = 20 * 60_000
    /// How far the clocks may drift apart in one token's life before it counts as a jump.
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
    private let state: Locked<State>

    init(_ configuration: APNsConfiguration) {
        self.configuration = configuration
        state = Locked(State(signer: configuration.signer))
    }

    /// Signs with another key from now on; with the same one nothing changes, for Apple wants no token more than it needs.
    func use(_ signer: APNsConfiguration.Signer) {
        state.withLock { state in
            if !state.signer.isSame(as: signer) { state = State(signer: signer) }
        }
    }

    /// The token to send now.
    func current() throws(KeyError) -> String {
        try token { _, age in age >= Self.renewedAfterMilliseconds }
    }

    /// The token to send after Apple called `refused` expired: another one, or nil when there is none to be had yet.
    ///
    /// Of many requests refused at a time, the first renews and the others find it renewed.
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
        // Both ids were checked to be letters and digits: nothing here needs escaping.
        let header = #"{"alg":"ES256","kid":"\#(signer.keyID)"}"#
        let claims = #"{"iss":"\#(signer.teamID)","iat":\#(seconds)}"#
        let signed = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
        return signed + "." + Base64URL.encode(try signer.key.sign(Array(signed.utf8)))
    }
}
