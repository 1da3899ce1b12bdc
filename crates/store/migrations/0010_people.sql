-- Upgrade: Adds members, invitations, the audit log, and the choice of which source counts human readers.
-- Who is believed about human readers: beacon, server or both.
ALTER TABLE projects ADD COLUMN human_reads TEXT NOT NULL DEFAULT 'both';

-- Who made it: a person's name, or how they came in.
ALTER TABLE keys ADD COLUMN creator TEXT;

-- Names are kept in lower case. The password is not here: only what Argon2id makes of it.
CREATE TABLE people (
    id           TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name         TEXT NOT NULL UNIQUE,
    role         TEXT NOT NULL,
    password     TEXT NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX people_by_organization ON people (organization, name);

CREATE TABLE invites (
    hash         BLOB PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations ON DELETE CASCADE,
    role         TEXT NOT NULL,
    expires_at   INTEGER NOT NULL
) STRICT;

-- NULL: whoever had a link that was made on the server's machine, an owner.
ALTER TABLE sessions ADD COLUMN person TEXT REFERENCES people ON DELETE CASCADE;
-- 1: the session began with such a link.
ALTER TABLE sessions ADD COLUMN operator INTEGER NOT NULL DEFAULT 1;
CREATE INDEX sessions_by_person ON sessions (person) WHERE person IS NOT NULL;

CREATE TABLE deeds (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,
    organization TEXT NOT NULL REFERENCES organizations ON DELETE CASCADE,
    at           INTEGER NOT NULL,
    who          TEXT NOT NULL,
    what         TEXT NOT NULL,
    about        TEXT NOT NULL
) STRICT;
CREATE INDEX deeds_by_organization ON deeds (organization, number);
