-- Upgrade: Adds the models and the additional paths that each project allows.
-- What a project may use: models by name (none: every one of the server), and globs of paths that
-- its jobs may change although the guard refuses them.
ALTER TABLE projects ADD COLUMN models TEXT NOT NULL DEFAULT '[]';
ALTER TABLE projects ADD COLUMN allow_paths TEXT NOT NULL DEFAULT '[]';
