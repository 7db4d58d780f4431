-- Sessions of the web page. A row begins as a code that is good once, or is made with a token. A session is good with both
-- halves, the cookie and the key; only their digests are kept. A row stays until its time is over: it says when somebody signed out.
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
