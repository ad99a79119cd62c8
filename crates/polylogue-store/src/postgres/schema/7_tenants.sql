-- Who a session belongs to; NULL where that is the operator. It follows from the journal.
ALTER TABLE sessions ADD COLUMN tenant text;

-- What the sessions of each tenant have cost on a day, as in `spent`.
CREATE TABLE spent_by (
    day         bigint NOT NULL,
    tenant      text   NOT NULL,
    picodollars bigint NOT NULL,
    PRIMARY KEY (day, tenant)
);
