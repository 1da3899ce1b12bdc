-- Upgrade: Adds counts by day of agents, referrers, and paths that were not found.
-- Who came with a name, by day and class, for ever: products that read, hosts that link here, pages
-- that are not there.
CREATE TABLE named (
    project INTEGER NOT NULL,
    about   INTEGER NOT NULL, -- names.rs
    day     INTEGER NOT NULL,
    names   BLOB NOT NULL,
    PRIMARY KEY (project, about, day)
) STRICT;
