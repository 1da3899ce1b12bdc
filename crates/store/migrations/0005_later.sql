-- Upgrade: Adds how long a job waits for a host or a model.
-- A job that waits for a host or a model in trouble, and how often it was put off since it last got on.
ALTER TABLE jobs ADD COLUMN not_before INTEGER;
ALTER TABLE jobs ADD COLUMN put_off INTEGER NOT NULL DEFAULT 0;
