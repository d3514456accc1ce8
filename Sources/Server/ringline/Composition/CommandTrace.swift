import CallCore
import SQLiteStore
import Threads

/// A record that an operator ran a command on a data folder, for the audit log.
///
/// It is an empty file in that folder, and the file's name contains the whole record. The server that runs on the
/// folder writes a line to its audit log and removes the file. The file's owner is the user who ran the command, as the
/// operating system guarantees.
struct CommandTrace: Equatable {
    let command: String
    /// The user whom the command was about, if any.
    let user: UserID?
    /// The time of the run, by the clock of the process that ran the command.
    let at: Moment

    init(_ command: String, _ user: UserID? = nil, at: Moment = Moment(milliseconds: SystemClock.wall())) {
        self.command = command
        self.user = user
        self.at = at
    }

    /// Parses a file's name; returns `nil` for the other files of the folder.
    init?(name: String) {
        let parts = name.split(separator: "-", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "ran", let moment = Int64(parts[1]), moment >= 0 else { return nil }
        // The first comma separates the command from the user; a user's id cannot contain a comma.
        let words = parts[2].split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false)
        let isCommand = words[0].utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "-") }
        guard isCommand, (1...32).contains(words[0].utf8.count) else { return nil }
        let user = words.count == 2 ? UserID(String(words[1])) : nil
        guard words.count == 1 || user != nil else { return nil }
        self.init(String(words[0]), user, at: Moment(milliseconds: moment))
    }

    /// The file's name: `ran-<milliseconds>-<command>`, and `,<user>` if there is a user.
    var name: String { "ran-\(at.milliseconds)-\(command)" + (user.map { ",\($0.text)" } ?? "") }

    /// Writes the file into a folder if a server runs there and the folder is writable.
    ///
    /// A folder without a server may be a copy or a backup, and those have no audit log.
    ///
    /// - Parameters:
    ///   - folder: the path that the command was given as the data folder.
    ///   - isForTheNextStart: whether to write the file even if no server runs there, for the next server that starts.
    func write(in folder: String, isForTheNextStart: Bool = false) {
        guard isForTheNextStart || SQLiteCallStore.isHeld(folder: folder) else { return }
        // The command has run, even if its trace cannot be written.
        try? OperatorFolder(folder).makeEmptyFile(name)
    }
}
