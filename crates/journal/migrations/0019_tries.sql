-- The newest attempt of each run with an account that had refused one before it. While it is under way, others wait for it for a moment, whichever engine
-- works then; if it was not refused, the account is open. Repair does not compare these rows: a store of before has none of what was tried then, and
-- one row too few costs one more try.
CREATE TABLE tries (
    run      INTEGER NOT NULL,
    account  TEXT    NOT NULL,
    attempt  TEXT    NOT NULL,
    at_ms    INTEGER NOT NULL,
    -- Refusals of the account before it.
    in_a_row INTEGER NOT NULL,
    -- 1: it is over, and was not refused.
    passed   INTEGER NOT NULL,
    PRIMARY KEY (run, account)
) STRICT, WITHOUT ROWID;
