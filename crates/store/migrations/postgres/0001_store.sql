-- Upgrade: Creates the tables of organizations, projects, API keys, sessions, jobs, pull requests, and secrets.
-- The same tables as on SQLite. Times are milliseconds since 1970, UTC; lists are JSON. Ids sort by their bytes,
-- whatever the database's language.

-- The one clock of every server. Nobody sets docwright.now_ms but a session of a test, for itself.
CREATE FUNCTION docwright_now_ms() RETURNS BIGINT LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(nullif(current_setting('docwright.now_ms', true), '')::bigint,
                    floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)
$$;

CREATE TABLE organizations (
    id         TEXT COLLATE "C" PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

CREATE TABLE projects (
    id           TEXT COLLATE "C" PRIMARY KEY,
    organization TEXT COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name         TEXT NOT NULL,
    repository   TEXT NOT NULL,
    hosting      TEXT NOT NULL,     -- what its host is, and what pull requests there are given. JSON
    ref          TEXT,              -- NULL: the host's default branch
    docs_path    TEXT,              -- NULL: the whole repository
    sites        TEXT NOT NULL,
    model        TEXT NOT NULL,
    models       TEXT NOT NULL,     -- none: every one of the server
    allow_paths  TEXT NOT NULL,     -- what its jobs may change although the guard refuses it
    created_at   BIGINT NOT NULL
);
CREATE INDEX projects_by_organization ON projects (organization, created_at);

-- The key itself is not here: only its SHA-256 and what a person needs to recognize it.
CREATE TABLE keys (
    id           TEXT COLLATE "C" PRIMARY KEY,
    organization TEXT COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name         TEXT NOT NULL,
    hash         BYTEA NOT NULL UNIQUE,
    hint         TEXT NOT NULL,
    scope        TEXT NOT NULL,
    projects     TEXT,              -- NULL: every project of the organization
    allow        TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT,
    last_used_at BIGINT,
    revoked_at   BIGINT
);
CREATE INDEX keys_by_organization ON keys (organization, created_at);

CREATE TABLE login_links (
    hash         BYTEA PRIMARY KEY,
    organization TEXT COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
    expires_at   BIGINT NOT NULL
);

CREATE TABLE sessions (
    hash         BYTEA PRIMARY KEY,
    organization TEXT COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL
);

CREATE TABLE workers (
    id          TEXT COLLATE "C" PRIMARY KEY,
    alive_until BIGINT NOT NULL
);

CREATE TABLE jobs (
    id               TEXT COLLATE "C" PRIMARY KEY,
    project          TEXT COLLATE "C" NOT NULL REFERENCES projects ON DELETE CASCADE,
    status           TEXT COLLATE "C" NOT NULL,
    prompt           TEXT NOT NULL,
    branch           TEXT COLLATE "C" NOT NULL,
    model            TEXT NOT NULL,
    pr_link          TEXT,
    pr_state         TEXT,                      -- open, merged or closed; NULL while there is no pull request
    draft            BOOLEAN NOT NULL,
    adopts           BOOLEAN NOT NULL,          -- the branch was named by the request
    created_at       BIGINT NOT NULL,
    ended_at         BIGINT,
    archived_at      BIGINT,
    archive_asked_at BIGINT,                    -- the worker must let go; then it is archived
    run              BIGINT NOT NULL DEFAULT 1, -- counts up with every follow-up after an end
    attempt          BIGINT NOT NULL DEFAULT 0,
    lease            BIGINT NOT NULL DEFAULT 0, -- counts up at every lease: the fence of all its writes
    worker           TEXT COLLATE "C",          -- who holds the lease; its life is in `workers`
    not_before       BIGINT,                    -- it waits for a host or a model in trouble
    put_off          BIGINT NOT NULL DEFAULT 0, -- how often it was put off since it last got on
    events           BIGINT NOT NULL DEFAULT 0,
    origin           TEXT,                      -- the commit that the first run started from
    base_ref         TEXT,                      -- what the run found, so that a take-up goes on from there
    base_commit      TEXT
);
CREATE INDEX jobs_by_project ON jobs (project, created_at, id);
CREATE INDEX jobs_by_status ON jobs (project, status, created_at, id);
CREATE INDEX jobs_in_line ON jobs (created_at, id) WHERE status = 'active';
CREATE INDEX jobs_by_branch ON jobs (project, branch) WHERE status = 'active';

CREATE TABLE job_events (
    job    TEXT COLLATE "C" NOT NULL REFERENCES jobs ON DELETE CASCADE,
    number BIGINT NOT NULL,
    at     BIGINT NOT NULL,
    kind   TEXT NOT NULL,
    data   TEXT NOT NULL,
    PRIMARY KEY (job, number)
);

CREATE TABLE messages (
    job        TEXT COLLATE "C" NOT NULL REFERENCES jobs ON DELETE CASCADE,
    number     BIGINT NOT NULL,
    prompt     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    read       BOOLEAN NOT NULL DEFAULT false,
    PRIMARY KEY (job, number)
);

-- The change a job made, written before it is pushed.
CREATE TABLE job_changes (
    job         TEXT COLLATE "C" PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
    head_commit TEXT NOT NULL,
    title       TEXT NOT NULL,
    body        TEXT NOT NULL,
    report      TEXT NOT NULL,
    diff        TEXT NOT NULL,
    run         BIGINT NOT NULL
);

-- What a failed run had made. Never of a job with a pull request, and never older than its change.
CREATE TABLE failed_diffs (
    job  TEXT COLLATE "C" PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
    diff TEXT NOT NULL
);

-- What was said between a job and its model, and what it cost.
CREATE TABLE conversation (
    job    TEXT COLLATE "C" NOT NULL REFERENCES jobs ON DELETE CASCADE,
    number BIGINT NOT NULL,
    run    BIGINT NOT NULL,
    after  BIGINT NOT NULL,         -- the last event that the job had by then
    at     BIGINT NOT NULL,
    entry  TEXT NOT NULL,           -- JSON
    input  BIGINT NOT NULL,         -- tokens
    output BIGINT NOT NULL,
    cached BIGINT NOT NULL,
    PRIMARY KEY (job, number)
);

-- What is spent stays counted, whatever becomes of the entries.
CREATE TABLE tokens_by_month (
    project TEXT COLLATE "C" NOT NULL REFERENCES projects ON DELETE CASCADE,
    month   TEXT NOT NULL,          -- 2026-11, UTC
    tokens  BIGINT NOT NULL,
    PRIMARY KEY (project, month)
);

CREATE TABLE pulls (
    project      TEXT COLLATE "C" NOT NULL REFERENCES projects ON DELETE CASCADE,
    number       BIGINT NOT NULL,
    job          TEXT COLLATE "C" NOT NULL,
    title        TEXT NOT NULL,
    body         TEXT NOT NULL,
    head         TEXT COLLATE "C" NOT NULL,
    base         TEXT NOT NULL,
    head_commit  TEXT NOT NULL,
    base_commit  TEXT NOT NULL,
    state        TEXT NOT NULL,
    merge_commit TEXT,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (project, number)
);
-- One open pull request a head, and one ever a job and head.
CREATE UNIQUE INDEX pulls_open ON pulls (project, head) WHERE state = 'open';
CREATE UNIQUE INDEX pulls_by_job ON pulls (project, head, job);

CREATE TABLE secrets (
    owner  TEXT COLLATE "C" NOT NULL,
    name   TEXT COLLATE "C" NOT NULL,
    sealed BYTEA NOT NULL,
    PRIMARY KEY (owner, name)
);

-- The answer to a request that may be sent again, kept with what the request did.
CREATE TABLE answers (
    project    TEXT COLLATE "C" NOT NULL REFERENCES projects ON DELETE CASCADE,
    operation  TEXT COLLATE "C" NOT NULL,
    key        TEXT COLLATE "C" NOT NULL,
    request    BYTEA NOT NULL,      -- SHA-256 of the body
    answer     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (project, operation, key)
);
CREATE INDEX answers_by_age ON answers (created_at);

-- One row a bucket: the hour it counts, and how much of it is used.
CREATE TABLE rates (
    bucket TEXT COLLATE "C" PRIMARY KEY,
    hour   BIGINT NOT NULL,
    used   BIGINT NOT NULL
);
