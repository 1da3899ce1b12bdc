-- Upgrade, rewrites rows: Adds an ID and a creator to each invitation, and gives existing invitations an ID.
-- An invitation can be spoken of without its link, and tells whose it is: a person's name, or how they came in.
ALTER TABLE invites ADD COLUMN id TEXT COLLATE "C" NOT NULL DEFAULT '',
                    ADD COLUMN creator TEXT;
UPDATE invites SET id = 'inv_' || encode(substring(hash FROM 1 FOR 8), 'hex');
CREATE UNIQUE INDEX invites_by_organization ON invites (organization, id);
