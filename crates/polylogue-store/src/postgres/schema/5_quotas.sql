-- What each process holds of a provider's places for calls, and how many it has a use for.
CREATE TABLE places (
    provider text        NOT NULL,
    node     uuid        NOT NULL,
    held     bigint      NOT NULL,
    wants    bigint      NOT NULL,
    -- Since when it holds so many, in milliseconds since 1970, and until when.
    since    bigint      NOT NULL,
    until    timestamptz NOT NULL,
    PRIMARY KEY (provider, node)
);

-- What all sessions have cost on a day (UTC, counted from 1970), in millionths of a millionth of a dollar.
CREATE TABLE spent (
    day         bigint PRIMARY KEY,
    picodollars bigint NOT NULL
);
