extension Schema {
    /// Adds events for the app's backend, and the endpoints to which they are delivered.
    ///
    /// Further rows of `meta` are written later: 'event_incarnation', of the database, 1 if it is absent;
    /// 'event_bytes_deleted', the sum of the bytes of all events that were deleted; 'events_thinned', a position up to
    /// which only held events are stored; and those of `DatabaseIdentity`.
    static let appEvents = """
        -- Rows are appended, and the oldest ones deleted, a few thousand at once.
        CREATE TABLE app_event (
            position    bigint PRIMARY KEY,           -- among all events; the newest row is never deleted
            incarnation bigint NOT NULL,              -- of the database when the event was written
            at          bigint NOT NULL,
            type        text   NOT NULL,              -- such as call.ended
            call        bigint,                       -- NULL = the event is about none
            number      bigint NOT NULL,              -- among the events of the call, from 1
            "user"      text   COLLATE "C",           -- whom the event is about, if it is about no call
            data        bytea  NOT NULL,              -- one JSON object, UTF-8
            total       bigint NOT NULL               -- the bytes of all events up to this one, deleted ones included
        ) WITH (autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0.02);
        CREATE INDEX app_event_by_call ON app_event (call) WHERE call IS NOT NULL;

        -- A row changes with each delivery. fillfactor leaves room for new versions of it on the same page.
        CREATE TABLE event_endpoint (
            url           text   COLLATE "C" PRIMARY KEY,
            settled_up_to bigint NOT NULL,            -- every event up to this position was delivered, or is held
            stopped_at    bigint,                     -- when the endpoint said that it is gone; NULL = it is not
            parked        bigint NOT NULL             -- the number of its parked events
        ) WITH (fillfactor = 10);

        CREATE TABLE held_event (
            url      text   COLLATE "C" NOT NULL,
            position bigint NOT NULL,
            call     bigint,
            state    text   NOT NULL,                 -- retry, behind or parked
            retry_at bigint,                          -- of the next attempt; NULL = the state is another one
            attempts bigint NOT NULL,
            since    bigint NOT NULL,
            PRIMARY KEY (url, position)
        ) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
        CREATE INDEX held_event_by_retry    ON held_event (url, retry_at, position) WHERE state = 'retry';
        CREATE INDEX held_event_by_call     ON held_event (url, call, position);
        CREATE INDEX held_event_by_state    ON held_event (url, state, position);
        CREATE INDEX held_event_by_position ON held_event (position);
        """
}
