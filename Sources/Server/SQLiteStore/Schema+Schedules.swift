extension Schema {
    /// Schedules, and the schedule by which the server itself has begun a call.
    static let schedules = """
        ALTER TABLE call ADD COLUMN schedule TEXT;
        CREATE TABLE schedule (
            user         TEXT    NOT NULL,
            id           TEXT    NOT NULL,
            at           TEXT    NOT NULL,            -- such as 06:30
            dates        TEXT    NOT NULL,            -- 2026-12-01, or weekdays: mon tue
            zone         TEXT    NOT NULL,
            caller       TEXT    NOT NULL,
            display_name TEXT,
            handle       TEXT,
            handle_type  TEXT,
            data         TEXT,                        -- a JSON value
            ring         INTEGER NOT NULL,            -- milliseconds
            every        INTEGER,                     -- milliseconds; NULL = the user need not confirm
            times        INTEGER,
            is_own       INTEGER NOT NULL,
            created_at   INTEGER NOT NULL,
            next         INTEGER,
            occurrence   INTEGER,
            rings        INTEGER NOT NULL,
            again        INTEGER,
            salt         INTEGER NOT NULL,
            last_occurrence INTEGER,
            PRIMARY KEY (user, id)
        ) STRICT, WITHOUT ROWID
        """
}
