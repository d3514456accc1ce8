import CallPorts
import Postgres

/// The tables, as migrations from version to version.
///
/// A released migration is never changed; a new one is added. A migration must be additive: a server of the previous
/// version may own the database, and goes on committing after a new server has migrated the tables.
///
/// Moments are milliseconds since 1970. Unsigned numbers (seq, digest, token fingerprint) are stored as the `Int64` of
/// the same bits. PostgreSQL's `text` cannot contain U+0000, so a text that clients choose freely is stored as `bytea`;
/// psql shows it with `convert_from(room, 'UTF8')`. Ids are compared by bytes (`COLLATE "C"`), whatever the database's
/// language is.
enum Schema {
    /// The version of the schema after all migrations.
    static var version: Int64 { Int64(migrations.count) }

    static let migrations = [version1, version2, version3, version4, version5, version6, version7]

    /// The key of the advisory lock under which the tables are created and migrated ("ringline" in ASCII).
    static let lock = Int64(bitPattern: 0x7269_6E67_6C69_6E65)

    private static let version1 = SQL(
        "schema 1",
        """
        CREATE TABLE schema_version (version bigint NOT NULL);
        INSERT INTO schema_version VALUES (1);

        -- One row: the Ringline server that owns the database. Every commit updates it, and PostgreSQL writes a new
        -- version of the row each time. fillfactor leaves room for these versions on one page, where PostgreSQL removes
        -- the old ones without a vacuum (HOT).
        CREATE TABLE owner (
            slot          bigint      PRIMARY KEY,    -- always 0
            epoch         bigint      NOT NULL,       -- grows by one with each claim
            claim         bigint      NOT NULL,       -- random: distinguishes two claims of one epoch after a fail-over
            ticket        bigint      NOT NULL,       -- of the newest commit in this epoch; 0 = none
            until         timestamptz NOT NULL,       -- the end of the lease
            released      boolean     NOT NULL,       -- whether the owner has released the database
            node          text        NOT NULL,       -- the owner's machine
            process       bigint      NOT NULL,       -- the owner's process id
            backend       bigint      NOT NULL,       -- PostgreSQL's process for the owner's connection
            backend_start timestamptz NOT NULL
        ) WITH (fillfactor = 10);
        INSERT INTO owner VALUES (0, 0, 0, 0, to_timestamp(0), true, '', 0, 0, to_timestamp(0));

        -- The first statement of each transaction of the owner: records the ticket and renews the lease. It fails if
        -- the caller is not the owner, or if the ticket is not above the last one; without a ticket (NULL), only the
        -- lease is renewed. The row stays locked until the transaction ends, so that a claim waits for the end.
        CREATE FUNCTION fence(of_epoch bigint, of_claim bigint, new_ticket bigint, lease_milliseconds bigint)
        RETURNS void LANGUAGE plpgsql AS $fence$
        BEGIN
            UPDATE owner SET ticket = coalesce(new_ticket, ticket),
                until = clock_timestamp() + lease_milliseconds * interval '1 ms'
            WHERE slot = 0 AND epoch = of_epoch AND claim = of_claim AND (ticket < new_ticket OR new_ticket IS NULL);
            IF FOUND THEN RETURN; END IF;
            IF EXISTS (SELECT FROM owner WHERE slot = 0 AND epoch = of_epoch AND claim = of_claim) THEN
                RAISE EXCEPTION 'ticket % is committed already', new_ticket USING ERRCODE = 'RL002';
            END IF;
            RAISE EXCEPTION 'another server owns the calls; epoch % is over', of_epoch USING ERRCODE = 'RL001';
        END
        $fence$;

        -- A call's row changes about five times. fillfactor leaves room for a new version of it on the same page.
        CREATE TABLE call (
            number       bigint  PRIMARY KEY,
            id           text    COLLATE "C" NOT NULL,
            epoch        bigint  NOT NULL,
            room         bytea   NOT NULL,
            caller       text    COLLATE "C" NOT NULL,
            callee       text    COLLATE "C" NOT NULL,
            display_name bytea,
            has_video    boolean NOT NULL,
            started_at   bigint  NOT NULL,
            ring_until   bigint  NOT NULL,
            answered_at  bigint,
            active_at    bigint,
            ended_at     bigint,
            reason       text,
            replaced_by  text,
            hidden       text,
            legs         bytea   NOT NULL,            -- JSON: [{"device","mark","caller","phase"}]
            state        bytea   NOT NULL,            -- JSON: the rest of the call's state
            log_kept     boolean NOT NULL DEFAULT true
        ) WITH (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
        CREATE INDEX call_by_id     ON call (id, number);
        CREATE INDEX call_by_caller ON call (caller, number);
        CREATE INDEX call_by_callee ON call (callee, number);
        CREATE INDEX call_by_end    ON call (ended_at) WHERE ended_at IS NOT NULL;
        CREATE INDEX call_with_log  ON call (number)   WHERE log_kept;

        -- The log of a call. A row is never changed, and is deleted ten minutes after its call has ended. With
        -- partitions by time, the server would have to create and drop them, under locks that stop its commits, and a
        -- call that lasts for hours would keep its partition from being dropped. So rows are deleted one by one. To use
        -- their space again soon, autovacuum runs after 5,000 deleted rows plus 1 % of the table. It runs without its
        -- usual pauses, because with them the table would grow under load.
        CREATE TABLE entry (
            call       bigint NOT NULL,
            seq        bigint NOT NULL,
            at         bigint NOT NULL,
            kind       text   NOT NULL,
            device     text,                          -- the sender's device; NULL = the server
            mark       bigint,                        -- the fingerprint of the sender's token
            audience   text   NOT NULL,
            signal_id  bytea,
            digest     bigint NOT NULL,
            object     bytea  NOT NULL,               -- one JSON object, UTF-8
            PRIMARY KEY (call, seq)
        ) WITH (
            autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0,
            autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_analyze_scale_factor = 0.1,
            toast.autovacuum_vacuum_threshold = 5000, toast.autovacuum_vacuum_scale_factor = 0.01,
            toast.autovacuum_vacuum_cost_delay = 0
        );

        CREATE TABLE event (
            position bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,   -- grows over all calls
            call     bigint NOT NULL,
            at       bigint NOT NULL,
            event    text   NOT NULL,
            details  bytea  NOT NULL                  -- members of a JSON object, without the braces
        );
        CREATE INDEX event_by_call ON event (call, position);

        CREATE TABLE device (
            "user"              text    COLLATE "C" NOT NULL,
            id                  text    COLLATE "C" NOT NULL,
            is_named            boolean NOT NULL,
            platform            bytea   NOT NULL,
            bundle_id           bytea   NOT NULL,
            voip_token          bytea,
            voip_token_at       bigint,
            alert_token         bytea,
            alert_token_at      bigint,
            fcm_token           bytea,
            environment         text,
            working_environment text,
            created_at          bigint  NOT NULL,
            seen_at             bigint  NOT NULL,
            unanswered_pushes   bigint  NOT NULL,
            push_at             bigint,               -- of the last push; NULL = there was none
            push_status         bigint,
            push_reason         bytea,
            push_environment    text,
            push_hint           bytea,
            PRIMARY KEY ("user", id)
        ) WITH (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);

        CREATE TABLE block (
            by      text   COLLATE "C" NOT NULL,
            blocked text   COLLATE "C" NOT NULL,
            at      bigint NOT NULL,
            PRIMARY KEY (by, blocked)
        );

        CREATE TABLE do_not_disturb (
            "user" text   COLLATE "C" PRIMARY KEY,
            until  bigint NOT NULL
        );

        CREATE TABLE revocation (
            "user" text   COLLATE "C" PRIMARY KEY,
            before bigint NOT NULL
        );

        CREATE TABLE meta (
            name  text   PRIMARY KEY,
            value bigint NOT NULL
        );
        INSERT INTO meta VALUES
            ('crashes', 0),           -- the number of claims without a release, since the last reset of this counter
            ('last_call_number', 0);  -- the highest number of a deleted call; stored calls have theirs in call
        -- A third row, 'forgetting_before', exists while history is being deleted: no query returns calls that ended
        -- before this moment. A fourth one, 'claims_lost_at', says when a claim found that the database had lost claims.
        """
    )

