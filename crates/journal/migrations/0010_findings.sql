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
