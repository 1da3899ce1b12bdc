-- Upgrade: Adds the progress of each imported log file.
-- Files that views came from, and up to where each was read; written with the views themselves.
CREATE TABLE import (
    project INTEGER NOT NULL,
    file    TEXT NOT NULL,    -- by which its reader knows it again
    bytes   INTEGER NOT NULL,
    hash    TEXT NOT NULL,    -- of those bytes
    at      INTEGER NOT NULL,
    PRIMARY KEY (project, file)
) STRICT, WITHOUT ROWID;
