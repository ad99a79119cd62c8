-- What a list shows of each session. All but the owner, the takeovers and the stop follows from the journal, and is
-- written with it. Times of records are milliseconds since 1970, as the journal has them.
CREATE TABLE sessions (
    id         uuid    PRIMARY KEY,
    format     text    NOT NULL,
    title      text    NOT NULL,
    -- Who takes part, as JSON with the names of agents and people.
    cast_names text    NOT NULL,
    -- The story that its memories belong to.
    story      text,
    -- Where it answers in a room.
    room       text    COLLATE "C",
    started_at bigint  NOT NULL,
    last_at    bigint  NOT NULL,
    head       bigint  NOT NULL,
    -- NULL while the session has not ended.
    reason     text,
    -- Whether it is a person's turn, so that nobody has to run the session.
    waiting    boolean NOT NULL,
    -- The newest version of the journal's format that its records are in.
    version    bigint  NOT NULL,
    -- The node that runs the session, or that has ended it and still makes its files.
    owner      uuid,
    -- How often it was taken over without anything having come of it.
    takeovers  bigint  NOT NULL DEFAULT 0,
    -- Whether its owner is to stop it.
    stop       boolean NOT NULL DEFAULT false
);

CREATE INDEX sessions_newest ON sessions (last_at, id);
CREATE INDEX sessions_unfinished ON sessions (started_at, id) WHERE reason IS NULL AND NOT waiting;
CREATE INDEX sessions_owned ON sessions (owner) WHERE owner IS NOT NULL;

-- The event is text and not jsonb: it is read back as the very bytes that were written, and may hold the character 0.
CREATE TABLE journal (
    session_id uuid   NOT NULL,
    seq        bigint NOT NULL,
    at         bigint NOT NULL,
    event      text   NOT NULL,
    PRIMARY KEY (session_id, seq)
);

-- The processes that run sessions. The times are the database's own, so that the clocks of nodes do not matter.
CREATE TABLE nodes (
    id          uuid        PRIMARY KEY,
    alive_until timestamptz NOT NULL
);

-- From which sessions a session was forked, at whatever remove: they share the clips of what was said before.
CREATE TABLE forks (
    session_id uuid NOT NULL REFERENCES sessions (id),
    origin     uuid NOT NULL,
    PRIMARY KEY (session_id, origin)
);

CREATE INDEX forks_of ON forks (origin);

-- The rooms that something was said in, and how far the order of each has come.
CREATE TABLE rooms (
    name       text   COLLATE "C" PRIMARY KEY,
    started_at bigint NOT NULL,
    last_at    bigint NOT NULL,
    head       bigint NOT NULL
);

CREATE INDEX rooms_newest ON rooms (last_at, name);

-- The records of a room's sessions in the order in which they were written.
CREATE TABLE room_log (
    room       text   COLLATE "C" NOT NULL REFERENCES rooms (name),
    n          bigint NOT NULL,
    session_id uuid   NOT NULL,
    seq        bigint NOT NULL,
    PRIMARY KEY (room, n)
);

CREATE INDEX room_log_record ON room_log (session_id, seq);

-- Where the characters of a story put down what they remember: the words are in the record at that place.
CREATE TABLE memories (
    session_id uuid   NOT NULL,
    seq        bigint NOT NULL,
    story      text   NOT NULL,
    agent      text   NOT NULL,
    PRIMARY KEY (session_id, seq)
);

CREATE INDEX memories_whose ON memories (agent, story);

-- What of it was forgotten. It follows from nothing, so it is kept apart: the table above can be made anew.
CREATE TABLE forgotten (
    session_id uuid   NOT NULL,
    seq        bigint NOT NULL,
    PRIMARY KEY (session_id, seq)
);

-- Ends a transaction whose appends do not all follow their journals, so that it can be sent whole, its COMMIT included,
-- before anything is known of it.
CREATE FUNCTION refuse_append() RETURNS void LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'an append does not follow its journal' USING ERRCODE = 'PL001'; END $$;