    /// Several servers as nodes that use one database.
    private static let version2 = SQL(
        "schema 2",
        """
        ALTER TABLE owner
            ADD COLUMN node_id text NOT NULL DEFAULT '',  -- the owner's id as one of several nodes; '' = it is not one
            ADD COLUMN address text NOT NULL DEFAULT '',  -- the address at which that node accepts links of other nodes
            ADD COLUMN heir    text NOT NULL DEFAULT '';  -- the node to which the owner has released the database; '' = any

        -- The nodes that run. Each node updates its row every second, so fillfactor leaves room for new versions of it.
        CREATE TABLE node (
            id      text        COLLATE "C" PRIMARY KEY,
            machine text        NOT NULL,
            address text        NOT NULL,
            version text        NOT NULL,             -- the version of its ringline
            seen_at timestamptz NOT NULL
        ) WITH (fillfactor = 10);

        CREATE TABLE secret (
            name  text  PRIMARY KEY,
            value bytea NOT NULL                      -- 'nodes': 32 random bytes with which nodes prove who they are
        );
        """
    )

    /// The nodes' settings, so that an operator sees which of them differ.
    private static let version3 = SQL(
        "schema 3",
        """
        ALTER TABLE node
            ADD COLUMN settings text NOT NULL DEFAULT '';  -- one 'name digest' per line; '' = the node tells none
        """
    )

