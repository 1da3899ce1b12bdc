-- Upgrade: Adds the time of each entry in a conversation; existing entries have none.
-- When an entry was said, and after which of the job's events; unknown of those that were said before this.
ALTER TABLE conversation ADD COLUMN at INTEGER;
ALTER TABLE conversation ADD COLUMN after INTEGER NOT NULL DEFAULT 0;
