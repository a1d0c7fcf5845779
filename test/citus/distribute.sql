-- After the tests' set-up: each hub that they create is distributed, to the only node of the cluster, which is this server.
SET client_min_messages = warning;
ALTER FUNCTION belay.create_hub(name, text, boolean) RENAME TO create_local_hub;
CREATE FUNCTION belay.create_hub(p_name name, p_api text DEFAULT 'belay', p_adopt boolean DEFAULT false)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM belay.create_local_hub(p_name, p_api, p_adopt);
    PERFORM belay.distribute_hub(p_name);
END $$;
