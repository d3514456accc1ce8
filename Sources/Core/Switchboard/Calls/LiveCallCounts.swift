import CallCore

/// The number of live calls in each state, kept up to date so that nobody has to visit all calls to count them.
struct LiveCallCounts {
    private var ringing = 0
    private var answered = 0
    private var active = 0

    /// The number of live calls in each state.
    var byState: [CallState: Int] { [.ringing: ringing, .answered: answered, .active: active] }

    /// Counts a call in its present state, and no longer in its earlier state.
    mutating func count(_ call: Call) {
        let state = call.isLive ? call.state : nil
        if state != call.countedState { move(call, to: state) }
    }

    /// Counts a call no longer.
    mutating func remove(_ call: Call) { move(call, to: nil) }

    private mutating func move(_ call: Call, to state: CallState?) {
        add(-1, to: call.countedState)
        add(1, to: state)
        call.countedState = state
    }

    private mutating func add(_ change: Int, to state: CallState?) {
        switch state {
        case .ringing: ringing += change
        case .answered: answered += change
        case .active: active += change
        case .ended, nil: break
        }
    }
}
