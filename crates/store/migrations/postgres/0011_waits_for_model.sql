-- Whether the worker of a job only waits for the job's model. Such a job does no local work: it takes no share of the
-- workers from other jobs, and it isn't the cause if its worker dies.
ALTER TABLE jobs ADD COLUMN waits_for_model boolean NOT NULL DEFAULT false;

-- Each lease counts the leased jobs that do local work, from the index alone.
DROP INDEX jobs_held;
CREATE INDEX jobs_held ON jobs (project, branch, worker, waits_for_model)
    WHERE status = 'active' AND worker IS NOT NULL;
