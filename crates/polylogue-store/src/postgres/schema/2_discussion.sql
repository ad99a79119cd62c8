-- Discussions for programs that read them with SQL of their own. All of it follows from the journal and is written with
-- it; nothing here is ever read back by Polylogue. A project's id is its session's.
CREATE TABLE projects (
    id         uuid        PRIMARY KEY,
    title      text        NOT NULL,
    topic      text,
    max_rounds integer     NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

CREATE TABLE agent_templates (
    id              uuid        PRIMARY KEY,
    project_id      uuid        NOT NULL REFERENCES projects (id),
    name            text        NOT NULL,
    persona         text,
    ai_model_config jsonb       NOT NULL,
    created_at      timestamptz NOT NULL,
    UNIQUE (project_id, name)
);

CREATE TABLE discussion_participants (
    id             uuid        PRIMARY KEY,
    project_id     uuid        NOT NULL REFERENCES projects (id),
    -- NULL for a person.
    agent_id       uuid        REFERENCES agent_templates (id),
    role           text        NOT NULL CHECK (role IN ('manager', 'leader', 'user', 'specialist')),
    -- The name in the discussion; of a person, the userId.
    name           text        NOT NULL,
    sequence_order integer     NOT NULL,
    created_at     timestamptz NOT NULL,
    UNIQUE (project_id, sequence_order)
);

CREATE INDEX discussion_participants_agent ON discussion_participants (agent_id);

CREATE TABLE discussion_state (
    id                 uuid        PRIMARY KEY,
    project_id         uuid        NOT NULL UNIQUE REFERENCES projects (id),
    current_turn_index integer     NOT NULL,
    current_round      integer     NOT NULL,
    status             text        NOT NULL CHECK (status IN ('active', 'completed', 'paused')),
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL
);

CREATE TABLE discussion_logs (
    id           uuid        PRIMARY KEY,
    project_id   uuid        NOT NULL REFERENCES projects (id),
    -- NULL for a person.
    agent_id     uuid        REFERENCES agent_templates (id),
    role         text        NOT NULL,
    content      text        NOT NULL,
    turn_index   integer     NOT NULL,
    round_number integer     NOT NULL,
    metadata     jsonb       NOT NULL,
    created_at   timestamptz NOT NULL,
    UNIQUE (project_id, round_number, turn_index)
);

CREATE INDEX discussion_logs_agent ON discussion_logs (agent_id);
