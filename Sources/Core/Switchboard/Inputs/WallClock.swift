package import CallCore

/// The date by the wall clock: how far it leads the server's clock, and whether it can be relied on.
///
/// Inputs have moments of the server's clock, which follows the wall clock slowly (Decision 0010).
package struct WallClock: Equatable, Sendable {
    /// How far the date is ahead of the server's clock.
    package var lead: Moment.Duration
    /// How far the date has jumped in all, because it had been wrong; the lead also changes gradually.
    package var corrected: Moment.Duration
    /// Whether the date can be relied on: the wall clock has not leapt, or has been steady for a minute since.
    package var isSteady: Bool
    /// Whether the wall clock and the server's clock agree, to within some seconds.
    package var agrees: Bool

    /// A wall clock in this state.
    package init(
        lead: Moment.Duration,
        corrected: Moment.Duration = .milliseconds(0),
        isSteady: Bool,
        agrees: Bool
    ) {
        self.lead = lead
        self.corrected = corrected
        self.isSteady = isSteady
        self.agrees = agrees
    }

    /// A wall clock that shows the server's own time.
    package static let agreeing = WallClock(lead: .milliseconds(0), isSteady: true, agrees: true)
}
