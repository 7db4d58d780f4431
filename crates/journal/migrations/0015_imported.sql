-- Truth: runs that came with a bundle. They can be looked at and forked, and never go on.
CREATE TABLE imported (
    run      INTEGER PRIMARY KEY,
    file     TEXT    NOT NULL,
    signer   TEXT,
    at_ms    INTEGER NOT NULL,
    by_actor TEXT    NOT NULL
) STRICT;
