-- Upgrade: Adds what each running job does at the moment, so that a job that waits holds no worker.
-- What a leased job does now: 'working' (local work), 'calling' (its model), or 'waiting' (for its turn). Only a job that
-- works takes a share of the workers from other jobs. One that waits isn't the cause if its worker dies.
ALTER TABLE jobs ADD COLUMN activity TEXT NOT NULL DEFAULT 'working';

-- The step in which a suspect called its model alone and survived. That counts once: then it must answer.
ALTER TABLE jobs ADD COLUMN survived_step BIGINT;

-- Each lease counts the leased jobs that do local work, from the index alone.
DROP INDEX jobs_held;
CREATE INDEX jobs_held ON jobs (project, branch, worker, activity)
    WHERE status = 'active' AND worker IS NOT NULL;
