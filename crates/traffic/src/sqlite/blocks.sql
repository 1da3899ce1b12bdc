-- Upgrade, rewrites rows: Moves page views from single rows to compressed blocks, and counts them by hour and day.
-- What was a row an event, until `convert.rs` has made blocks of it.
ALTER TABLE event RENAME TO old_event;
ALTER TABLE seen RENAME TO old_seen;
ALTER TABLE word RENAME TO old_word;
DROP INDEX event_count;
DROP INDEX seen_received;

-- Raw events from this time on are all kept.
ALTER TABLE project ADD COLUMN raw_from INTEGER NOT NULL DEFAULT 0;

-- Pages that were read, numbered from 1 in each project; 0 is all that found no number.
CREATE TABLE page (
    project INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    path    TEXT NOT NULL,
    day     INTEGER NOT NULL, -- on which it was first heard of
    PRIMARY KEY (project, number)
) STRICT, WITHOUT ROWID;

-- Events as they came in; `fold.rs` sorts them into the tables below.
CREATE TABLE journal (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    project  INTEGER NOT NULL,
    received INTEGER NOT NULL, -- milliseconds since 1970, as all times
    events   INTEGER NOT NULL,
    block    BLOB NOT NULL     -- block.rs
) STRICT;
CREATE INDEX journal_project ON journal (project, id);

-- Events, sorted by time.
CREATE TABLE block (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL,
    first   INTEGER NOT NULL,
    last    INTEGER NOT NULL,
    events  INTEGER NOT NULL,
    missing INTEGER NOT NULL, -- how many of them looked for a page that was not there
    block   BLOB NOT NULL
) STRICT;
CREATE INDEX block_time ON block (project, last);

-- Reads by page and class, for ever. Hours and days are counted since 1970.
CREATE TABLE hour (
    project INTEGER NOT NULL,
    hour    INTEGER NOT NULL,
    cells   BLOB NOT NULL, -- cells.rs
    PRIMARY KEY (project, hour)
) STRICT;

CREATE TABLE day (
    project  INTEGER NOT NULL,
    day      INTEGER NOT NULL,
    folds    INTEGER NOT NULL, -- grows with every change of the cells
    cells    BLOB NOT NULL,
    visitors BLOB,             -- visitors.rs; none until somebody counts them
    PRIMARY KEY (project, day)
) STRICT;

-- Event ids of the last seven days, hashed and sorted, by the day of their receipt.
CREATE TABLE seen (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL,
    day     INTEGER NOT NULL,
    ids     INTEGER NOT NULL,
    filter  BLOB NOT NULL -- filter.rs
) STRICT;
CREATE INDEX seen_project ON seen (project, day);

CREATE TABLE seen_page (
    seen  INTEGER NOT NULL,
    first BLOB NOT NULL, -- the smallest hash of the page
    ids   BLOB NOT NULL, -- seen.rs
    PRIMARY KEY (seen, first)
) STRICT;

-- What makes a visitor of an address and a user agent, on one day and no longer.
CREATE TABLE salt (
    day  INTEGER PRIMARY KEY,
    salt BLOB NOT NULL
) STRICT;
