-- Upgrade: Adds findings: what hurts readers of the docs, and what was done about it.
CREATE TABLE findings (
    id         TEXT COLLATE "C" PRIMARY KEY,
    project    TEXT COLLATE "C" NOT NULL REFERENCES projects ON DELETE CASCADE,
    kind       TEXT COLLATE "C" NOT NULL,
    key        TEXT COLLATE "C" NOT NULL,              -- the subject, as far as it identifies the finding
    subject    TEXT NOT NULL,
    target     TEXT,
    state      TEXT COLLATE "C" NOT NULL,
    score      bigint NOT NULL,
    human      bigint NOT NULL,           -- readers hurt, in the window of the project's settings
    ai         bigint NOT NULL,
    evidence   TEXT NOT NULL,              -- JSON
    lifecycle  TEXT NOT NULL,              -- JSON: the state, and what was done about it
    job        TEXT COLLATE "C" REFERENCES jobs ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED,
    version    bigint NOT NULL,           -- counts every change
    found_at   bigint NOT NULL,
    changed_at bigint NOT NULL,           -- the last change of the state
    UNIQUE (project, kind, key)
);
CREATE INDEX findings_by_score ON findings (project, score DESC, id);
CREATE INDEX findings_by_job ON findings (job) WHERE job IS NOT NULL;

-- The findings that a job was created to fix. A finding that gets another job keeps the earlier ones here.
CREATE TABLE job_findings (
    job     TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    finding TEXT NOT NULL REFERENCES findings ON DELETE CASCADE,
    PRIMARY KEY (job, finding)
);
CREATE INDEX job_findings_by_finding ON job_findings (finding);

CREATE TABLE finding_settings (
    project  TEXT COLLATE "C" PRIMARY KEY REFERENCES projects ON DELETE CASCADE,
    settings TEXT NOT NULL                 -- JSON
);

-- What the docs of a project contain, as of a commit.
CREATE TABLE site_scans (
    project    TEXT COLLATE "C" PRIMARY KEY REFERENCES projects ON DELETE CASCADE,
    commit_id  TEXT COLLATE "C" NOT NULL,
    scan       TEXT NOT NULL,              -- JSON
    scanned_at bigint NOT NULL
);

-- Work that any server does for a project from time to time. A server that takes it moves due_at, and counts the fence.
CREATE TABLE project_chores (
    project TEXT COLLATE "C" NOT NULL REFERENCES projects ON DELETE CASCADE,
    chore   TEXT COLLATE "C" NOT NULL,
    due_at  bigint NOT NULL,
    fence   bigint NOT NULL,
    PRIMARY KEY (project, chore)
);
