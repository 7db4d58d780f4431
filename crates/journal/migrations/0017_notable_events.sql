-- Events of which more is shown than the row of a visit: corrections, reopenings, restores of files, attempts with warnings, and what does not
-- begin with its type. They are few, and found without reading the others. The query has the same condition, word by word.
CREATE INDEX events_notable ON events (run, seq) WHERE
    (body >= '{"type":"flow_corrected"' AND body < '{"type":"flow_corrected#')
    OR (body >= '{"type":"run_reopened"' AND body < '{"type":"run_reopened#')
    OR (body >= '{"type":"files_restoring"' AND body < '{"type":"files_restoring#')
    OR (body >= '{"type":"attempt_settled"' AND body < '{"type":"attempt_settled#' AND instr(body, '"warnings":[') > 0)
    OR body < '{"type":"' OR body >= '{"type":#';
