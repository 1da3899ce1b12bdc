-- Upgrade: Adds the change that each job proposes, so that equal jobs open one pull request.
-- The change that a job is about to push, or has pushed: at most one job has each change of a project, so that equal
-- jobs open one pull request. Changes of earlier versions have no row, and match nothing.
CREATE TABLE proposals (
    project     TEXT NOT NULL REFERENCES projects ON DELETE CASCADE,
    base_ref    TEXT NOT NULL,          -- the branch to merge into
    tree        TEXT NOT NULL,          -- the git tree of head_commit
    job         TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
    head_commit TEXT NOT NULL,
    PRIMARY KEY (project, base_ref, tree)
) STRICT, WITHOUT ROWID;
CREATE INDEX proposals_by_job ON proposals (job);

-- The head branch of pr_link, if that is the pull request of another job; NULL: it is the job's own branch.
ALTER TABLE jobs ADD COLUMN pr_head TEXT;

-- The number of sweeps before the last end of the job: a job can end more than once, and each end has its own sweeps.
ALTER TABLE jobs ADD COLUMN sweeps_before INTEGER NOT NULL DEFAULT 0;
