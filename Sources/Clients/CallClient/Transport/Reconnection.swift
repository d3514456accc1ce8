public import CallCore

/// Decides when a device opens its connection, and when it gives up on one.
///
/// The client core says that it wants a connection (``CallClient/Output/connect``), but not when to open it. A device that
/// connected again at once would try some 25 times a second while the server is down, and all devices of a server that
/// crashed would come back together. So there is a pause before each attempt that follows a failure: a random time from 0 to
/// a longest value, which doubles from 0.25 s to 8 s (exponential back-off with full jitter). The app hands in the random
/// number.
///
/// ```swift
/// func reconnect(_ input: Reconnection.Input) {
///     for output in reconnection.handle(input, at: now(), chance: Double.random(in: 0..<1)) {
///         switch output {
///         case .open(let number): sockets[number] = Socket(events: { self.reconnect($0) })
///         case .giveUp(let number): sockets.removeValue(forKey: number)?.cancel()
///         case .connectionOpened: handle(.connectionOpened)
///         case .connectionClosed: handle(.connectionClosed)
///         }
///     }
///     reconnectTimer.schedule(at: reconnection.deadline)  // When it fires: reconnect(.deadlineReached)
/// }
/// ```
///
/// - It connects at once, without the rest of a pause, after a change of the network's path, and when the user makes or
///   answers a call or a push arrives (``CallClient/Input/isUrgent``). The next pause is then a short one again.
/// - It never connects before ``reconnectAt``, which a server that shuts down names. Until then the core sends by REST.
/// - It does not wait for the close of a socket that was given up, because the close may never come. Each attempt has a
///   number, and the reports of a socket of an earlier attempt are ignored.
public struct Reconnection: Equatable, Sendable {
    /// An event that concerns the connection.
    public enum Input: Equatable, Sendable {
        /// A connection is wanted from now on: the app is in the foreground, or the core asks for a connection.
        ///
        /// For the core's ``CallClient/Output/connect``, hand in ``CallClient/Input/isUrgent`` of the input that caused
        /// it. A fresh token, after the server refused the earlier one, is urgent as well.
        case wanted(isUrgent: Bool)
        /// No connection is wanted any more: the app is in the background and ``CallClient/wantsConnection`` is false, or
        /// the user has logged out.
        case unwanted
        /// The device's path to the network changed: another interface, or a network after none.
        ///
        /// A socket on the earlier path may be dead without a sign, so it is given up.
        case pathChanged
        /// The server has sent `welcome` on the socket of this attempt.
        case opened(ConnectionNumber)
        /// The socket of this attempt failed or was closed, or the app gave it up because nothing arrived on it.
        ///
        /// `reconnectAfter`: the pause that the reason of a close with code 1001 names
        /// (``Reconnection/pause(inCloseReason:)``).
        case closed(ConnectionNumber, reconnectAfter: Moment.Duration? = nil)
        /// The server sent `draining`: it shuts down and closes the connection next.
        case draining(Moment.Duration)
        /// The moment of ``Reconnection/deadline`` has come.
        case deadlineReached
    }

    /// An action for the app to carry out; the outputs of one input must be carried out in order.
    public enum Output: Equatable, Sendable {
        /// Open a socket, and hand in ``Input/opened(_:)`` and ``Input/closed(_:reconnectAfter:)`` with this number.
        case open(ConnectionNumber)
        /// Close the socket of this attempt if that is possible, and hand in nothing more that arrives on it.
        case giveUp(ConnectionNumber)
        /// Hand ``CallClient/Input/connectionOpened`` to the core.
        case connectionOpened
        /// Hand ``CallClient/Input/connectionClosed`` to the core.
        case connectionClosed
    }

    private enum State: Equatable {
        /// There is no socket.
        case closed
        /// A socket is being opened; if it is not open by then, it is given up.
        case opening(ConnectionNumber, until: Moment)
        case open(ConnectionNumber, since: Moment)
    }

    private var state = State.closed
    private var isWanted = false
    private var lastNumber: UInt64 = 0
    /// The attempts in a row that brought no lasting connection.
    private var failures = 0
    /// When the pause after the last attempt ends.
    private var retryAt: Moment?
    /// The moment before which this device must not connect, because a server that shuts down named it; `nil` = at any time.
    public private(set) var reconnectAt: Moment?

    /// Creates a state machine without a connection, which wants none yet.
    public init() {}

    /// The attempt whose socket is open or being opened; what other sockets report is ignored.
    public var current: ConnectionNumber? {
        switch state {
        case .closed: nil
        case .opening(let number, _), .open(let number, _): number
        }
    }

    /// The moment at which ``Input/deadlineReached`` is due; `nil` while nothing is waited for.
    public var deadline: Moment? {
        switch state {
        case .closed: isWanted ? dueAt : nil
        case .opening(_, let until): until
        case .open: nil
        }
    }

