-- Upgrade: Creates the ledger of page views, for servers that store page views in ClickHouse.
-- What must be transactional about page views: which event ids count, which views wait for ClickHouse, how far a file
-- was imported, salts, and what reports cannot be recomputed from. Times are milliseconds since 1970; days count from
-- 1970, too.

CREATE TABLE views_projects (
    -- Never reused, so that views of a deleted project cannot appear in another one.
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        TEXT COLLATE "C" NOT NULL UNIQUE,
    version     BIGINT NOT NULL DEFAULT 0,  -- increases when a report that is being computed may be wrong
    raw_from    BIGINT NOT NULL DEFAULT 0,  -- raw events before this time are deleted
    raw_oldest  BIGINT,                     -- no day before this one has raw events
    pages_epoch BIGINT NOT NULL DEFAULT 0,  -- increases when pages are removed
    pages_day   BIGINT NOT NULL DEFAULT 0,  -- the last day with new pages, and how many were added
    pages_added BIGINT NOT NULL DEFAULT 0,
    lease       TEXT COLLATE "C",           -- the server that rewrites days of the project; nothing is shipped meanwhile
    lease_until BIGINT NOT NULL DEFAULT 0
);

-- Deleted projects whose views ClickHouse still has.
CREATE TABLE views_purges (
    project BIGINT PRIMARY KEY,
    since   BIGINT NOT NULL
);

-- Event ids, hashed, in two tables: one gets new ids for a week or longer, the other one is emptied after that.
CREATE TABLE views_ids_a (
    project  BIGINT NOT NULL,
    id       BYTEA NOT NULL,
    received BIGINT NOT NULL,
    PRIMARY KEY (project, id)
);
CREATE TABLE views_ids_b (LIKE views_ids_a INCLUDING ALL);
-- Which table gets new ids. The other one has no id that was received after `since`.
CREATE TABLE views_ids_current AS SELECT true AS one, false AS is_b, docwright_now_ms() AS since;
ALTER TABLE views_ids_current ADD PRIMARY KEY (one), ADD CHECK (one), ALTER is_b SET NOT NULL, ALTER since SET NOT NULL;

CREATE TABLE views_pages (
    project BIGINT NOT NULL REFERENCES views_projects ON DELETE CASCADE,
    path    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (project, path)
);

CREATE TABLE views_imports (
    project BIGINT NOT NULL REFERENCES views_projects ON DELETE CASCADE,
    file    TEXT COLLATE "C" NOT NULL,
    bytes   BIGINT NOT NULL, -- 0: no part was imported yet
    hash    TEXT NOT NULL,
    PRIMARY KEY (project, file)
);

CREATE TABLE views_salts (
    day  BIGINT PRIMARY KEY,
    salt BYTEA NOT NULL
);

-- A shipment: blocks that are sent to ClickHouse together, under one deduplication token.
CREATE TABLE views_shipments (
    token        TEXT COLLATE "C" PRIMARY KEY, -- random, and committed before the shipment is sent
    leased_until BIGINT NOT NULL
);

CREATE TABLE views_outbox (
    n        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project  BIGINT NOT NULL REFERENCES views_projects ON DELETE CASCADE,
    received BIGINT NOT NULL,
    events   BIGINT NOT NULL,
    bytes    BIGINT NOT NULL,
    shipment TEXT COLLATE "C" REFERENCES views_shipments,
    block    BYTEA NOT NULL
);
CREATE INDEX views_outbox_by_project ON views_outbox (project);
CREATE INDEX views_outbox_by_shipment ON views_outbox (shipment) WHERE shipment IS NOT NULL;
CREATE INDEX views_outbox_waiting ON views_outbox (n) WHERE shipment IS NULL;

CREATE TABLE views_days (
    project    BIGINT NOT NULL REFERENCES views_projects ON DELETE CASCADE,
    day        BIGINT NOT NULL,
    reads      BOOLEAN NOT NULL DEFAULT false, -- whether the day has or had reads
    folds      BIGINT NOT NULL DEFAULT 0,      -- increases when the day's views change
    visitors   BYTEA,                          -- distinct readers; NULL: count them again
    generation BIGINT NOT NULL DEFAULT 0,      -- the rows in ClickHouse that count
    last_generation BIGINT NOT NULL DEFAULT 0, -- also of rewrites that were not completed
    dirty      BOOLEAN NOT NULL DEFAULT false, -- ClickHouse may have rows of earlier generations
    PRIMARY KEY (project, day)
);
CREATE INDEX views_days_rewritten ON views_days (project, day) WHERE generation > 0;
CREATE INDEX views_days_dirty ON views_days (project) WHERE dirty;
