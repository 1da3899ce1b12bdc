-- Upgrade: Creates the tables of page views.
CREATE TABLE project (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- Paths, user agents and referrers: each is written once and repeated by number.
CREATE TABLE word (
    id      INTEGER PRIMARY KEY,
    project INTEGER NOT NULL,
    text    TEXT NOT NULL,
    UNIQUE (project, text)
) STRICT;

-- The user agent is kept so that a better table of agents can classify history again.
CREATE TABLE event (
    id       INTEGER PRIMARY KEY,
    project  INTEGER NOT NULL,
    at       INTEGER NOT NULL, -- milliseconds since 1970, as all times
    received INTEGER NOT NULL,
    path     INTEGER NOT NULL, -- a word, as agent and referrer
    agent    INTEGER,
    referrer INTEGER,
    status   INTEGER,
    kind     INTEGER NOT NULL, -- event::Kind
    class    INTEGER NOT NULL, -- classify::Class
    markdown INTEGER NOT NULL
) STRICT;

-- Holds all that counting asks for, so that it never visits the events themselves.
CREATE INDEX event_count ON event (project, kind, at, path, class);

-- Event ids of the last seven days, hashed.
CREATE TABLE seen (
    project  INTEGER NOT NULL,
    hash     BLOB NOT NULL,
    received INTEGER NOT NULL,
    PRIMARY KEY (project, hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX seen_received ON seen (received);
