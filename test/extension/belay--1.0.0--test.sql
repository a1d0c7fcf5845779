-- For the tests only: an update of the extension that adds a function.
CREATE FUNCTION belay.added_by_update() RETURNS integer LANGUAGE sql IMMUTABLE RETURN 42;
