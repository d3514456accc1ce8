import CallWire

/// The names of unknown members that clients have sent.
///
/// Such members are ignored or relayed, so that a newer app can use an older server. To reveal misspelt names, each
/// name that is a word is logged once, and all are counted.
package struct UnknownNames: Sendable {
    /// Where a member came.
    package enum Place: String, Sendable, CaseIterable {
        /// In a frame of a WebSocket.
        case webSocket = "ws"
        /// In an event of Socket.IO.
        case socketIO = "socketio"
        /// In the body of a signal.
        case signal
        /// In the body of a device's registration.
        case registration
        /// In a response of the app's backend to a question about an offer.
        case decision
    }

    /// Clients choose the names, so only this many are kept and logged.
    static let most = 256

    private var counts: [Place: UInt64] = [:]
    private var known: Set<Name> = []

    private struct Name: Hashable {
        let place: Place
        let text: String
    }

    /// How many members with unknown names came there.
    package subscript(place: Place) -> UInt64 { counts[place, default: 0] }

    /// Counts members, and returns the names that came there for the first time.
    mutating func count(_ names: [String], at place: Place) -> [String] {
        counts[place, default: 0] += UInt64(names.count)
        return names.compactMap { name in
            guard known.count < Self.most, WireError.mayShow(name) else { return nil }
            return known.insert(Name(place: place, text: name)).inserted ? name : nil
        }
    }
}

extension Switchboard {
    /// Counts and reports members with names that the server does not know.
    mutating func noteUnknown(_ names: [String], at place: UnknownNames.Place) {
        for name in metrics.unknownNames.count(names, at: place) {
            turn.out.append(.note(.unknownName(name, place)))
        }
    }
}
