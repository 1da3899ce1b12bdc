-- Upgrade: Records which database in ClickHouse has the page views, so that another one is refused.
-- The id that the database in ClickHouse has, too.
CREATE TABLE views_engine (
    one      BOOLEAN PRIMARY KEY DEFAULT true CHECK (one),
    id       TEXT COLLATE "C" NOT NULL,
    is_bound BOOLEAN NOT NULL DEFAULT false -- whether ClickHouse got the id
);
