-- Runs that were forked from others: from which one, and to which run they all go back. None for a run that is no fork.
ALTER TABLE runs ADD COLUMN root        TEXT;
ALTER TABLE runs ADD COLUMN forked_from TEXT;
CREATE INDEX runs_by_root ON runs (root) WHERE root IS NOT NULL;

-- A fork has lived what its run was asked: a question stands in the inbox of both, under one id.
CREATE TABLE inbox_of_runs (
    interrupt     TEXT    NOT NULL,
    run           INTEGER NOT NULL,
    about         TEXT    NOT NULL,
    scope         TEXT    NOT NULL,
    step          TEXT    NOT NULL,
    visit         INTEGER NOT NULL,
    question      TEXT    NOT NULL,
    raised_at_ms  INTEGER NOT NULL,
    state         TEXT    NOT NULL,
    kind          TEXT,
    expires_at_ms INTEGER,
    closed_at_ms  INTEGER,
    closed_seq    INTEGER,
    answer        TEXT,
    answered_by   TEXT,
    PRIMARY KEY (run, interrupt)
) STRICT, WITHOUT ROWID;
INSERT INTO inbox_of_runs SELECT interrupt, run, about, scope, step, visit, question, raised_at_ms, state, kind,
    expires_at_ms, closed_at_ms, closed_seq, answer, answered_by FROM inbox;
DROP TABLE inbox;
ALTER TABLE inbox_of_runs RENAME TO inbox;
CREATE INDEX inbox_by_interrupt ON inbox (interrupt);
CREATE INDEX inbox_open ON inbox (raised_at_ms) WHERE state = 'open';
