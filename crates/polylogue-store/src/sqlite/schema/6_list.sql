-- Who takes part, as JSON with the names of agents and people. It follows from the journal's first record.
ALTER TABLE sessions ADD COLUMN cast_names TEXT NOT NULL DEFAULT '{"agents": [], "people": []}';
UPDATE sessions SET cast_names = coalesce(
    (SELECT json_object(
         'agents', json((SELECT json_group_array(value ->> '$.name') FROM json_each(event, '$.setup.cast.agents'))),
         'people', json((SELECT json_group_array(value) FROM json_each(event, '$.setup.cast.people'))))
     FROM journal WHERE place = (sessions.key << 32) + 1), cast_names);

-- From which sessions a session was forked, at whatever remove: they share the clips of what was said before.
CREATE TABLE forks (
    session INTEGER NOT NULL REFERENCES sessions (key),
    origin  BLOB    NOT NULL CHECK (length(origin) = 16),
    PRIMARY KEY (session, origin)
) STRICT, WITHOUT ROWID;

CREATE INDEX forks_of ON forks (origin);

INSERT OR IGNORE INTO forks (session, origin)
SELECT session, unhex(replace(event ->> '$.from', '-', '')) FROM journal WHERE event ->> '$.type' = 'forked';

-- A record that is deleted is looked for in the rooms.
CREATE INDEX room_log_record ON room_log (record);
