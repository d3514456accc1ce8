extension Schema {
    /// Adds schedules, and the schedule by which the server itself has begun a call.
    static let schedules = """
        ALTER TABLE call ADD COLUMN schedule text;
        CREATE TABLE schedule (
            "user"       text    COLLATE "C" NOT NULL,
            id           text    COLLATE "C" NOT NULL,
            at           text    NOT NULL,            -- such as 06:30
            dates        text    NOT NULL,            -- 2026-12-01, or weekdays: mon tue
            zone         text    NOT NULL,
            caller       text    COLLATE "C" NOT NULL,
            display_name bytea,
            handle       bytea,
            handle_type  text,
            data         bytea,                       -- a JSON value
            ring         bigint  NOT NULL,            -- milliseconds
            every        bigint,                      -- milliseconds; NULL = the user need not confirm
            times        bigint,
            is_own       boolean NOT NULL,
            created_at   bigint  NOT NULL,
            next         bigint,
            occurrence   bigint,
            rings        bigint  NOT NULL,
            again        bigint,
            salt         bigint  NOT NULL,
            last_occurrence bigint,
            PRIMARY KEY ("user", id)
        ) WITH (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);
        """
}
