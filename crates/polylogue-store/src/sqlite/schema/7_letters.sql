-- What somebody wants of a session that another process runs, until its owner has answered or the time is up.
CREATE TABLE letters (
    n       INTEGER PRIMARY KEY,
    id      BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    session BLOB    NOT NULL CHECK (length(session) = 16),
    -- Who owned the session when the letter was posted.
    owner   BLOB    NOT NULL CHECK (length(owner) = 16),
    content TEXT    NOT NULL,
    -- NULL while nobody has answered.
    answer  TEXT,
    -- Milliseconds since 1970 by the database's clock.
    until   INTEGER NOT NULL
) STRICT;

CREATE INDEX letters_to ON letters (session);
