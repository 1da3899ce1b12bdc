-- Whether the worker of a job only waits for the job's model. Such a job does no local work: it takes no share of the
-- workers from other jobs, and it isn't the cause if its worker dies.
ALTER TABLE jobs ADD COLUMN waits_for_model INTEGER NOT NULL DEFAULT 0;
