public import Foundation

/// A port: takes the numbers of one request of iOS, as Apple's `CXCallDirectoryExtensionContext` does.
///
/// RinglineCallKit makes Apple's class conform to it. The order of the calls decides whether iOS accepts the request:
/// see ``CallDirectoryLoader``.
public protocol CallDirectoryContext: AnyObject {
    /// Whether iOS has the entries of an earlier request, and takes changes of them.
    ///
    /// Apple's context takes changes only if this was read before the first entry.
    var isIncremental: Bool { get }
    /// Blocks a number, which must be larger than the one that was blocked before.
    func addBlockingEntry(_ number: Int64)
    /// Gives a number a label; the number must be larger than the one before.
    func addIdentificationEntry(_ number: Int64, label: String)
    /// Blocks a number no longer; only if ``isIncremental``.
    func removeBlockingEntry(_ number: Int64)
    /// Takes the label of a number away; only if ``isIncremental``.
    func removeIdentificationEntry(_ number: Int64)
    /// Blocks no number any longer; only if ``isIncremental``.
    func removeAllBlockingEntries()
    /// Takes all labels away; only if ``isIncremental``.
    func removeAllIdentificationEntries()
    /// Ends the request, and waits for iOS.
    ///
    /// - Returns: whether iOS has taken the request; `false` = it has expired.
    func complete() async -> Bool
    /// Gives the request up: iOS keeps the entries that it had before.
    func cancel(_ error: any Error)
}

/// A port: fetches the pages of a user's call directory from the server.
///
/// ``URLSessionDirectory`` implements it.
public protocol DirectorySource: Sendable {
    /// Fetches a page, with `GET /api/me/directory`.
    ///
    /// - Parameters:
    ///   - list: the list.
    ///   - cursor: the cursor of the page before, or of the last request; `nil` = the first page of the whole list.
    ///   - limit: the largest number of lines.
    /// - Returns: the body of the response with status 200, without a content coding.
    /// - Throws: ``CallDirectoryError/refused(status:)`` for every other status, or any error if no response came.
    func page(of list: DirectoryList, since cursor: DirectoryCursor?, limit: Int) async throws -> Data
}

/// Why a request of iOS was given up; iOS keeps the entries that it had before.
public enum CallDirectoryError: Error, Equatable, Sendable {
    /// A page does not have the form, so nothing of it was added.
    case malformed(DirectoryList, page: Int, DirectoryPageError)
    /// The server rebuilt the list between two pages. What was added cannot be taken back, so the next request loads
    /// everything.
    case restarted(DirectoryList)
    /// The server sent another page than the one that follows, or changes although the whole list was asked for.
    case unexpectedPage(DirectoryList, page: Int)
    /// The server answered with another status than 200: 401 = the token is not valid any more.
    case refused(status: Int)
    /// No page came, because there is no token, no network or no server: the text of the error.
    case unreachable(String)
    /// iOS has ended the request before it was complete.
    case expired
    /// iOS has refused the entries, as ``CallDirectoryLoader/requestFailed()`` says. The next request loads everything.
    case rejected
}