    /// Adds when a device last registered its Firebase token, and leaves each Firebase token to the device that was seen
    /// last: earlier versions did not send to it, and so did not care whose it was.
    private static let version4 = SQL(
        "schema 4",
        """
        ALTER TABLE device ADD COLUMN fcm_token_at bigint;
        UPDATE device SET fcm_token = NULL WHERE EXISTS (
            SELECT 1 FROM device AS other WHERE other.fcm_token = device.fcm_token
            AND (other.seen_at, other."user", other.id) > (device.seen_at, device."user", device.id));
        DELETE FROM device WHERE voip_token IS NULL AND alert_token IS NULL AND fcm_token IS NULL;
        """
    )

    /// Adds a device's subscription to Web Push, the sound of its alerts, the keys that its app wants in pushes, and the id
    /// of its installation.
    private static let version5 = SQL(
        "schema 5",
        """
        ALTER TABLE device
            ADD COLUMN web_endpoint bytea,
            ADD COLUMN web_p256dh   bytea,
            ADD COLUMN web_auth     bytea,
            ADD COLUMN web_push_at  bigint,
            ADD COLUMN sound        bytea,
            ADD COLUMN payload_keys bytea,
            ADD COLUMN installation text;
        """
    )

    private static let version6 = SQL("schema 6", "\(schedules)\n\(directory)")

    private static let version7 = SQL("schema 7", appEvents)

    /// Creates the schema and its tables if they are missing, runs the migrations that are missing, and checks the
    /// version of the schema.
    ///
    /// Any server migrates, also while another one owns the database: no owner can commit meanwhile, and a migration is
    /// additive. While the owner's commits hold their locks, this waits until `isOver` returns `true`.
    /// - Throws: `StoreFailure`, also if a newer Ringline has written the database.
    static func prepare(
        _ connection: Connection,
        _ options: StoreOptions,
        unless isOver: () -> Bool
    ) throws(StoreFailure) {
        do throws(PostgresError) {
            while try isOutdated(connection, options) { try update(connection, options, unless: isOver) }
        } catch { throw StoreFailure(error, options) }
        try requireKnown(connection, options)
    }

    /// Checks that no newer Ringline has written the database, whose tables exist.
    static func requireKnown(_ connection: Connection, _ options: StoreOptions) throws(StoreFailure) {
        let found: Int64?
        do throws(PostgresError) { found = try versionFound(connection, options) } catch {
            throw StoreFailure(error, options)
        }
        try requireKnown(found ?? 0, options)
    }

    /// Checks that a database has the schema of this version, without changing it.
    static func requireReadable(_ connection: Connection, _ options: StoreOptions) throws(StoreFailure) {
        let found: Int64?
        do throws(PostgresError) { found = try versionFound(connection, options) } catch {
            throw StoreFailure(error, options)
        }
        guard let found else {
            throw StoreFailure(
                "No tables of ringline in the database \(options.settings.shown): name the database of a server that has run."
            )
        }
        try requireKnown(found, options)
        guard found == version else {
            throw StoreFailure(
                """
                The database \(options.settings.shown) was written by an older ringline; start the server once to \
                update it.
                """
            )
        }
    }

