extension Schema {
    /// Adds the call directory: names of callers, and numbers that users block.
    ///
    /// Three further rows of `meta` are written with the first change: 'directory_version', the number of the newest
    /// change; 'directory_oldest', the version since which all removals are stored; 'directory_numbers', the number of
    /// names for all users.
    static let directory = """
        CREATE TABLE directory (
            owner      text   COLLATE "C" NOT NULL,   -- the user; '' = all users
            list       bigint NOT NULL,               -- 0 = names of callers, 1 = blocked numbers
            number     bigint NOT NULL,               -- country code first, 1 to 18 digits
            label      bytea,                         -- the name; NULL = a blocked or a removed number
            version    bigint NOT NULL,               -- of the change that wrote the row
            removed_at bigint,                        -- NULL = the number is in the list
            PRIMARY KEY (owner, list, number)
        );
        CREATE INDEX directory_by_version ON directory (owner, list, version);
        CREATE INDEX directory_removed    ON directory (removed_at)    WHERE removed_at IS NOT NULL;
        CREATE INDEX directory_blocked    ON directory (owner, number) WHERE list = 1 AND removed_at IS NULL;
        """
}
