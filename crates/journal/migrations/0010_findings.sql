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

-- Which store this is, and where it was last opened: a copy of it is told from it by that. A store with runs is known by the
-- oldest one, so that copies that were made before this have one id too.
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
INSERT INTO store (one, id)
    SELECT 1, 'store_' || coalesce((SELECT substr(id, 5) FROM journals ORDER BY run LIMIT 1), lower(hex(randomblob(16))));

-- The folder of each run, as its first event has it.
ALTER TABLE runs ADD COLUMN run_base TEXT NOT NULL DEFAULT '';
UPDATE runs SET run_base = coalesce((SELECT CASE WHEN json_valid(body) THEN json_extract(body, '$.run_base') END
    FROM events WHERE events.run = runs.run AND seq = 0), '');
UPDATE store SET folder = (
    SELECT substr(run_base, 1, length(run_base) - length('/runs/' || id)) FROM runs
    WHERE substr(run_base, -length('/runs/' || id)) = '/runs/' || id ORDER BY run DESC LIMIT 1);
