-- Upgrade: Adds an index, so that thousands of findings are listed fast.
-- Has all that a list is filtered, sorted and counted by: the rows themselves are large.
CREATE INDEX findings_by_kind ON findings (project, kind, state, score, human, ai, found_at, changed_at, id);
