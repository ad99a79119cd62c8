-- Who a session belongs to; NULL where that is the operator. It follows from the journal.
ALTER TABLE sessions ADD COLUMN tenant TEXT;

-- What the sessions of each tenant have cost on a day, as in `spent`.
CREATE TABLE spent_by (
    day         INTEGER NOT NULL,
    tenant      TEXT    NOT NULL,
    picodollars INTEGER NOT NULL,
    PRIMARY KEY (day, tenant)
) STRICT, WITHOUT ROWID;
