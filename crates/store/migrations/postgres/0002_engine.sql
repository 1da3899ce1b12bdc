-- The data directory that page views are kept in; no row: nobody keeps them yet.
CREATE TABLE views_home (
    one BOOLEAN PRIMARY KEY CHECK (one),
    dir TEXT NOT NULL
);
