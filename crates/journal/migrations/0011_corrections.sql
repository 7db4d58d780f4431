-- Truth: the flows that a run was pinned to before its flow was corrected. Its events say which held from when on. The newest one,
-- which may still wait for an attempt to settle, is in `journals`.
CREATE TABLE earlier_flows (
    run  INTEGER NOT NULL,
    flow INTEGER NOT NULL REFERENCES flows (flow),
    PRIMARY KEY (run, flow)
) STRICT, WITHOUT ROWID;
