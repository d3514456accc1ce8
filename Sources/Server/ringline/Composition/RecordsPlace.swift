import CallPorts
import CallTrace
import CallWire
import Identity
import Postgres
import PostgresStore
import SQLiteStore

/// The place of a server's records, for commands that read them.
enum RecordsPlace {
    /// A data folder, or a backup of its database.
    case folder(String)
    /// A PostgreSQL database, and the file of the password for it.
    case database(ConnectionSettings, passwordFile: String?)

    /// The place that the settings of a server name.
    init(_ settings: ServeSettings) {
        self = settings.store.map { .database($0, passwordFile: settings.storePasswordFile) } ?? .folder(settings.data)
    }

    /// The place as messages name it, without a password.
    var shown: String {
        switch self {
        case .folder(let path): path
        case .database(let settings, _): settings.shown
        }
    }

    /// Opens the records.
    ///
    /// If a data folder says that its server keeps the calls in a database, the failure says so.
    func open() throws(UsageError) -> Records {
        if case .folder(let path) = self {
            if let note = DatabaseNote(in: path) { throw note.failure }
            if let failure = DatabaseNote.failure(withoutNoteIn: path) { throw failure }
        }
        do throws(StoreFailure) {
            switch self {
            case .folder(let path): return .folder(try SQLiteCallStore.reader(of: path), path)
            case .database(let settings, let file):
                let options: StoreOptions
                do throws(UsageError) { options = try StoreOptions(settings, passwordFile: file) } catch {
                    throw StoreFailure(error.description)
                }
                return .database(try DatabaseReader(options))
            }
        } catch { throw UsageError(error.message) }
    }

    /// Records the run of a command for the audit log of a server on the data folder.
    ///
    /// A database has no place for it; PostgreSQL's own log can record connections.
    func leave(_ trace: @autoclosure () -> CommandTrace) {
        if case .folder(let path) = self { trace().write(in: path) }
    }
}

/// Opened records of a server.
enum Records {
    case folder(DataFolderReader, String)
    case database(DatabaseReader)

    /// The records.
    var reader: any StoreReader {
        switch self {
        case .folder(let reader, _): reader
        case .database(let reader): reader
        }
    }

    /// Returns the source of the records, and for a database a line that says who owns it.
    func origin() throws(StoreFailure) -> (source: Explanation.RecordSource, line: String?) {
        switch self {
        case .folder(_, let path):
            let isHeld = SQLiteCallStore.isHeld(folder: path)
            return (SQLiteCallStore.isFile(path) ? .copy : isHeld ? .server : .noServer, nil)
        case .database(let reader):
            let owner = try reader.owner()
            return (owner?.isOwning == true ? .server : .noServer, "\(DatabaseOwner.text(owner)).\n")
        }
    }
}

extension DatabaseOwner {
    /// Returns a sentence without its full stop: who owns a database, or has owned it last.
    static func text(_ owner: DatabaseOwner?) -> String {
        guard let owner else { return "No server has ever owned the database" }
        return text(owner.state, owner)
            + (owner.claimsLostAt.map {
                "; at \(Timestamp.text($0)) the database had lost claims: a backup was restored, or a standby without "
                    + "the newest commits had taken over"
            } ?? "")
    }

    private static func text(_ state: State, _ owner: DatabaseOwner) -> String {
        switch state {
        case .owning:
            let since = Timestamp.text(owner.connectedAt)
            return
                "The database is owned by the server on \(owner.node) (process \(owner.process)), connected since \(since)"
        case .released: return "No server owns the database: the last one, on \(owner.node), stopped in good order"
        case .expired(let moment):
            return "No server owns the database: the last one, on \(owner.node), was killed or cut off; "
                + "its lease ended at \(Timestamp.text(moment))"
        }
    }
}

extension StoreOptions {
    /// The options for a database, with the password from a file.
    init(_ settings: ConnectionSettings, passwordFile: String?) throws(UsageError) {
        var settings = settings
        // libpq opens these files by itself. It says what is wrong with a file that is missing, or with its contents.
        for (parameter, path) in settings.files {
            guard case .otherKind(let path, let kind)? = NamedFile.fault(of: path) else { continue }
            throw UsageError("--store: \(parameter): \(SecretFileError.otherKind(path, kind))")
        }
        if let passwordFile {
            let password = try Keys.text(passwordFile, for: "store-password-file")
            settings = settings.with(password: password)
        }
        self.init(settings)
    }
}
