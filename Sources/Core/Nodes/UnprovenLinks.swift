/// The rule for links that were accepted and have not proved themselves: strangers keep no node out.
package enum UnprovenLinks {
    /// Finds the link to close when there are too many.
    ///
    /// A node proves itself within milliseconds, so the oldest links are those of strangers. Of all addresses, the one
    /// with the most links loses its oldest: a stranger with fewer addresses than
    /// ``NodeLimits/unprovenLinks`` displaces only its own links.
    ///
    /// - Parameter addresses: The address of each link without its port, the oldest link first.
    /// - Returns: The place of the link; `nil` = close none.
    package static func surplus(_ addresses: [String]) -> Int? {
        var counts: [String: Int] = [:]
        for address in addresses { counts[address, default: 0] += 1 }
        guard let most = counts.values.max(),
            most > NodeLimits.unprovenLinksOfAddress || addresses.count > NodeLimits.unprovenLinks
        else { return nil }
        return addresses.firstIndex { counts[$0] == most }
    }
}
