-- What the migrations make together. Made of them: ENVOI_SCHEMA=write cargo test -p envoi-journal at_once

CREATE TABLE engine (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    epoch INTEGER NOT NULL
) STRICT;
CREATE TABLE flows (
    flow     INTEGER PRIMARY KEY,
    digest   TEXT    NOT NULL,
    language INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    text     TEXT    NOT NULL
, parts TEXT NOT NULL DEFAULT '{}') STRICT;
CREATE INDEX flows_by_digest ON flows (digest);
CREATE TABLE journals (
    run  INTEGER PRIMARY KEY,
    id   TEXT    NOT NULL UNIQUE,
    flow INTEGER NOT NULL REFERENCES flows (flow)
) STRICT;
CREATE TABLE events (
    event INTEGER PRIMARY KEY,
    run   INTEGER NOT NULL,
    seq   INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    body  TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_by_run ON events (run, seq);
CREATE TABLE blobs (
    blob   INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    bytes  BLOB NOT NULL
) STRICT;
CREATE TABLE snapshots (
    run   INTEGER PRIMARY KEY,
    seq   INTEGER NOT NULL,
    state BLOB    NOT NULL
) STRICT;
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
, root        TEXT, forked_from TEXT, run_base TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX runs_unfinished ON runs (run) WHERE ended IS NULL;
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
CREATE TABLE places (
    run        INTEGER NOT NULL,
    flow       TEXT    NOT NULL,
    path       TEXT    NOT NULL,
    digest     BLOB,
    size_bytes INTEGER,
    scope      TEXT    NOT NULL,
    step       TEXT    NOT NULL,
    visit      INTEGER NOT NULL, after INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, flow, path)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE tokens (
    id            TEXT PRIMARY KEY,
    name          TEXT    NOT NULL,
    tenant        TEXT    NOT NULL,
    scopes        TEXT    NOT NULL,
    digest        BLOB    NOT NULL,
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER,
    revoked_at_ms INTEGER,
    UNIQUE (tenant, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE registered_flows (
    flow             INTEGER PRIMARY KEY,
    tenant           TEXT    NOT NULL,
    digest           TEXT    NOT NULL,
    id               TEXT    NOT NULL,
    language         INTEGER NOT NULL,
    text             TEXT    NOT NULL,
    registered_at_ms INTEGER NOT NULL,
    registered_by    TEXT    NOT NULL, file TEXT, parts TEXT NOT NULL DEFAULT '{}',
    UNIQUE (tenant, digest)
) STRICT;
CREATE INDEX registered_flows_by_id ON registered_flows (tenant, id, flow);
CREATE TABLE starts (
    tenant TEXT    NOT NULL,
    key    TEXT    NOT NULL,
    body   BLOB    NOT NULL,
    run    TEXT    NOT NULL,
    at_ms  INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE uploads (
    tenant         TEXT    NOT NULL,
    digest         BLOB    NOT NULL,
    size_bytes     INTEGER NOT NULL,
    mime           TEXT    NOT NULL,
    uploaded_at_ms INTEGER NOT NULL,
    uploaded_by    TEXT    NOT NULL,
    PRIMARY KEY (tenant, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_by_tenant ON runs (tenant, run);
CREATE INDEX places_by_digest ON places (digest);
CREATE INDEX runs_by_root ON runs (root) WHERE root IS NOT NULL;
CREATE TABLE "inbox" (
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
CREATE INDEX inbox_by_interrupt ON inbox (interrupt);
CREATE INDEX inbox_open ON inbox (raised_at_ms) WHERE state = 'open';
CREATE TABLE a2a_tasks (
    run      TEXT PRIMARY KEY,
    tenant   TEXT    NOT NULL,
    token    TEXT    NOT NULL,
    context  TEXT    NOT NULL,
    at_ms    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX a2a_tasks_by_context ON a2a_tasks (tenant, context, at_ms);
CREATE TABLE a2a_messages (
    message    INTEGER PRIMARY KEY,
    run        TEXT    NOT NULL,
    token      TEXT    NOT NULL,
    context    TEXT    NOT NULL,
    task       TEXT    NOT NULL,
    message_id TEXT    NOT NULL,
    digest     BLOB    NOT NULL,
    request    TEXT    NOT NULL UNIQUE,
    body       TEXT    NOT NULL,
    at_ms      INTEGER NOT NULL
) STRICT;
CREATE INDEX a2a_messages_by_run ON a2a_messages (run, message);
CREATE INDEX a2a_messages_by_id ON a2a_messages (token, context, task, message_id);
CREATE TABLE a2a_push (
    run         TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    url         TEXT    NOT NULL,
    token       TEXT,
    scheme      TEXT,
    credentials TEXT,
    next_seq    INTEGER NOT NULL,
    tries       INTEGER NOT NULL,
    due_at_ms   INTEGER NOT NULL,
    state       TEXT    NOT NULL,
    note        TEXT,
    at_ms       INTEGER NOT NULL, client  TEXT NOT NULL DEFAULT '', version TEXT NOT NULL DEFAULT '', base    TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX a2a_push_active ON a2a_push (due_at_ms) WHERE state = 'active';
CREATE TABLE set_aside (
    run      INTEGER PRIMARY KEY,
    since_ms INTEGER NOT NULL,
    code     TEXT    NOT NULL,
    reason   TEXT    NOT NULL,
    evidence TEXT    NOT NULL
) STRICT;
CREATE TABLE holders (
    run      INTEGER PRIMARY KEY,
    epoch    INTEGER NOT NULL,
    since_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE manifests (
    run    INTEGER NOT NULL,
    nth    INTEGER NOT NULL,
    flow   TEXT    NOT NULL,
    digest BLOB    NOT NULL,
    scope  TEXT    NOT NULL,
    step   TEXT    NOT NULL,
    visit  INTEGER NOT NULL,
    PRIMARY KEY (run, nth)
) STRICT, WITHOUT ROWID;
CREATE TABLE store (
    one               INTEGER PRIMARY KEY CHECK (one = 1),
    id                TEXT    NOT NULL,
    folder            TEXT,
    inode             INTEGER,
    -- Of an adopted copy: where the original lay, and up to which run and event it is the original's.
    adopted_from      TEXT,
    adopted_run       INTEGER NOT NULL DEFAULT 0,
    copied_event      INTEGER NOT NULL DEFAULT 0,
    shares_workspaces INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE earlier_flows (
    run  INTEGER NOT NULL,
    flow INTEGER NOT NULL REFERENCES flows (flow),
    PRIMARY KEY (run, flow)
) STRICT, WITHOUT ROWID;
CREATE TABLE page_sessions (
    id            TEXT PRIMARY KEY,
    token         TEXT    NOT NULL,
    scopes        TEXT    NOT NULL,
    code          BLOB,
    cookie        BLOB,
    key           BLOB,
    created_at_ms INTEGER NOT NULL,
    seen_at_ms    INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    ended_at_ms   INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX page_sessions_by_code ON page_sessions (code) WHERE code IS NOT NULL;
CREATE TABLE waits (
    run          INTEGER NOT NULL,
    timer        TEXT    NOT NULL,
    account      TEXT    NOT NULL,
    -- When its provider says that it is open again, and when the next try is made.
    resets_at_ms INTEGER,
    due_ms       INTEGER NOT NULL,
    PRIMARY KEY (run, timer)
) STRICT, WITHOUT ROWID;
CREATE TABLE refusals (
    run          INTEGER NOT NULL,
    account      TEXT    NOT NULL,
    at_ms        INTEGER NOT NULL,
    until_ms     INTEGER NOT NULL,
    resets_at_ms INTEGER,
    in_a_row     INTEGER NOT NULL,
    PRIMARY KEY (run, account)
) STRICT, WITHOUT ROWID;
CREATE TABLE tombstones (
    run           INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE,
    tenant        TEXT    NOT NULL,
    flow          TEXT    NOT NULL,
    head          TEXT    NOT NULL,
    events        INTEGER NOT NULL,
    deleted_at_ms INTEGER NOT NULL,
    why           TEXT    NOT NULL,
    archive       TEXT
) STRICT;
CREATE TABLE old_blobs (
    digest   BLOB PRIMARY KEY,
    bytes    BLOB    NOT NULL,
    since_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE dropped (
    run   INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE imported (
    run      INTEGER PRIMARY KEY,
    file     TEXT    NOT NULL,
    signer   TEXT,
    at_ms    INTEGER NOT NULL,
    by_actor TEXT    NOT NULL
) STRICT;
CREATE INDEX events_notable ON events (run, seq) WHERE
    (body >= '{"type":"flow_corrected"' AND body < '{"type":"flow_corrected#')
    OR (body >= '{"type":"run_reopened"' AND body < '{"type":"run_reopened#')
    OR (body >= '{"type":"files_restoring"' AND body < '{"type":"files_restoring#')
    OR (body >= '{"type":"attempt_settled"' AND body < '{"type":"attempt_settled#' AND instr(body, '"warnings":[') > 0)
    OR body < '{"type":"' OR body >= '{"type":#';
CREATE TABLE done_requests (
    run     INTEGER NOT NULL,
    request TEXT    NOT NULL,
    at_ms   INTEGER NOT NULL,
    PRIMARY KEY (run, request)
) STRICT, WITHOUT ROWID;
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
INSERT INTO engine (one, epoch) VALUES (1, 0);
INSERT INTO store (one, id) VALUES (1, 'store_' || lower(hex(randomblob(16))));
