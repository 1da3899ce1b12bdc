-- Upgrade: Adds follow-ups, archived jobs, stored answers to repeated requests, and rate limits.
-- Follow-ups, archive, idempotent requests and rate limits.
ALTER TABLE jobs ADD COLUMN draft INTEGER NOT NULL DEFAULT 0;

ALTER TABLE jobs ADD COLUMN adopts INTEGER NOT NULL DEFAULT 0;  -- 1: the branch was named by the request
ALTER TABLE jobs ADD COLUMN run INTEGER NOT NULL DEFAULT 1;     -- counts up with every follow-up after an end
ALTER TABLE jobs ADD COLUMN archive_asked_at INTEGER;           -- the worker must let go; then it is archived
ALTER TABLE jobs ADD COLUMN origin TEXT;                        -- the commit that the first run started from
ALTER TABLE job_changes ADD COLUMN run INTEGER NOT NULL DEFAULT 1;
CREATE INDEX jobs_by_status ON jobs (project, status, created_at, id);
CREATE INDEX jobs_by_branch ON jobs (project, branch) WHERE status = 'active';

CREATE TABLE messages (
    job        TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    prompt     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    read       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job, number)
) STRICT, WITHOUT ROWID;

-- The answer to a request that may be sent again, kept with what the request did.
CREATE TABLE answers (
    project    TEXT NOT NULL REFERENCES projects ON DELETE CASCADE,
    operation  TEXT NOT NULL,
    key        TEXT NOT NULL,
    request    BLOB NOT NULL,       -- SHA-256 of the body
    answer     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project, operation, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX answers_by_age ON answers (created_at);

-- One row a bucket: the hour it counts, and how much of it is used.
CREATE TABLE rates (
    bucket TEXT PRIMARY KEY,
    window INTEGER NOT NULL,
    used   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
