-- What a registered flow is called, and the texts of the flows that it names, directly or not: a JSON object, path to text.
ALTER TABLE registered_flows ADD COLUMN file TEXT;
ALTER TABLE registered_flows ADD COLUMN parts TEXT NOT NULL DEFAULT '{}';
