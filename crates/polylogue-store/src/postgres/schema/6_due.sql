-- Until when a session that waits for people does so, in milliseconds since 1970; NULL where it waits for as long as it
-- takes. It follows from the journal.
ALTER TABLE sessions ADD COLUMN due bigint;

CREATE INDEX sessions_due ON sessions (due) WHERE due IS NOT NULL;
