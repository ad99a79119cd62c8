-- The processes that run sessions. The times are of this table alone: milliseconds by the clock of the machine.
CREATE TABLE nodes (
    id          BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    alive_until INTEGER NOT NULL,
    -- Whether the node holds a lock on a file of its own, which the system takes from it when its process ends.
    locks       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The node that runs the session, or that has ended it and still makes its files. This follows from no journal.
ALTER TABLE sessions ADD COLUMN owner BLOB;
-- How often it was taken over without anything having come of it.
ALTER TABLE sessions ADD COLUMN takeovers INTEGER NOT NULL DEFAULT 0;
-- Whether its owner is to stop it.
ALTER TABLE sessions ADD COLUMN stop INTEGER NOT NULL DEFAULT 0;

CREATE INDEX sessions_owned ON sessions (owner) WHERE owner IS NOT NULL;
