-- Upgrade, rewrites rows: Adds who created each job, names of sessions, and networks of sign-ins; gives existing sessions an ID.
-- Who asked for a job, as JSON; NULL: it was not recorded.
ALTER TABLE jobs ADD COLUMN created_by TEXT;

-- The name of a login link, and of the session that begins with it.
ALTER TABLE login_links ADD COLUMN name TEXT;

-- An account is of one organization: a name is taken in it alone, so that joining one tells nothing about another.
-- SQLite cannot drop a constraint, so both tables are made anew. Sessions go first: they refer to people.
CREATE TABLE new_people (
    id           TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name         TEXT NOT NULL,
    role         TEXT NOT NULL,
    password     TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    UNIQUE (organization, name)
) STRICT;
INSERT INTO new_people (id, organization, name, role, password, created_at)
    SELECT id, organization, name, role, password, created_at FROM people;

CREATE TABLE new_sessions (
    hash         BLOB PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations ON DELETE CASCADE,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    person       TEXT REFERENCES new_people ON DELETE CASCADE, -- NULL: somebody with a login link, an owner
    operator     INTEGER NOT NULL DEFAULT 1,                   -- 1: it began with a login link
    id           TEXT NOT NULL,                                -- names the session without its token
    name         TEXT                                          -- of its login link
) STRICT;
INSERT INTO new_sessions (hash, organization, created_at, expires_at, person, operator, id)
    SELECT hash, organization, created_at, expires_at, person, operator,
           'ses_' || lower(hex(substr(hash, 1, 8))) FROM sessions;

DROP TABLE sessions;
DROP TABLE people;
ALTER TABLE new_people RENAME TO people;
ALTER TABLE new_sessions RENAME TO sessions;
CREATE INDEX people_by_name ON people (name);
CREATE INDEX sessions_by_person ON sessions (person) WHERE person IS NOT NULL;
CREATE UNIQUE INDEX sessions_by_organization ON sessions (organization, id);

-- Networks that a member signed in from, as the audit log names them; a few of each member.
CREATE TABLE sign_in_networks (
    person  TEXT NOT NULL REFERENCES people ON DELETE CASCADE,
    network TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (person, network)
) STRICT, WITHOUT ROWID;
