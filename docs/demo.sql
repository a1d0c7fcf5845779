-- A first look at belay; `make demo` runs this file.
\echo
\echo 'Create the extension.'
CREATE EXTENSION belay;

\echo 'Make a hub: a schema with its own queues and functions.'
SELECT belay.create_hub('app');

\echo 'The hubs of this database:'
SELECT name, owner, api, is_current, paused FROM belay.hubs;
