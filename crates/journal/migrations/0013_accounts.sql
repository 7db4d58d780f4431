-- Projection: what visits wait for with a timer, where that is the account of an agent program.
CREATE TABLE waits (
    run          INTEGER NOT NULL,
    timer        TEXT    NOT NULL,
    account      TEXT    NOT NULL,
    -- When its provider says that it is open again, and when the next try is made.
    resets_at_ms INTEGER,
    due_ms       INTEGER NOT NULL,
    PRIMARY KEY (run, timer)
) STRICT, WITHOUT ROWID;

-- Projection: the last refusal of each account that each run has met. An account is closed as the newest of its rows says, whatever
-- run that is of.
CREATE TABLE refusals (
    run          INTEGER NOT NULL,
    account      TEXT    NOT NULL,
    at_ms        INTEGER NOT NULL,
    until_ms     INTEGER NOT NULL,
    resets_at_ms INTEGER,
    in_a_row     INTEGER NOT NULL,
    PRIMARY KEY (run, account)
) STRICT, WITHOUT ROWID;
