-- What lists of questions show beside the question, and what became of it. `closed_seq` is the event that closed it.

ALTER TABLE inbox ADD COLUMN kind          TEXT;
ALTER TABLE inbox ADD COLUMN expires_at_ms INTEGER;
ALTER TABLE inbox ADD COLUMN closed_at_ms  INTEGER;
ALTER TABLE inbox ADD COLUMN closed_seq    INTEGER;
ALTER TABLE inbox ADD COLUMN answer        TEXT;
ALTER TABLE inbox ADD COLUMN answered_by   TEXT;

-- Questions of the first schema, from their events. A body that cannot be read is left to repair.
UPDATE inbox SET kind = CASE about
    WHEN 'in_doubt' THEN 'system_error'
    WHEN 'exhausted' THEN 'resource_exhausted'
    ELSE 'agent_review'
END;
UPDATE inbox SET (closed_at_ms, closed_seq, answer, answered_by) = (
    SELECT at_ms, seq, body ->> '$.choice', body ->> '$.by.actor' FROM events
    WHERE events.run = inbox.run AND CASE WHEN json_valid(body) THEN
        body ->> '$.type' IN ('interrupt_answered', 'interrupt_cancelled')
        AND body ->> '$.interrupt' = inbox.interrupt
    END
) WHERE state <> 'open';
