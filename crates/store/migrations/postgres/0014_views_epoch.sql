-- Upgrade: Numbers the servers that store page views one after the other, so that one that was replaced refuses page views.
-- Grows with every server that starts to store page views, also when the row is made anew.
CREATE SEQUENCE views_epochs;
ALTER TABLE views_home
    ADD COLUMN epoch   BIGINT NOT NULL DEFAULT nextval('views_epochs'),
    -- When the server that stores them said so last.
    ADD COLUMN seen_at BIGINT NOT NULL DEFAULT docwright_now_ms();
