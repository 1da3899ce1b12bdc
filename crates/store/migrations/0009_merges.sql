-- Upgrade, rewrites rows: Adds the time of each merge, and fills it in for merged pull requests.
-- When its pull request was merged, as far as that is known.
ALTER TABLE jobs ADD COLUMN merged_at INTEGER;
UPDATE jobs SET merged_at = (
    SELECT max(at) FROM job_events
    WHERE job = jobs.id AND kind = 'pull_request' AND json_extract(data, '$.state') = 'merged'
) WHERE pr_state = 'merged';
CREATE INDEX jobs_merged ON jobs (project, merged_at) WHERE merged_at IS NOT NULL;
