-- Truth: what was committed, and never changes afterwards.

-- Bumped by every new holder of the engine's lease; every transaction checks it.
CREATE TABLE engine (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    epoch INTEGER NOT NULL
) STRICT;
INSERT INTO engine (one, epoch) VALUES (1, 0);

CREATE TABLE flows (
    flow     INTEGER PRIMARY KEY,
    digest   TEXT    NOT NULL,
    language INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    text     TEXT    NOT NULL
) STRICT;
CREATE INDEX flows_by_digest ON flows (digest);

-- A run's short key, and the flow pinned to it.
CREATE TABLE journals (
    run  INTEGER PRIMARY KEY,
    id   TEXT    NOT NULL UNIQUE,
    flow INTEGER NOT NULL REFERENCES flows (flow)
) STRICT;

-- Rows lie in the order of their commits, so that a batch of many runs fills few pages.
CREATE TABLE events (
    event INTEGER PRIMARY KEY,
    run   INTEGER NOT NULL,
    seq   INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    body  TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_by_run ON events (run, seq);

-- Small content; larger content lies in files.
CREATE TABLE blobs (
    blob   INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    bytes  BLOB NOT NULL
) STRICT;

-- A shortcut for loading: the newest snapshot of a run, which replay could make again.
CREATE TABLE snapshots (
    run   INTEGER PRIMARY KEY,
    seq   INTEGER NOT NULL,
    state BLOB    NOT NULL
) STRICT;

-- Projections: folded from events, rebuilt by repair.

CREATE TABLE runs (
    run             INTEGER PRIMARY KEY,
    id              TEXT    NOT NULL,
    flow            TEXT    NOT NULL,
    flow_digest     TEXT    NOT NULL,
    workspace       TEXT    NOT NULL,
    tenant          TEXT    NOT NULL,
    actor           TEXT    NOT NULL,
    started_at_ms   INTEGER NOT NULL,
    updated_at_ms   INTEGER NOT NULL,
    next_seq        INTEGER NOT NULL,
    live_attempts   INTEGER NOT NULL,
    open_interrupts INTEGER NOT NULL,
    in_doubt        INTEGER NOT NULL,
    pending_timers  INTEGER NOT NULL,
    step            TEXT,
    ended           TEXT,
    terminal_reason TEXT,
    reason          TEXT
) STRICT;
CREATE INDEX runs_unfinished ON runs (run) WHERE ended IS NULL;

-- `seq` is the event that holds the hand-off itself.
CREATE TABLE handoffs (
    run     INTEGER NOT NULL,
    scope   TEXT    NOT NULL,
    step    TEXT    NOT NULL,
    visit   INTEGER NOT NULL,
    flow    TEXT    NOT NULL,
    status  TEXT    NOT NULL,
    summary TEXT    NOT NULL,
    at_ms   INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    PRIMARY KEY (run, scope, step, visit)
) STRICT, WITHOUT ROWID;

-- The newest version of each artifact of a run; no digest when it was deleted.
CREATE TABLE places (
    run        INTEGER NOT NULL,
    flow       TEXT    NOT NULL,
    path       TEXT    NOT NULL,
    digest     BLOB,
    size_bytes INTEGER,
    scope      TEXT    NOT NULL,
    step       TEXT    NOT NULL,
    visit      INTEGER NOT NULL,
    PRIMARY KEY (run, flow, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE inbox (
    interrupt    TEXT    PRIMARY KEY,
    run          INTEGER NOT NULL,
    about        TEXT    NOT NULL,
    scope        TEXT    NOT NULL,
    step         TEXT    NOT NULL,
    visit        INTEGER NOT NULL,
    question     TEXT    NOT NULL,
    raised_at_ms INTEGER NOT NULL,
    state        TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX inbox_by_run ON inbox (run);
CREATE INDEX inbox_open ON inbox (raised_at_ms) WHERE state = 'open';
