-- The data directory that page views are kept in; no row: nobody keeps them yet.
CREATE TABLE views_home (
    one BOOLEAN PRIMARY KEY CHECK (one),
    dir TEXT NOT NULL
);

-- When to ask the host for a pull request that an archived job may have left there, and how often
-- that was done. NULL: there is nothing to ask for.
ALTER TABLE jobs ADD COLUMN sweep_at BIGINT, ADD COLUMN sweeps BIGINT NOT NULL DEFAULT 0;
CREATE INDEX jobs_to_sweep ON jobs (sweep_at) WHERE sweep_at IS NOT NULL;
CREATE INDEX jobs_by_pull ON jobs (project, pr_link) WHERE pr_link IS NOT NULL;
