-- What the ways in over a network need beside the journal. Truth: no repair makes it again.

-- A token is shown once; only its digest is kept. A row stays when the token is revoked: its name is the actor of
-- what was done with it.
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

-- Flows that a tenant may start by their digest, or by their id: then the newest.
CREATE TABLE registered_flows (
    flow             INTEGER PRIMARY KEY,
    tenant           TEXT    NOT NULL,
    digest           TEXT    NOT NULL,
    id               TEXT    NOT NULL,
    language         INTEGER NOT NULL,
    text             TEXT    NOT NULL,
    registered_at_ms INTEGER NOT NULL,
    registered_by    TEXT    NOT NULL,
    UNIQUE (tenant, digest)
) STRICT;
CREATE INDEX registered_flows_by_id ON registered_flows (tenant, id, flow);

-- Which run a request to start one has been given, before anything is started.
CREATE TABLE starts (
    tenant TEXT    NOT NULL,
    key    TEXT    NOT NULL,
    body   BLOB    NOT NULL,
    run    TEXT    NOT NULL,
    at_ms  INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;

-- Content that a tenant has brought.
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
