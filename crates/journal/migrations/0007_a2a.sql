-- Runs as A2A clients know them. Truth: no repair makes it again.

-- Which conversation a run belongs to, and who began it; kept before the run is.
CREATE TABLE a2a_tasks (
    run      TEXT PRIMARY KEY,
    tenant   TEXT    NOT NULL,
    token    TEXT    NOT NULL,
    context  TEXT    NOT NULL,
    at_ms    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX a2a_tasks_by_context ON a2a_tasks (tenant, context, at_ms);

-- Messages as they came, kept before anything is done for them. `task` is empty for one that begins a task; `run` is the
-- one it is about all the same. `request` is the id under which the engine knows what it asks for.
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

-- Who is to be told of what happens to a task. `next_seq` is the first event that was not told.
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
    at_ms       INTEGER NOT NULL,
    PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX a2a_push_active ON a2a_push (due_at_ms) WHERE state = 'active';
