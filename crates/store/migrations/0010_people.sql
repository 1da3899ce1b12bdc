-- Who is believed about human readers: beacon, server or both.
ALTER TABLE projects ADD COLUMN human_reads TEXT NOT NULL DEFAULT 'both';
