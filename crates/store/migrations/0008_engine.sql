-- Upgrade, rewrites rows: Adds turns between projects and deletion in steps, and gives existing jobs their place in the queue.
-- When to ask the host for a pull request that an archived job may have left there, and how often
-- that was done. NULL: there is nothing to ask for.
ALTER TABLE jobs ADD COLUMN sweep_at INTEGER;
ALTER TABLE jobs ADD COLUMN sweeps INTEGER NOT NULL DEFAULT 0;
CREATE INDEX jobs_to_sweep ON jobs (sweep_at) WHERE sweep_at IS NOT NULL;
CREATE INDEX jobs_by_pull ON jobs (project, pr_link) WHERE pr_link IS NOT NULL;

-- The line: jobs that wait for a worker, a project's in order of arrival; jobs that wait for a host in
-- trouble; jobs that somebody has. A project's turn counts up whenever a job of it is leased.
ALTER TABLE jobs ADD COLUMN queued_at INTEGER NOT NULL DEFAULT 0;
UPDATE jobs SET queued_at = created_at;
ALTER TABLE jobs ADD COLUMN told INTEGER NOT NULL DEFAULT 0;    -- 1: it was told that it waits
DROP INDEX jobs_in_line;
CREATE INDEX jobs_in_line ON jobs (project, queued_at, id, told)
    WHERE status = 'active' AND worker IS NULL AND not_before IS NULL;
CREATE INDEX jobs_put_off ON jobs (not_before) WHERE status = 'active' AND not_before IS NOT NULL;
CREATE INDEX jobs_held ON jobs (project, branch, worker) WHERE status = 'active' AND worker IS NOT NULL;
CREATE TABLE turns (
    project TEXT PRIMARY KEY REFERENCES projects ON DELETE CASCADE,
    turn    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE job_changes ADD COLUMN pushed INTEGER NOT NULL DEFAULT 0;   -- 1: it is on its branch

-- 1: its conversation and its single steps are no longer kept.
ALTER TABLE jobs ADD COLUMN trimmed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX jobs_to_trim ON jobs (coalesce(archived_at, ended_at)) WHERE status <> 'active' AND trimmed = 0;

-- Projects and organizations that are not there for anybody any more, and since when. What they had goes
-- piece by piece; their own row is the last.
CREATE TABLE deletions (
    id TEXT PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- 1: the branch of its own was removed, or was not there to be removed.
ALTER TABLE jobs ADD COLUMN branch_gone INTEGER NOT NULL DEFAULT 0;
CREATE INDEX jobs_settled ON jobs (coalesce(archived_at, ended_at))
    WHERE status <> 'active' AND pr_state <> 'open' AND adopts = 0 AND branch_gone = 0;
