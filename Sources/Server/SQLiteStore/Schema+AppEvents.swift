extension Schema {
    /// Adds events for the app's backend, and the endpoints to which they are delivered.
    ///
    /// Three further rows of `meta` are written later: 'event_incarnation', of the database, 1 if it is absent;
    /// 'event_bytes_deleted', the sum of the bytes of all events that were deleted; 'events_thinned', a position up to
    /// which only held events are stored.
    static let appEvents = """
        CREATE TABLE app_event (
            position    INTEGER PRIMARY KEY,          -- among all events; the newest row is never deleted
            incarnation INTEGER NOT NULL,             -- of the database when the event was written
            at          INTEGER NOT NULL,
            type        TEXT    NOT NULL,             -- such as call.ended
            call        INTEGER,                      -- NULL = the event is about none
            number      INTEGER NOT NULL,             -- among the events of the call, from 1
            user        TEXT,                         -- whom the event is about, if it is about no call
            data        BLOB    NOT NULL,             -- one JSON object, UTF-8
            total       INTEGER NOT NULL              -- the bytes of all events up to this one, deleted ones included
        ) STRICT;
        CREATE INDEX app_event_by_call ON app_event (call) WHERE call IS NOT NULL;

        CREATE TABLE event_endpoint (
            url           TEXT    PRIMARY KEY,
            settled_up_to INTEGER NOT NULL,           -- every event up to this position was delivered, or is held
            stopped_at    INTEGER,                    -- when the endpoint said that it is gone; NULL = it is not
            parked        INTEGER NOT NULL            -- the number of its parked events
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE held_event (
            url      TEXT    NOT NULL,
            position INTEGER NOT NULL,
            call     INTEGER,
            state    TEXT    NOT NULL,                -- retry, behind or parked
            retry_at INTEGER,                         -- of the next attempt; NULL = the state is another one
            attempts INTEGER NOT NULL,
            since    INTEGER NOT NULL,
            PRIMARY KEY (url, position)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX held_event_by_retry    ON held_event (url, retry_at, position) WHERE state = 'retry';
        CREATE INDEX held_event_by_call     ON held_event (url, call, position);
        CREATE INDEX held_event_by_state    ON held_event (url, state, position);
        CREATE INDEX held_event_by_position ON held_event (position)
        """
}
