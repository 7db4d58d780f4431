-- What lists of questions show beside the question, and what became of it. `closed_seq` is the event that closed it.

ALTER TABLE inbox ADD COLUMN kind          TEXT;
ALTER TABLE inbox ADD COLUMN expires_at_ms INTEGER;
ALTER TABLE inbox ADD COLUMN closed_at_ms  INTEGER;
ALTER TABLE inbox ADD COLUMN closed_seq    INTEGER;
ALTER TABLE inbox ADD COLUMN answer        TEXT;
ALTER TABLE inbox ADD COLUMN answered_by   TEXT;
