//! What lasts: the event log, artifacts by digest, projections.
