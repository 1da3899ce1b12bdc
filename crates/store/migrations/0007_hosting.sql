-- Upgrade, rewrites rows: Adds repository hosts and the state of each pull request, and marks existing pull requests as open.
-- Where a project's repository is on a host: what the host is, and what its pull requests are given. JSON.
ALTER TABLE projects ADD COLUMN hosting TEXT NOT NULL DEFAULT '{}';
-- open, merged or closed: what is known of the job's pull request. NULL while there is none.
ALTER TABLE jobs ADD COLUMN pr_state TEXT;
UPDATE jobs SET pr_state = 'open' WHERE pr_link IS NOT NULL;
