-- What each process holds of a provider's places for calls, and how many it has a use for.
CREATE TABLE places (
    provider TEXT    NOT NULL,
    node     BLOB    NOT NULL CHECK (length(node) = 16),
    held     INTEGER NOT NULL,
    wants    INTEGER NOT NULL,
    -- Since when it holds so many, and until when: milliseconds since 1970 by the clock of the machine.
    since    INTEGER NOT NULL,
    until    INTEGER NOT NULL,
    PRIMARY KEY (provider, node)
) STRICT, WITHOUT ROWID;

-- What all sessions have cost on a day (UTC, counted from 1970), in millionths of a millionth of a dollar.
CREATE TABLE spent (
    day         INTEGER PRIMARY KEY,
    picodollars INTEGER NOT NULL
) STRICT;
