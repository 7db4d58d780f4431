-- Truth: runs that were deleted. Neither the key nor the id is given again. `head` is the head of the chain over the events: a bundle
-- of the run is known by it.
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

-- Small content that nothing named when it was looked for. It is read from here until it is removed; a commit that names it meanwhile
-- brings it back.
CREATE TABLE old_blobs (
    digest   BLOB PRIMARY KEY,
    bytes    BLOB    NOT NULL,
    since_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Truth: runs whose result nobody wants.
CREATE TABLE dropped (
    run   INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL
) STRICT;
