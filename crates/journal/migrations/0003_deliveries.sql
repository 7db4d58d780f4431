-- Truth: who is to be told of which event, and what has come of it. Written with the event, changed only by outcomes of
-- tries, and never made again from events: targets may differ by then.
CREATE TABLE deliveries (
    delivery        INTEGER PRIMARY KEY,
    run             INTEGER NOT NULL,
    seq             INTEGER NOT NULL,
    kind            TEXT    NOT NULL,
    id              TEXT    NOT NULL,
    -- JSON, without secrets.
    target          TEXT    NOT NULL,
    tries           INTEGER NOT NULL,
    next_try_at_ms  INTEGER NOT NULL,
    delivered_at_ms INTEGER,
    gave_up_at_ms   INTEGER,
    last_error      TEXT
) STRICT;
CREATE INDEX deliveries_by_run ON deliveries (run);
CREATE INDEX deliveries_open ON deliveries (next_try_at_ms) WHERE delivered_at_ms IS NULL AND gave_up_at_ms IS NULL;
