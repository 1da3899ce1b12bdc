-- Upgrade: Lets page views hold redirects and verified agents.
-- No table changes. Blocks of version 2 and two more kinds in named.about need a program that knows them, and
-- this schema version keeps older programs from opening the file.
SELECT 1;
