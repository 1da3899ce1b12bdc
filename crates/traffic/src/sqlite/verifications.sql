-- Upgrade: Lets page views hold redirects and verified agents, and names the last server that stored them.
-- Blocks of version 2 and two more kinds in named.about need a program that knows them, and this schema version keeps
-- older programs from opening the file.

-- The epoch in which a server stored page views in this file last. No row: one server, or an older version.
CREATE TABLE owner (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    epoch INTEGER NOT NULL
) STRICT;
