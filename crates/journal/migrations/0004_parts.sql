-- The texts of the flows that a pinned flow names, directly or not: a JSON object, path to text. A run is read again from them.
ALTER TABLE flows ADD COLUMN parts TEXT NOT NULL DEFAULT '{}';
