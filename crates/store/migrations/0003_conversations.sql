-- Upgrade: Adds the conversations of jobs with their models, tokens by month, and diffs of failed runs.
-- What was said between a job and its model, and what it cost. Rows can be large, so they have a rowid.
CREATE TABLE conversation (
    job    TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
    number INTEGER NOT NULL,
    run    INTEGER NOT NULL,
    entry  TEXT NOT NULL,           -- JSON
    input  INTEGER NOT NULL,        -- tokens
    output INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    PRIMARY KEY (job, number)
) STRICT;

-- What is spent stays counted, whatever becomes of the entries.
CREATE TABLE tokens_by_month (
    project TEXT NOT NULL REFERENCES projects ON DELETE CASCADE,
    month   TEXT NOT NULL,          -- 2026-11, UTC
    tokens  INTEGER NOT NULL,
    PRIMARY KEY (project, month)
) STRICT, WITHOUT ROWID;

-- What a failed run had made. Never of a job with a pull request, and never older than its change.
CREATE TABLE failed_diffs (
    job  TEXT PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
    diff TEXT NOT NULL
) STRICT;
