import CallCore
import Glibc
import SQLiteStore
import Threads

/// That an operator's command was run on a data folder: an empty file there whose name says all, for the audit log.
///
/// The server that runs on the folder writes its line and removes it. Who ran the command is the file's owner, which the
/// system vouches for.
struct CommandTrace: Equatable {
    let command: String
    /// Whom it was about.
    let user: UserID?
    /// When it was run, by the clock of whoever ran it.
    let at: Moment

    init(_ command: String, _ user: UserID? = nil, at: Moment = Moment(milliseconds: SystemClock.wall())) {
        self.command = command
        self.user = user
        self.at = at
    }

    /// The trace that a file's name stands for; `nil` for the other files of the folder.
    init?(name: String) {
        let parts = name.split(separator: "-", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "ran", let moment = Int64(parts[1]), moment >= 0 else { return nil }
        // A user's id has no comma.
        let words = parts[2].split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false)
        let isCommand = words[0].utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "-") }
        guard isCommand, (1...32).contains(words[0].utf8.count) else { return nil }
        let user = words.count == 2 ? UserID(String(words[1])) : nil
        guard words.count == 1 || user != nil else { return nil }
        self.init(String(words[0]), user, at: Moment(milliseconds: moment))
    }

    /// `ran-<milliseconds>-<command>`, with `,<user>` where there is one.
    var name: String { "ran-\(at.milliseconds)-\(command)" + (user.map { ",\($0.text)" } ?? "") }

    /// Leaves it in a folder, if a server runs there and the folder can be written: a copy or a back-up has no audit log.
    ///
    /// - Parameters:
    ///   - folder: the data folder, or whatever a command was given for one.
    ///   - isForTheNextStart: whether it is left for the next server where none runs.
    func leave(in folder: String, isForTheNextStart: Bool = false) {
        guard isForTheNextStart || SQLiteCallStore.isHeld(folder: folder) else { return }
        let file = open("\(folder)/\(name)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        if file >= 0 { close(file) }
    }
}
