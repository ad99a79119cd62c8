-- What somebody wants of a session that another process runs, until its owner has answered or the time is up.
CREATE TABLE letters (
    n          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         uuid        NOT NULL UNIQUE,
    session_id uuid        NOT NULL,
    -- Who owned the session when the letter was posted.
    owner      uuid        NOT NULL,
    content    text        NOT NULL,
    -- NULL while nobody has answered.
    answer     text,
    until      timestamptz NOT NULL
);

CREATE INDEX letters_to ON letters (session_id);
