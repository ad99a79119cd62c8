-- Who takes part, as a JSON array of names: agents first, then people. It follows from the journal's first record.
ALTER TABLE sessions ADD COLUMN cast_names TEXT NOT NULL DEFAULT '[]';
UPDATE sessions SET cast_names = coalesce(
    (SELECT json_group_array(iif(one.type = 'object', one.value ->> '$.name', one.value))
     FROM journal, json_each(journal.event, '$.setup.cast') AS kind, json_each(kind.value) AS one
     WHERE journal.place = (sessions.key << 32) + 1 AND kind.key IN ('agents', 'people')), '[]');

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
