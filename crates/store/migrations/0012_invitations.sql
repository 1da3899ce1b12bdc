-- Upgrade, rewrites rows: Adds an ID and a creator to each invitation, and gives existing invitations an ID.
-- An invitation can be spoken of without its link, and tells whose it is: a person's name, or how they came in.
ALTER TABLE invites ADD COLUMN id TEXT NOT NULL DEFAULT '';
ALTER TABLE invites ADD COLUMN creator TEXT;
UPDATE invites SET id = 'inv_' || lower(hex(substr(hash, 1, 8)));
CREATE UNIQUE INDEX invites_by_organization ON invites (organization, id);
