-- Upgrade: Adds quotations to the prompts of jobs and follow-ups.
-- What was quoted beside a prompt, as a JSON list of objects with `label` and `text`.
ALTER TABLE jobs ADD COLUMN context TEXT NOT NULL DEFAULT '[]';
ALTER TABLE messages ADD COLUMN context TEXT NOT NULL DEFAULT '[]';
