-- The rooms that something was said in, and how far the order of each has come.
CREATE TABLE rooms (
    key        INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    started_at INTEGER NOT NULL,
    last_at    INTEGER NOT NULL,
    head       INTEGER NOT NULL
) STRICT;

CREATE INDEX rooms_newest ON rooms (last_at, name);

-- Which room a session answers in; most answer in none.
CREATE TABLE room_sessions (
    session INTEGER PRIMARY KEY REFERENCES sessions (key),
    room    INTEGER NOT NULL REFERENCES rooms (key)
) STRICT;

-- The records of a room's sessions in the order in which they were written. The record is a place in the journal.
CREATE TABLE room_log (
    room   INTEGER NOT NULL REFERENCES rooms (key),
    n      INTEGER NOT NULL,
    record INTEGER NOT NULL REFERENCES journal (place),
    PRIMARY KEY (room, n)
) STRICT, WITHOUT ROWID;
