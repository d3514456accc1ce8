import CallCore

/// Stops the deletion of tokens when so many are refused that the fault must be our own (protocol, section 6): a wrong
/// key, topic or environment would otherwise empty the whole directory in a minute.
struct DeletionBreaker {
    /// Deaths within the window that are too many, when they also outnumber what is accepted.
    private static let deaths = 20
    /// What is looked back on.
    private static let window = Moment.Span.seconds(60)
    /// For how long nothing is deleted once it was too much.
    private static let pause = Moment.Span.seconds(600)

    private var windowStart = Moment(milliseconds: 0)
    private var died = 0
    private var took = 0
    private var openUntil: Moment?

    /// Whether deletion is stopped.
    func isOpen(at now: Moment) -> Bool { openUntil.map { now < $0 } ?? false }

    /// Takes note of a push that was accepted.
    mutating func accepted(at now: Moment) {
        turn(at: now)
        took += 1
    }

    /// Takes note of a dead token; whether it may be deleted.
    mutating func mayDelete(at now: Moment) -> Bool {
        turn(at: now)
        died += 1
        if died >= Self.deaths, died > 2 * took { openUntil = now + Self.pause }
        return !isOpen(at: now)
    }

    private mutating func turn(at now: Moment) {
        guard now >= windowStart + Self.window else { return }
        windowStart = now
        died = 0
        took = 0
    }
}
