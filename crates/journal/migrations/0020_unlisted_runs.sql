-- Runs that have an entry and no row, which damage alone brings about: lists of runs name them too, and find them without comparing the entries of all
-- runs with all rows. Whoever takes a row away leaves a mark here. A mark says where to look, and no more: a list looks whether the row is missing.
ALTER TABLE journals ADD COLUMN listed INTEGER NOT NULL DEFAULT 1 CHECK (listed IN (0, 1));
UPDATE journals SET listed = 0 WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.run = journals.run);
CREATE INDEX journals_unlisted ON journals (run) WHERE listed = 0;

CREATE TRIGGER runs_gone AFTER DELETE ON runs BEGIN
    UPDATE journals SET listed = 0 WHERE run = old.run;
END;
CREATE TRIGGER runs_moved AFTER UPDATE OF run ON runs BEGIN
    UPDATE journals SET listed = 0 WHERE run = old.run;
    UPDATE journals SET listed = 1 WHERE run = new.run;
END;
CREATE TRIGGER runs_there AFTER INSERT ON runs WHEN EXISTS (SELECT 1 FROM journals WHERE run = new.run AND listed = 0) BEGIN
    UPDATE journals SET listed = 1 WHERE run = new.run;
END;
CREATE TRIGGER journals_moved AFTER UPDATE OF run ON journals BEGIN
    UPDATE journals SET listed = EXISTS (SELECT 1 FROM runs WHERE runs.run = new.run) WHERE run = new.run;
END;
