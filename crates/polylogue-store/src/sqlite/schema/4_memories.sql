-- Where the characters of a story put down what they remember. All of it follows from the journal, and is written
-- with it: the words are in the record at that place.
CREATE TABLE memories (
    place     INTEGER PRIMARY KEY,
    story     TEXT    NOT NULL,
    character TEXT    NOT NULL
) STRICT;

CREATE INDEX memories_whose ON memories (character, story);

-- What of it was forgotten. It follows from nothing, so it is kept apart: the table above can be made anew.
CREATE TABLE forgotten (
    place INTEGER PRIMARY KEY
) STRICT;
