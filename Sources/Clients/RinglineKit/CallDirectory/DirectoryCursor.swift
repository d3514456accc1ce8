public import CallCore
public import Foundation

/// A place in the history of a list: the server answers with what changed since.
///
/// Its text has a meaning for the server only. It goes into an address as it is.
public struct DirectoryCursor: Hashable, Sendable, Codable {
    /// The largest number of characters.
    public static let maximumLength = 80

    /// The text, as the server sent it.
    public let text: String

    /// Creates a cursor; `nil` if `text` has none of 1 to 80 ASCII letters, digits, `-`, `.`, `_` and `~`.
    public init?(_ text: String) {
        guard (1...Self.maximumLength).contains(text.utf8.count), text.utf8.allSatisfy(Self.admits) else { return nil }
        self.text = text
    }

    private static func admits(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "-._~".utf8.contains(byte)
        }
    }
}

/// What an extension keeps between two requests: up to where iOS has the user's lists.
public struct DirectoryCursors: Equatable, Sendable, Codable {
    /// The server and the user whose lists they are.
    ///
    /// The server cannot tell from a cursor whose it is: that of another user would leave the entries of both in iOS.
    public let owner: String
    private var texts: [String: String] = [:]

    /// Creates an empty state.
    public init(server: URL, user: UserID) { owner = "\(user.text) \(server.absoluteString)" }

    /// The cursor of a list; `nil` = iOS may not have the list, so the whole of it is needed.
    public subscript(list: DirectoryList) -> DirectoryCursor? {
        get { texts[list.rawValue].flatMap { DirectoryCursor($0) } }
        set { texts[list.rawValue] = newValue?.text }
    }
}

/// A port: keeps the ``DirectoryCursors`` between two requests.
///
/// ``AppGroupCursors`` implements it. The extension and the app use it at the same time: each call is one whole change.
public protocol DirectoryCursorStore: Sendable {
    /// Returns the cursors; `nil` = there are none, so the next request loads everything.
    func read() -> DirectoryCursors?
    /// Keeps these cursors in place of the former ones; `nil` = removes them.
    func write(_ cursors: DirectoryCursors?)
}

/// Keeps the cursors in the `UserDefaults` of an app group, which the app and its extension share.
public struct AppGroupCursors: DirectoryCursorStore {
    private static let key = "ringline.directory"

    private let group: String

    /// Creates a store in an app group, such as `group.com.example.chat`.
    public init(group: String) { self.group = group }

    /// Returns the cursors; `nil` = there are none.
    public func read() -> DirectoryCursors? {
        // Cursors that a later version has written in another form count as none: everything is loaded again.
        defaults?.data(forKey: Self.key).flatMap { try? JSONDecoder().decode(DirectoryCursors.self, from: $0) }
    }

    /// Keeps these cursors; `nil` = removes them.
    public func write(_ cursors: DirectoryCursors?) {
        // Texts can always be encoded; and without cursors, the next request loads everything.
        guard let cursors, let data = try? JSONEncoder().encode(cursors) else {
            defaults?.removeObject(forKey: Self.key)
            return
        }
        defaults?.set(data, forKey: Self.key)
    }

    /// A new object each time: `UserDefaults` is not marked `Sendable` by Apple's SDK, and costs little.
    private var defaults: UserDefaults? { UserDefaults(suiteName: group) }
}
