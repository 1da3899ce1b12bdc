-- Upgrade: Adds a count of server crashes to each job, so that a job that crashes its server is recognized.
-- How many workers died in the present step of a job's run, and how far the run had come when the last of them did.
-- A job with two deaths is a suspect: it waits, since then, for a worker that has no other job and has been alive for
-- so many milliseconds.
ALTER TABLE jobs ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN died_step INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN suspect_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN steady_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN leased_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN alive_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN alone_at INTEGER;        -- when it last took a suspect

DROP INDEX jobs_in_line;
CREATE INDEX jobs_in_line ON jobs (project, queued_at, id, told)
    WHERE status = 'active' AND worker IS NULL AND not_before IS NULL AND deaths < 2;
CREATE INDEX jobs_suspect ON jobs (worker, suspect_since, id)
    WHERE status = 'active' AND not_before IS NULL AND deaths >= 2;
