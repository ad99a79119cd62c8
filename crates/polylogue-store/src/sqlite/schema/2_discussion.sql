-- Whether it is a person's turn, so that nobody has to run the session.
ALTER TABLE sessions ADD COLUMN waiting INTEGER NOT NULL DEFAULT 0;

DROP INDEX sessions_unfinished;
CREATE INDEX sessions_unfinished ON sessions (started_at, id) WHERE reason IS NULL AND waiting = 0;

-- Discussions for programs that read them with SQL of their own. All of it follows from the journal and is
-- written with it; nothing here is ever read back by Polylogue. A project's id is its session's.
--
-- The types on PostgreSQL stand beside the columns: an id here is a uuid's text, a time is RFC 3339 in UTC, and
-- metadata is JSON.
CREATE TABLE projects (
    id         TEXT    NOT NULL PRIMARY KEY, -- uuid
    title      TEXT    NOT NULL,
    topic      TEXT,
    max_rounds INTEGER NOT NULL,
    created_at TEXT    NOT NULL,             -- timestamptz
    updated_at TEXT    NOT NULL              -- timestamptz
) STRICT, WITHOUT ROWID;

CREATE TABLE agent_templates (
    id              TEXT NOT NULL PRIMARY KEY,                -- uuid
    project_id      TEXT NOT NULL REFERENCES projects (id),   -- uuid
    name            TEXT NOT NULL,
    persona         TEXT,
    ai_model_config TEXT NOT NULL CHECK (json_valid(ai_model_config)), -- jsonb
    created_at      TEXT NOT NULL,                            -- timestamptz
    UNIQUE (project_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE discussion_participants (
    id             TEXT    NOT NULL PRIMARY KEY,              -- uuid
    project_id     TEXT    NOT NULL REFERENCES projects (id), -- uuid
    agent_id       TEXT    REFERENCES agent_templates (id),   -- uuid; NULL for a person
    role           TEXT    NOT NULL CHECK (role IN ('manager', 'leader', 'user', 'specialist')),
    -- The name in the discussion; of a person, the userId.
    name           TEXT    NOT NULL,
    sequence_order INTEGER NOT NULL,
    created_at     TEXT    NOT NULL,                          -- timestamptz
    UNIQUE (project_id, sequence_order)
) STRICT, WITHOUT ROWID;

CREATE TABLE discussion_state (
    id                 TEXT    NOT NULL PRIMARY KEY,                     -- uuid
    project_id         TEXT    NOT NULL UNIQUE REFERENCES projects (id), -- uuid
    current_turn_index INTEGER NOT NULL,
    current_round      INTEGER NOT NULL,
    status             TEXT    NOT NULL CHECK (status IN ('active', 'completed', 'paused')),
    created_at         TEXT    NOT NULL,                                 -- timestamptz
    updated_at         TEXT    NOT NULL                                  -- timestamptz
) STRICT, WITHOUT ROWID;

CREATE TABLE discussion_logs (
    id           TEXT    NOT NULL PRIMARY KEY,              -- uuid
    project_id   TEXT    NOT NULL REFERENCES projects (id), -- uuid
    agent_id     TEXT    REFERENCES agent_templates (id),   -- uuid; NULL for a person
    role         TEXT    NOT NULL,
    content      TEXT    NOT NULL,
    turn_index   INTEGER NOT NULL,
    round_number INTEGER NOT NULL,
    metadata     TEXT    NOT NULL CHECK (json_valid(metadata)), -- jsonb
    created_at   TEXT    NOT NULL,                          -- timestamptz
    UNIQUE (project_id, round_number, turn_index)
) STRICT;
