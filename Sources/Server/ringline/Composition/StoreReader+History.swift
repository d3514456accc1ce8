import CallCore
import CallPorts

extension StoreReader {
    /// Returns the calls of a user that fulfil a condition, newest first, at most `limit`.
    ///
    /// It reads page by page, so that a call is found however old it is.
    func history(
        of user: UserID,
        limit: Int,
        where isMeant: (CallRecord) -> Bool
    ) throws(StoreFailure) -> [CallRecord] {
        var found: [CallRecord] = []
        var last: CallNumber?
        while found.count < limit {
            let page = try history(of: user, limit: 1_000, before: last)
            guard let oldest = page.last else { break }
            found += page.filter(isMeant)
            last = oldest.number
        }
        return Array(found.prefix(limit))
    }
}
