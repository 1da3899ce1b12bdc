-- Upgrade: Creates the tables of organizations, projects, API keys, sessions, jobs, pull requests, and secrets.
-- Times are milliseconds since 1970, UTC. Lists are JSON.
CREATE TABLE organizations (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE projects (
    id           TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name         TEXT NOT NULL,
    repository   TEXT NOT NULL,
    ref          TEXT,              -- NULL: the host's default branch
    docs_path    TEXT,              -- NULL: the whole repository
    sites        TEXT NOT NULL,
    model        TEXT NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX projects_by_organization ON projects (organization, created_at);

-- The key itself is not here: only its SHA-256 and what a person needs to recognize it.
CREATE TABLE keys (
    id           TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name         TEXT NOT NULL,
    hash         BLOB NOT NULL UNIQUE,
    hint         TEXT NOT NULL,
    scope        TEXT NOT NULL,
    projects     TEXT,              -- NULL: every project of the organization
    allow        TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    last_used_at INTEGER,
    revoked_at   INTEGER
) STRICT;
CREATE INDEX keys_by_organization ON keys (organization, created_at);

CREATE TABLE login_links (
    hash         BLOB PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations ON DELETE CASCADE,
    expires_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE sessions (
    hash         BLOB PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations ON DELETE CASCADE,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE workers (
    id          TEXT PRIMARY KEY,
    alive_until INTEGER NOT NULL
) STRICT;

CREATE TABLE jobs (
    id          TEXT PRIMARY KEY,
    project     TEXT NOT NULL REFERENCES projects ON DELETE CASCADE,
    status      TEXT NOT NULL,
    prompt      TEXT NOT NULL,
    branch      TEXT NOT NULL,
    model       TEXT NOT NULL,
    pr_link     TEXT,
    created_at  INTEGER NOT NULL,
    ended_at    INTEGER,
    archived_at INTEGER,
    attempt     INTEGER NOT NULL DEFAULT 0,
    lease       INTEGER NOT NULL DEFAULT 0, -- counts up at every lease: the fence of all its writes
    worker      TEXT,               -- who holds the lease; its life is in `workers`
    events      INTEGER NOT NULL DEFAULT 0,
    base_ref    TEXT,               -- what the run found, so that a take-up goes on from there
    base_commit TEXT
) STRICT;
CREATE INDEX jobs_by_project ON jobs (project, created_at, id);
CREATE INDEX jobs_in_line ON jobs (created_at, id) WHERE status = 'active';

CREATE TABLE job_events (
    job    TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
    number INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    kind   TEXT NOT NULL,
    data   TEXT NOT NULL,
    PRIMARY KEY (job, number)
) STRICT, WITHOUT ROWID;

-- The change a job made, written before it is pushed.
CREATE TABLE job_changes (
    job         TEXT PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
    head_commit TEXT NOT NULL,
    title       TEXT NOT NULL,
    body        TEXT NOT NULL,
    report      TEXT NOT NULL,
    diff        TEXT NOT NULL
) STRICT;

CREATE TABLE pulls (
    project      TEXT NOT NULL REFERENCES projects ON DELETE CASCADE,
    number       INTEGER NOT NULL,
    job          TEXT NOT NULL,
    title        TEXT NOT NULL,
    body         TEXT NOT NULL,
    head         TEXT NOT NULL,
    base         TEXT NOT NULL,
    head_commit  TEXT NOT NULL,
    base_commit  TEXT NOT NULL,
    state        TEXT NOT NULL,
    merge_commit TEXT,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (project, number)
) STRICT, WITHOUT ROWID;
-- One open pull request a head, and one ever a job and head.
CREATE UNIQUE INDEX pulls_open ON pulls (project, head) WHERE state = 'open';
CREATE UNIQUE INDEX pulls_by_job ON pulls (project, head, job);

CREATE TABLE secrets (
    owner  TEXT NOT NULL,
    name   TEXT NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
