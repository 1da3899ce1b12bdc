-- Upgrade, rewrites rows: Adds the changed lines and the tokens of each job, and counts the tokens of existing jobs.
-- What a list shows of a job without reading its diff or its conversation: lines of its change, and tokens of all runs.
ALTER TABLE jobs ADD COLUMN added BIGINT NOT NULL DEFAULT 0,
                 ADD COLUMN removed BIGINT NOT NULL DEFAULT 0,
                 ADD COLUMN tokens BIGINT NOT NULL DEFAULT 0;
UPDATE jobs SET tokens = coalesce(
    (SELECT least(sum(input::numeric + output), 9e18)::bigint FROM conversation WHERE job = jobs.id), 0);
