-- Who asked to be told (the id of a token: once it is good no more, nothing more is told), in which version of the protocol,
-- and where this server is for them. Configurations of earlier builds were never told anything.
DELETE FROM a2a_push;
ALTER TABLE a2a_push ADD COLUMN client  TEXT NOT NULL DEFAULT '';
ALTER TABLE a2a_push ADD COLUMN version TEXT NOT NULL DEFAULT '';
ALTER TABLE a2a_push ADD COLUMN base    TEXT NOT NULL DEFAULT '';
