-- What a list shows of each session. All of it follows from the journal, and is written with it.
CREATE TABLE sessions (
    key        INTEGER PRIMARY KEY,
    id         BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    format     TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    started_at INTEGER NOT NULL,
    last_at    INTEGER NOT NULL,
    head       INTEGER NOT NULL,
    -- NULL while the session has not ended.
    reason     TEXT,
    -- The newest version of the journal's format that its records are in.
    version    INTEGER NOT NULL
) STRICT;

CREATE INDEX sessions_newest ON sessions (last_at, id);
CREATE INDEX sessions_unfinished ON sessions (started_at, id) WHERE reason IS NULL;

-- The place is the session's key and the record's number in one integer, so that it is the row's own id: a
-- journal lies together in its order without a second tree, and large events do not get into the tree's inner
-- pages as they would WITHOUT ROWID. Measured on 100 sessions written in turn, against WITHOUT ROWID: 16 % less
-- disk and a third less time at 600 bytes an event, 36 % less disk and 45 % less time at 2,000.
CREATE TABLE journal (
    place   INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    event   TEXT    NOT NULL,
    session INTEGER GENERATED ALWAYS AS (place >> 32) VIRTUAL,
    seq     INTEGER GENERATED ALWAYS AS (place & 0xffffffff) VIRTUAL
) STRICT;
