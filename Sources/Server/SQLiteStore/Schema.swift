import SQLite

/// The tables, as migrations from version to version.
///
/// A released migration is never changed; a new one is added.
///
/// Moments are milliseconds since 1970. Unsigned numbers (seq, digest, token fingerprint) are stored as the `Int64` of
/// the same bits, because SQLite has only signed numbers.
///
/// - `entry.mark` is the fingerprint of the sender's token.
/// - `device.is_named` is 1 if the client named the device, and 0 if the server made the id.
/// - `crashes` counts the openings that no clean close followed, the present opening included; a reset sets it to 1.
/// - `last_call_number` is the highest number of the deleted calls; the numbers of the other calls are in `call`.
enum Schema {
    static let migrations = Migrations([version1, version2, version3, version4, version5, version6])

    private static let version1 = SQL(
        "schema 1",
        """
        CREATE TABLE call (
            number       INTEGER PRIMARY KEY,
            id           TEXT    NOT NULL,
            epoch        INTEGER NOT NULL,
            room         TEXT    NOT NULL,
            caller       TEXT    NOT NULL,
            callee       TEXT    NOT NULL,
            display_name TEXT,
            has_video    INTEGER NOT NULL,
            started_at   INTEGER NOT NULL,
            ring_until   INTEGER NOT NULL,
            answered_at  INTEGER,
            active_at    INTEGER,
            ended_at     INTEGER,
            reason       TEXT,
            replaced_by  TEXT,
            hidden       TEXT,
            legs         TEXT    NOT NULL,            -- JSON: [{"device","mark","caller","phase"}]
            state        TEXT    NOT NULL,            -- JSON of the switchboard
            log_kept     INTEGER NOT NULL DEFAULT 1   -- 0 once the log was forgotten
        ) STRICT;
        -- SQLite appends the row id, here the call's number, to each index: read backwards, it gives the newest first.
        CREATE INDEX call_by_id     ON call (id);
        CREATE INDEX call_by_caller ON call (caller);
        CREATE INDEX call_by_callee ON call (callee);
        CREATE INDEX call_by_end    ON call (ended_at) WHERE ended_at IS NOT NULL;
        CREATE INDEX call_with_log  ON call (number)   WHERE log_kept = 1;

        -- Rows of entry and event are stored in the order of arrival, not by call. With a thousand calls at once, the
        -- rows of a commit then fill a few pages. A table ordered by call (WITHOUT ROWID) would touch a page per row.
        CREATE TABLE entry (
            call       INTEGER NOT NULL,
            seq        INTEGER NOT NULL,
            at         INTEGER NOT NULL,
            kind       TEXT    NOT NULL,
            device     TEXT,                          -- of the sender; NULL = the server
            mark       INTEGER,                       -- of the sender's token
            audience   TEXT    NOT NULL,
            signal_id  TEXT,
            digest     INTEGER NOT NULL,
            object     BLOB    NOT NULL,              -- one JSON object, UTF-8
            PRIMARY KEY (call, seq)
        ) STRICT;

        CREATE TABLE event (
            position INTEGER PRIMARY KEY,             -- counts up over all calls
            call     INTEGER NOT NULL,
            at       INTEGER NOT NULL,
            event    TEXT    NOT NULL,
            details  TEXT    NOT NULL                 -- members of a JSON object, without the braces
        ) STRICT;
        CREATE INDEX event_by_call ON event (call);

        CREATE TABLE device (
            user                TEXT    NOT NULL,
            id                  TEXT    NOT NULL,
            is_named            INTEGER NOT NULL,
            platform            TEXT    NOT NULL,
            bundle_id           TEXT    NOT NULL,
            voip_token          TEXT,
            voip_token_at       INTEGER,
            alert_token         TEXT,
            alert_token_at      INTEGER,
            fcm_token           TEXT,
            environment         TEXT,
            working_environment TEXT,
            created_at          INTEGER NOT NULL,
            seen_at             INTEGER NOT NULL,
            unanswered_pushes   INTEGER NOT NULL,
            push_at             INTEGER,              -- of the last push; NULL = there was none
            push_status         INTEGER,
            push_reason         TEXT,
            push_environment    TEXT,
            push_hint           TEXT,
            PRIMARY KEY (user, id)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE block (
            by      TEXT    NOT NULL,
            blocked TEXT    NOT NULL,
            at      INTEGER NOT NULL,
            PRIMARY KEY (by, blocked)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE do_not_disturb (
            user  TEXT    PRIMARY KEY,
            until INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE meta (
            name  TEXT    PRIMARY KEY,
            value INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        INSERT INTO meta VALUES
            ('crashes', 0),           -- the number of openings without a clean close, since its last reset
            ('last_call_number', 0);  -- the highest number of a deleted call; stored calls have theirs in call
        -- A third row, 'forgetting_before', is written later: calls that ended before it are being deleted, and no
        -- query returns them.
        """
    )

    /// Adds revocations: a user's tokens that were issued up to the time `before` are refused.
    private static let version2 = SQL(
        "schema 2",
        """
        CREATE TABLE revocation (
            user   TEXT    PRIMARY KEY,
            before INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """
    )

    /// Adds when a device last registered its Firebase token, and leaves each Firebase token to the device that was seen
    /// last: earlier versions did not send to it, and so did not care whose it was.
    private static let version3 = SQL(
        "schema 3",
        """
        ALTER TABLE device ADD COLUMN fcm_token_at INTEGER;
        UPDATE device SET fcm_token = NULL WHERE EXISTS (
            SELECT 1 FROM device AS other WHERE other.fcm_token = device.fcm_token
            AND (other.seen_at, other.user, other.id) > (device.seen_at, device.user, device.id));
        DELETE FROM device WHERE voip_token IS NULL AND alert_token IS NULL AND fcm_token IS NULL
        """
    )

    /// Adds a device's subscription to Web Push, the sound of its alerts, the keys that its app wants in pushes, and the id
    /// of its installation.
    private static let version4 = SQL(
        "schema 4",
        """
        ALTER TABLE device ADD COLUMN web_endpoint TEXT;
        ALTER TABLE device ADD COLUMN web_p256dh TEXT;
        ALTER TABLE device ADD COLUMN web_auth TEXT;
        ALTER TABLE device ADD COLUMN web_push_at INTEGER;
        ALTER TABLE device ADD COLUMN sound TEXT;
        ALTER TABLE device ADD COLUMN payload_keys TEXT;
        ALTER TABLE device ADD COLUMN installation TEXT
        """
    )

    private static let version5 = SQL("schema 5", "\(schedules);\n\(directory)")

    private static let version6 = SQL("schema 6", appEvents)
}
