-- Upgrade, rewrites rows: Adds the changed lines and the tokens of each job, and counts the tokens of existing jobs.
-- What a list shows of a job without reading its diff or its conversation.
ALTER TABLE jobs ADD COLUMN added INTEGER NOT NULL DEFAULT 0;      -- lines of its change
ALTER TABLE jobs ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;     -- of all runs
UPDATE jobs SET tokens = (SELECT CAST(min(total(input) + total(output), 9e18) AS INTEGER) FROM conversation WHERE job = jobs.id);
