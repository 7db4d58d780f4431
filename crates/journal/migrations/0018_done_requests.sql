-- Truth: requests with an id that found nothing to do, so that no event of the run has the id. Sent again, such a request does nothing either,
-- whatever has become of the run since.
CREATE TABLE done_requests (
    run     INTEGER NOT NULL,
    request TEXT    NOT NULL,
    at_ms   INTEGER NOT NULL,
    PRIMARY KEY (run, request)
) STRICT, WITHOUT ROWID;