    private static func requireKnown(_ found: Int64, _ options: StoreOptions) throws(StoreFailure) {
        guard found > version else { return }
        throw StoreFailure(
            """
            The database \(options.settings.shown) was written by a newer ringline (schema \(found), this one \
            knows \(version)); run that version, or restore a backup made before it.
            """
        )
    }

    private static func isOutdated(_ connection: Connection, _ options: StoreOptions) throws(PostgresError) -> Bool {
        try versionFound(connection, options) ?? 0 < version
    }

    /// Tries once to run the migrations that are missing, and returns if a lock is not free.
    private static func update(
        _ connection: Connection,
        _ options: StoreOptions,
        unless isOver: () -> Bool
    ) throws(PostgresError) {
        do throws(PostgresError) {
            try migrate(connection, options)
        } catch {
            guard error.state == .lockNotAvailable, !isOver() else { throw error }
            try connection.run([Connection.Step(rollback)])
            guard try versionFound(connection, options) != nil else { return }
            // An owner whose lease has run out may be frozen in a transaction. A claim would close its connection too.
            // This fails if another server that migrates has locked the table; then the next attempt waits for it.
            _ = try? connection.run(evictExpired)
        }
    }

    /// Runs the migrations that are missing, all in one transaction.
    ///
    /// If several servers start at the same time, one migrates, and the others wait for the advisory lock.
    private static func migrate(_ connection: Connection, _ options: StoreOptions) throws(PostgresError) {
        let begin = [OwnerTable.begin, OwnerTable.limit, lockSchema].map { Connection.Step($0) }
        try connection.run(begin)
        let found = try versionFound(connection, options)
        if let found {
            if found < version { try connection.run([Connection.Step(lockOwner)]) }
        } else if try !hasSchema(connection, options) {
            try connection.execute(SQL("create schema", "CREATE SCHEMA \(options.quotedSchema)"))
        }
        for migration in migrations.dropFirst(Int(clamping: max(0, found ?? 0))) { try connection.execute(migration) }
        try connection.execute(
            SQL("migrate", "UPDATE schema_version SET version = greatest(version, \(version)); COMMIT")
        )
    }

    private static let lockSchema = SQL("lock schema", "SELECT pg_advisory_xact_lock(\(lock))")

    /// Locks the table of the owner's row, so that no owner can commit.
    ///
    /// With a lock on the row alone, a migration that alters the table would end in a deadlock: a commit that waits for
    /// the row already holds a lock on the table.
    private static let lockOwner = SQL("lock owner", "LOCK TABLE owner IN ACCESS EXCLUSIVE MODE")

    private static let rollback = SQL("end migration", "ROLLBACK")

    private static let evictExpired = SQL(
        "end the connection of an expired owner",
        """
        SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a, owner o
        WHERE o.slot = 0 AND o.until < clock_timestamp() AND a.pid = o.backend AND a.backend_start = o.backend_start
            AND a.pid <> pg_backend_pid()
        """
    )

    private static func hasSchema(_ connection: Connection, _ options: StoreOptions) throws(PostgresError) -> Bool {
        let name = options.parameters { $0.add(options.schema) }
        return try connection.run(existsSchema, name).first?.int64(0) == 1
    }

    /// Returns the version of the schema; `nil` if its tables are missing.
    static func versionFound(_ connection: Connection, _ options: StoreOptions) throws(PostgresError) -> Int64? {
        let name = options.parameters { $0.add(options.schema) }
        guard try connection.run(existsTable, name).first?.int64(0) == 1 else { return nil }
        // With the schema's name, the error says so if the user may not use the schema.
        let sql = SQL("read version", "SELECT version FROM \(options.quotedSchema).schema_version")
        return try connection.run(sql).first?.int64(0)
    }

    // These read the catalog. `to_regclass` and `to_regnamespace` may answer from a cache, as it was when the
    // transaction began, although this server has waited meanwhile for another one that has created the tables.
    private static let existsSchema = SQL(
        "find schema",
        "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1::name)"
    )
    private static let existsTable = SQL(
        "find tables",
        """
        SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = $1::name AND c.relname = 'schema_version')
        """
    )
}