    /// Takes one input and returns what the app must do about it, in order.
    ///
    /// - Parameters:
    ///   - input: what happened.
    ///   - now: the moment at which it happened, by this device's clock.
    ///   - chance: a random number, from 0 up to but not including 1; another one each time.
    /// - Returns: the outputs. Afterwards ``deadline`` may have changed.
    public mutating func handle(_ input: Input, at now: Moment, chance: Double) -> [Output] {
        var outputs: [Output] = []
        keepMomentsNear(now)
        // The app may have been suspended in the middle of an attempt, and the timer may be late.
        if case .opening(let number, let until) = state, now >= until, input.attempt != number {
            outputs.append(.giveUp(number))
            failed(at: now, chance)
        }
        switch input {
        case .wanted(let isUrgent):
            isWanted = true
            if isUrgent, state == .closed { dropPause() }
        case .unwanted:
            isWanted = false
            giveUp(into: &outputs)
        case .pathChanged:
            giveUp(into: &outputs)
            dropPause()
        case .opened(let number):
            guard case .opening(number, _) = state else { break }
            state = .open(number, since: now)
            outputs.append(.connectionOpened)
        case .closed(let number, let pause):
            guard number == current else { break }
            if let pause { wait(pause, at: now) }
            if case .open(_, let since) = state {
                outputs.append(.connectionClosed)
                // A server that accepts connections and drops them at once must not get attempts without a pause.
                if now - since >= ClientLimits.steadyConnection { failures = 0 }
            }
            failed(at: now, chance)
        case .draining(let pause): wait(pause, at: now)
        case .deadlineReached: break
        }
        openIfDue(at: now, into: &outputs)
        return outputs
    }

    /// When the next attempt may begin, unless that moment has passed.
    private var dueAt: Moment {
        let always = Moment(milliseconds: .min)
        return max(retryAt ?? always, reconnectAt ?? always)
    }

    private mutating func openIfDue(at now: Moment, into outputs: inout [Output]) {
        guard isWanted, state == .closed, now >= dueAt else { return }
        lastNumber += 1
        let number = ConnectionNumber(rawValue: lastNumber)
        (retryAt, reconnectAt) = (nil, nil)
        state = .opening(number, until: now + ClientLimits.connectTimeout)
        outputs.append(.open(number))
    }

    private mutating func giveUp(into outputs: inout [Output]) {
        if case .open = state { outputs.append(.connectionClosed) }
        if let current { outputs.append(.giveUp(current)) }
        state = .closed
    }

    private mutating func dropPause() {
        failures = 0
        retryAt = nil
    }

    /// Begins the pause after an attempt that failed or a connection that ended.
    private mutating func failed(at now: Moment, _ chance: Double) {
        state = .closed
        failures = min(failures + 1, 16)
        let doubled = ClientLimits.firstReconnectPause.milliseconds << Int64(failures - 1)
        let longest = min(doubled, ClientLimits.longestReconnectPause.milliseconds)
        // A number out of the range, or not a number, must not lead to a wrong pause.
        let share = chance >= 0 && chance < 1 ? chance : 1
        retryAt = now + .milliseconds(Int64(Double(longest) * share))
    }

    private mutating func wait(_ pause: Moment.Duration, at now: Moment) {
        guard pause >= .milliseconds(0) else { return }
        reconnectAt = now + min(pause, ClientLimits.longestReconnectDelay)
    }

    /// Brings moments that are too far ahead nearer, because the device's clock was set back.
    private mutating func keepMomentsNear(_ now: Moment) {
        retryAt = retryAt.map { min($0, now + ClientLimits.longestReconnectPause) }
        reconnectAt = reconnectAt.map { min($0, now + ClientLimits.longestReconnectDelay) }
        if case .opening(let number, let until) = state {
            state = .opening(number, until: min(until, now + ClientLimits.connectTimeout))
        }
    }

    /// Returns the pause that the reason of a close frame names, such as `reconnectAfterMs=1500`; `nil` if it names none
    /// (protocol, section 3.1).
    public static func pause(inCloseReason reason: String) -> Moment.Duration? {
        let name = Array("reconnectAfterMs=".utf8)
        let bytes = Array(reason.utf8)
        guard let end = bytes.indices.last(where: { bytes[$0...].starts(with: name) }) else { return nil }
        let digits = String(decoding: bytes[(end + name.count)...], as: UTF8.self)
        return Int64(digits).flatMap { $0 >= 0 ? .milliseconds($0) : nil }
    }
}

extension Reconnection.Input {
    /// The attempt whose socket reported this input.
    fileprivate var attempt: ConnectionNumber? {
        switch self {
        case .opened(let number), .closed(let number, _): number
        case .wanted, .unwanted, .pathChanged, .draining, .deadlineReached: nil
        }
    }
}

/// The number of one attempt to open a connection; the attempts of one ``Reconnection`` are numbered from 1.
public struct ConnectionNumber: Hashable, Sendable {
    /// The number.
    public let rawValue: UInt64

    /// Creates the number of an attempt.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}
