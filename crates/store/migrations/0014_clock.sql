-- Upgrade: Adds the last trusted time of each clock, so that a clock that jumps deletes nothing.
-- The clock that deletions by age go by, and the last time at which it was right. Times are milliseconds since 1970.
CREATE TABLE clocks (
    name           TEXT PRIMARY KEY,
    trusted        INTEGER NOT NULL, -- the last time that was right
    version        INTEGER NOT NULL, -- goes up when the clock is accepted
    cause          TEXT,             -- why deletion is paused; none: it is not
    began          INTEGER,          -- the pause, as the clock showed it
    last_wall      INTEGER,          -- what the clock showed last
    steady         INTEGER,          -- for how long it has been steady since
    misdated_from  INTEGER,          -- dates of a clock that was behind
    misdated_to    INTEGER,
    misdated_until INTEGER           -- what bears one is kept as if it were of this time
) STRICT, WITHOUT ROWID;
