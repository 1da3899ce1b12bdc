-- Upgrade, rewrites rows: Adds who created each job, names of sessions, and networks of sign-ins; gives existing sessions an ID.
-- Who asked for a job, as JSON; NULL: it was not recorded.
ALTER TABLE jobs ADD COLUMN created_by TEXT;

-- The name of a login link, and of the session that begins with it.
ALTER TABLE login_links ADD COLUMN name TEXT;
ALTER TABLE sessions ADD COLUMN name TEXT,
    -- Names the session without its token.
    ADD COLUMN id TEXT COLLATE "C";
UPDATE sessions SET id = 'ses_' || encode(substr(hash, 1, 8), 'hex');
ALTER TABLE sessions ALTER COLUMN id SET NOT NULL;
CREATE UNIQUE INDEX sessions_by_organization ON sessions (organization, id);

-- An account is of one organization: a name is taken in it alone, so that joining one tells nothing about another.
ALTER TABLE people DROP CONSTRAINT people_name_key,
    ADD CONSTRAINT people_organization_name_key UNIQUE (organization, name);
DROP INDEX people_by_organization;
CREATE INDEX people_by_name ON people (name);

-- Networks that a member signed in from, as the audit log names them; a few of each member.
CREATE TABLE sign_in_networks (
    person  TEXT COLLATE "C" NOT NULL REFERENCES people ON DELETE CASCADE,
    network TEXT COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL,
    PRIMARY KEY (person, network)
);
