-- Upgrade: Adds the last trusted time of each clock, so that a clock that jumps deletes nothing.
-- The clocks that deletions by age go by, and the last time at which each was right: the database's, and that of
-- every server, by the id of its data directory. Times are milliseconds since 1970.
CREATE TABLE clocks (
    name           TEXT COLLATE "C" PRIMARY KEY,
    trusted        BIGINT NOT NULL, -- the last time that was right
    version        BIGINT NOT NULL, -- goes up when the clock is accepted
    cause          TEXT,            -- why deletion is paused; none: it is not
    began          BIGINT,          -- the pause, as the clock showed it
    last_wall      BIGINT,          -- what the clock showed last
    steady         BIGINT,          -- for how long it has been steady since
    misdated_from  BIGINT,          -- dates of a clock that was behind
    misdated_to    BIGINT,
    misdated_until BIGINT           -- what bears one is kept as if it were of this time
);
