/// The events of a client's requests and look-ups.
extension RequestSchedule {
    /// Adds a request, which waits.
    ///
    /// `hasName`: Whether the host's name has to be looked up.
    mutating func add(
        _ id: HTTPRequestID,
        to host: String,
        hasName: Bool,
        of user: String? = nil,
        isToKnownHost: Bool = false,
        at now: Instant
    ) {
        if hosts[host] == nil {
            if hosts.count >= Self.rememberedHosts { forgetIdleHosts(at: now) }
            hosts[host] = Host()
            hosts[host]?.hasName = hasName
        }
        entries[id] = Entry(host: host, user: user, isToKnownHost: isToKnownHost)
        hosts[host]?.queue.append(id, of: user)
        hosts[host]?.waiting += 1
        if hosts[host]?.hasConnection == true {
            change(host)
        } else if !changed.contains(host), hosts[host]?.canUsePlace(configuration, at: now) == true {
            // The requests of a changed host get their turns together, the oldest first: this one would be ahead.
            waitForPlace(id)
        }
    }

    /// Removes a request that still waits; returns false if it does not.
    mutating func remove(_ id: HTTPRequestID) -> Bool {
        guard let entry = entries[id], entry.phase == .waiting else { return false }
        entries[id] = nil
        hosts[entry.host]?.waiting -= 1
        return true
    }

    /// Returns the addresses of a request's host; empty if it has no name, or libcurl resolves it.
    func addresses(for id: HTTPRequestID) -> [String] { entries[id].flatMap { hosts[$0.host]?.addresses } ?? [] }

    /// Records the result of a look-up: the addresses, or none if the name cannot be resolved.
    ///
    /// Returns the waiting requests that fail because of it.
    mutating func lookedUp(_ name: String, _ addresses: [String], at now: Instant) -> [HTTPRequestID] {
        guard var host = hosts[name], let holder = host.lookup else { return [] }
        places.free(holder)
        host.lookup = nil
        host.places -= 1
        host.addressesFreshUntil = now + Self.addressesFreshFor
        if !addresses.isEmpty {
            host.addresses = addresses
            host.addressesUsableUntil = now + Self.addressesUsableFor
        }
        hosts[name] = host
        change(name)
        return addresses.isEmpty && host.needsLookup(at: now) ? rest(name, at: now) : []
    }

    /// Returns whether a request that was handed over may make a connection, and gives it a place for that.
    mutating func mayConnect(_ id: HTTPRequestID) -> Bool {
        guard let entry = entries[id], let host = hosts[entry.host] else { return false }
        // A request whose connection was lost goes on, on another one.
        if entry.phase == .sent || places.isHeld(by: id) { return true }
        guard host.places < Self.placesPerHost, places.reserve(of: entry.user, isKnown: entry.isToKnownHost) else {
            return false
        }
        places.hold(id, of: entry.user)
        hosts[entry.host]?.places += 1
        return true
    }

    /// Records that a request was sent on a connection.
    mutating func sent(_ id: HTTPRequestID) {
        guard let entry = entries[id], entry.phase == .handedOver else { return }
        entries[id]?.phase = .sent
        let isNewConnection = freePlace(id, of: entry.host)
        hosts[entry.host]?.window.sent(isNewConnection: isNewConnection)
        hosts[entry.host]?.hasConnection = true
        hosts[entry.host]?.failures = 0
        change(entry.host)
    }

    /// Records that libcurl had no connection for requests: they wait again, ahead of the others.
    ///
    /// `ids` are in the order in which they were handed over.
    mutating func takeBack(_ ids: [HTTPRequestID]) {
        for id in ids.reversed() {
            guard let entry = entries[id], entry.phase == .handedOver else { continue }
            hosts[entry.host]?.window.tookBack()
            waitAgain(id, entry)
        }
    }

    /// Records that a request needed a connection for which there was no place: it waits for one.
    mutating func denied(_ id: HTTPRequestID) {
        guard let entry = entries[id], entry.phase == .handedOver else { return }
        hosts[entry.host]?.window.finished(wasSent: false, mayGrow: false)
        hosts[entry.host]?.hasConnection = false
        waitAgain(id, entry)
    }

    private mutating func waitAgain(_ id: HTTPRequestID, _ entry: Entry) {
        _ = freePlace(id, of: entry.host)
        entries[id]?.phase = .waiting
        hosts[entry.host]?.waiting += 1
        hosts[entry.host]?.queue.putBack(id, of: entry.user)
        change(entry.host)
    }

    /// Records the end of a request that was handed over; returns the waiting requests that fail because of it.
    mutating func finished(_ id: HTTPRequestID, _ ending: Ending, at now: Instant) -> [HTTPRequestID] {
        guard let entry = entries.removeValue(forKey: id), var host = hosts[entry.host] else { return [] }
        if places.free(id) { host.places -= 1 }
        var mayGrow = false
        if case .response(let isMultiplexed) = ending { mayGrow = isMultiplexed }
        host.window.finished(wasSent: entry.phase == .sent, mayGrow: mayGrow)
        switch ending {
        case .response: host.isProven = configuration.firstAloneMilliseconds > 0
        // The failure of one request says nothing about its connection.
        case .failed: break
        case .lost, .notConnected:
            host.isProven = false
            host.window.findOut()
            host.hasConnection = host.window.open > host.window.unsent
        }
        hosts[entry.host] = host
        change(entry.host)
        guard case .notConnected = ending, !host.hasConnection else { return [] }
        // The next attempt looks the name up again: the host may have moved.
        hosts[entry.host]?.addresses = []
        return rest(entry.host, at: now)
    }

    /// Lets an unreachable host rest; removes and returns its waiting requests.
    private mutating func rest(_ name: String, at now: Instant) -> [HTTPRequestID] {
        guard var host = hosts[name] else { return [] }
        let end = now + min(Self.firstRest * (1 << min(host.failures, 6)), Self.longestRest)
        host.failures += 1
        host.restsUntil = end
        wake(name, at: end)
        let ids = host.queue.removeAll().filter { entries[$0]?.phase == .waiting }
        for id in ids { entries[id] = nil }
        host.waiting = 0
        hosts[name] = host
        return ids
    }

    private mutating func freePlace(_ id: HTTPRequestID, of host: String) -> Bool {
        guard places.free(id) else { return false }
        hosts[host]?.places -= 1
        return true
    }

    private mutating func forgetIdleHosts(at now: Instant) {
        hosts = hosts.filter { !$0.value.isIdle || $0.value.isResting(at: now) }
    }

    /// The numbers of requests and hosts, for metrics.
    func figures(at now: Instant) -> HTTPClientFigures {
        var figures = HTTPClientFigures()
        for host in hosts.values {
            figures.waiting += host.waiting
            figures.resolving += host.lookup == nil ? 0 : 1
            figures.sent += host.window.open - host.window.unsent
            figures.restingHosts += host.isResting(at: now) ? 1 : 0
        }
        figures.connecting = places.taken - figures.resolving
        return figures
    }
}

/// The numbers of a client's requests and hosts at a moment.
package struct HTTPClientFigures: Equatable, Sendable {
    /// The requests that wait to be handed over.
    package internal(set) var waiting = 0
    /// The names that are being looked up.
    package internal(set) var resolving = 0
    /// The requests that are connecting.
    package internal(set) var connecting = 0
    /// The requests that were sent, and await their response.
    package internal(set) var sent = 0
    /// The hosts that rest, because no connection could be made to them.
    package internal(set) var restingHosts = 0
}
