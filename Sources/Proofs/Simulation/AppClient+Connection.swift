import CallClient
import CallCore
import CallWire
import SeededRandom

/// The real app's connection and its registration, which two state machines of the client library decide about.
extension AppClient {
    /// The attempts to connect that may begin within a second when nothing ends the pauses between them.
    ///
    /// With full jitter there is no shortest pause. But that the ten pauses after ten failures are shorter than a second
    /// together happens less than once in a hundred thousand million times.
    private static let attemptsInASecond = 10

    func takeConnection(_ input: CoreInput, at now: Moment, into outputs: inout [CoreOutput]) {
        switch input {
        case .inUse(let isInUse):
            isAwake = isInUse
            forgetAttempts()
            // The core has told its wish while the app could not follow it, and does not tell it again.
            if !isInUse {
                reconnect(.unwanted, at: now, into: &outputs)
            } else if client.wantsConnection {
                reconnect(.wanted(isUrgent: false), at: now, into: &outputs)
            }
        case .wantsConnection: if isAwake { reconnect(.wanted(isUrgent: false), at: now, into: &outputs) }
        case .attemptOpened(let number):
            reconnect(.opened(ConnectionNumber(rawValue: number)), at: now, into: &outputs)
        case .attemptClosed(let number):
            reconnect(.closed(ConnectionNumber(rawValue: number)), at: now, into: &outputs)
        case .pathChanged:
            forgetAttempts()
            reconnect(.pathChanged, at: now, into: &outputs)
        case .tokens(let tokens):
            for kind in PushKind.allCases where kind.isThroughAPNs || tokens.has(kind) {
                register(.token(kind, tokens[kind]?.asGiven), at: now, into: &outputs)
            }
        case .login(let isLoggedIn): register(isLoggedIn ? .loggedIn : .loggedOut, at: now, into: &outputs)
        case .registered(let number, let status, let body):
            let failure = RequestFailure(status: status, body: body)
            register(.answered(RegistrationNumber(rawValue: number), failure), at: now, into: &outputs)
        default: break
        }
    }

    func takeConnectionDeadlines(at now: Moment, into outputs: inout [CoreOutput]) {
        if let deadline = reconnection.deadline, deadline <= now {
            reconnect(.deadlineReached, at: now, into: &outputs)
        }
        if let deadline = registration.deadline, deadline <= now {
            register(.deadlineReached, at: now, into: &outputs)
        }
    }

    /// Handles the core's wish for a connection, which an app that is suspended cannot follow.
    func connectionIsWanted(at now: Moment, into outputs: inout [CoreOutput]) {
        guard isAwake else { return }
        if isInputUrgent { forgetAttempts() }
        reconnect(.wanted(isUrgent: isInputUrgent), at: now, into: &outputs)
    }

    func reconnect(_ input: Reconnection.Input, at now: Moment, into outputs: inout [CoreOutput]) {
        let chance = generator.below(1_000_000)
        trace?.write(input, chance: chance, at: now)
        for output in reconnection.handle(input, at: now, chance: Double(chance) / 1_000_000) {
            switch output {
            case .open(let number):
                checkPace(at: now, into: &outputs)
                outputs.append(.open(number.rawValue))
            case .giveUp(let number): outputs.append(.giveUp(number.rawValue))
            case .connectionOpened: passToCore(.connectionOpened, at: now, into: &outputs)
            case .connectionClosed: passToCore(.connectionClosed, at: now, into: &outputs)
            }
        }
    }

    private func register(_ input: Registration.Input, at now: Moment, into outputs: inout [CoreOutput]) {
        for output in registration.handle(input, at: now) {
            switch output {
            case .upload(let number, let tokens):
                outputs.append(.register(number.rawValue, registration.body(of: tokens)))
            case .remove(let number): outputs.append(.register(number.rawValue, nil))
            }
        }
    }

    // MARK: Checks

    /// Forgets the attempts so far, because something has ended the pauses between them.
    private func forgetAttempts() { attempts = [] }

    private func checkPace(at now: Moment, into outputs: inout [CoreOutput]) {
        attempts.append(now)
        guard attempts.count > Self.attemptsInASecond else { return }
        if now - attempts.removeFirst() < .seconds(1) {
            let message = "\(device.text) tried to connect \(Self.attemptsInASecond) times within a second"
            outputs.append(.report(.broken("I17", message)))
        }
    }
}
