-- How many sessions a node would take beside those that it owns.
ALTER TABLE nodes ADD COLUMN room integer NOT NULL DEFAULT 0;
