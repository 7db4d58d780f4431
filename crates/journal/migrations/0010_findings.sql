-- Truth: runs that an engine has set aside because something is wrong with them alone. No event: a run whose events cannot
-- be read is set aside too. The row goes when somebody has the run tried again.
CREATE TABLE set_aside (
    run      INTEGER PRIMARY KEY,
    since_ms INTEGER NOT NULL,
    code     TEXT    NOT NULL,
    reason   TEXT    NOT NULL,
    evidence TEXT    NOT NULL
) STRICT;

-- The engine that goes on with a run, by its epoch. Whether that engine is still there is told by its lock.
CREATE TABLE holders (
    run      INTEGER PRIMARY KEY,
    epoch    INTEGER NOT NULL,
    since_ms INTEGER NOT NULL
) STRICT;

-- Lists of artifacts that are too long for an event: content of the store, by digest. `nth` counts those of a run from 1.
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

-- How many manifests of its run stood before a place was written: it is newer than those, and older than the others.
ALTER TABLE places ADD COLUMN after INTEGER NOT NULL DEFAULT 0;
