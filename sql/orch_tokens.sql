-- Tokens of turns: what opens a lock, and what does not.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('orch_tokens');
SELECT belay.set_hub_option('orch_tokens', 'max_clock_skew', '0');  -- these tests choose the time
SELECT belay.set_hub_option('orch_tokens', 'max_attempts', 'off');

SELECT belay.create_hub('orch_tokens_other');
SELECT belay.set_hub_option('orch_tokens_other', 'max_clock_skew', '0');

-- A digest of what a token could change.
CREATE FUNCTION pg_temp.content() RETURNS text LANGUAGE sql AS $$
    SELECT md5(concat((SELECT string_agg(q::text, '|' ORDER BY id) FROM orch_tokens.orchestrator_queue AS q), (SELECT string_agg(l::text, '|' ORDER BY instance_id) FROM orch_tokens.instance_locks AS l),
                      (SELECT string_agg(w::text, '|' ORDER BY id) FROM orch_tokens.worker_queue AS w), (SELECT count(*) FROM orch_tokens.instances), (SELECT count(*) FROM orch_tokens.history)))
$$;
-- Tries a token with every function that takes one. One line per different answer; and whether anything changed.
CREATE FUNCTION pg_temp.try(token text, now_ms bigint DEFAULT 1500) RETURNS TABLE (functions bigint, answer text, unchanged boolean) LANGUAGE plpgsql AS $$
DECLARE
    before text := pg_temp.content();
    answers text[];
BEGIN
    answers := ARRAY(
        SELECT regexp_replace(regexp_replace(test.error(format(call, token, now_ms)), E'^(\\w+): [^\n]*\nDETAIL: ({[^\n]*})\nHINT: [^\n]+$', '\1 \2'), '"lock_token":"[A-Za-z0-9_-]{8}"', '"lock_token":"(8 characters)"')
          FROM unnest(ARRAY['SELECT orch_tokens.ack_orchestration_item(%1$L, 1, ''[]'', ''[]'', ''[]'', ''{}'', p_now_ms => %2$s)',
                            'SELECT orch_tokens.ack_orchestration_item(%1$L, 1, ''[{"event_id":1,"event_data":"{}"}]'', ''[{"ActivityExecute":{}}]'', ''[{"CancelInstance":{"instance":"x"}}]'', ''{"orchestration_name":"O","orchestration_version":"1","status":"Failed"}'', p_now_ms => %2$s)',
                            'SELECT orch_tokens.renew_orchestration_item_lock(%1$L, 1000, p_now_ms => %2$s)',
                            'SELECT orch_tokens.abandon_orchestration_item(%1$L, p_now_ms => %2$s)',
                            'SELECT orch_tokens.abandon_orchestration_item(%1$L, 1000, true, p_now_ms => %2$s)']) AS call);
    RETURN QUERY SELECT count(*), said, before = pg_temp.content() FROM unnest(answers) AS said GROUP BY said ORDER BY said COLLATE "C";
END $$;

-- One instance that is leased until 2000, one that is not, and an activity.
SELECT orch_tokens.start_orchestration('O', '', 'secret-instance', NULL, 0, 1000), orch_tokens.start_orchestration('O', '', 'idle', NULL, 0, 1001);
SELECT orch_tokens.enqueue_worker_work('{"ActivityExecute":{"instance":"secret-instance"}}', p_now_ms => 1000);
SELECT lock_token AS token FROM orch_tokens.fetch_orchestration_item(1000, p_now_ms => 1000) \gset
-- TK-1: text that an URL can carry; of one length, so it holds no instance id. 128 random bits.
SELECT :'token' ~ '^[A-Za-z0-9_-]+$' AS plain, length(:'token') = length(belay.turn_token(1, 1, 1, 1, 1)) AS one_length;
SELECT nonce_hi <> 0 AND nonce_lo <> 0 AND nonce_hi <> nonce_lo AS random FROM orch_tokens.instance_locks;
-- The views show it to the hub's owner.
SELECT lock_token = :'token' AS lock FROM orch_tokens.instance_lock_states;
SELECT instance_id, lock_token = :'token' AS message FROM orch_tokens.messages ORDER BY id;

-- TK-3: NULL, empty, malformed. Never an internal error; ER-4: nothing changes. ER-2: at most 8 characters are shown.
SELECT * FROM pg_temp.try(NULL);
SELECT * FROM pg_temp.try('');
SELECT * FROM pg_temp.try('nonsense, and more of it');
SELECT functions, unchanged, answer ~ '^QB001 {"code_detail":"unknown","lock_token":"(.{0,8}|\(8 characters\))"}$' AS unknown, count(*)
  FROM unnest(ARRAY[left(:'token', -1), :'token' || 'A', :'token' || '=', ' ' || :'token', :'token' || ' ', upper(:'token'), overlay(:'token' PLACING '+' FROM 1), overlay(:'token' PLACING 'é' FROM 9), overlay(:'token' PLACING '%s' FROM 9),
                    repeat('A', length(:'token')), repeat('_', length(:'token')), repeat('é', length(:'token')), '''; DROP TABLE x; --', repeat(:'token', 20000), '{}', '"', '\x00', 'secret-instance']) AS token,
       pg_temp.try(token)
 GROUP BY 1, 2, 3 ORDER BY 1;

-- TK-4: the full token must match: with any other character in any place it opens nothing.
CREATE FUNCTION pg_temp.opens(token text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM orch_tokens.renew_orchestration_item_lock(token, 5000, p_now_ms => 1500);
    RETURN true;
EXCEPTION WHEN SQLSTATE 'QB001' THEN
    RETURN false;
END $$;
SELECT count(*) > 3000 AS many, count(*) FILTER (WHERE pg_temp.opens(overlay(:'token' PLACING other FROM place))) AS opened
  FROM generate_series(1, length(:'token')) AS place, regexp_split_to_table('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_', '') AS other
 WHERE substr(:'token', place, 1) <> other;
SELECT locked_until FROM orch_tokens.instance_lock_states;
-- The right key with the wrong random bits, lock number or instance.
SELECT what, t.* FROM (SELECT 'bits' AS what, belay.turn_token(instance_key, lock_no, lease_inc, nonce_hi, nonce_lo + 1) AS token FROM orch_tokens.instance_locks
    UNION ALL SELECT 'zeros', belay.turn_token(instance_key, lock_no, lease_inc, 0, 0) FROM orch_tokens.instance_locks
    UNION ALL SELECT 'lock number', belay.turn_token(instance_key, lock_no + 1, lease_inc, nonce_hi, nonce_lo) FROM orch_tokens.instance_locks
    UNION ALL SELECT 'instance', belay.turn_token(instance_key + 1, lock_no, lease_inc, nonce_hi, nonce_lo) FROM orch_tokens.instance_locks
    UNION ALL SELECT 'incarnation', belay.turn_token(instance_key, lock_no, lease_inc + 1, nonce_hi, nonce_lo) FROM orch_tokens.instance_locks) AS f, pg_temp.try(f.token) AS t ORDER BY what COLLATE "C";

-- TK-3: from the other queue: neither opens the other's.
SELECT lock_token AS work FROM orch_tokens.fetch_work_item(1000, p_now_ms => 1000) \gset
SELECT * FROM pg_temp.try(:'work');
SELECT call, test.sqlstate(format(call, :'token')) FROM unnest(ARRAY['SELECT orch_tokens.ack_worker(%L, NULL, NULL, 1500)', 'SELECT orch_tokens.renew_work_item_lock(%L, 1000, p_now_ms => 1500)', 'SELECT orch_tokens.abandon_work_item(%L, p_now_ms => 1500)',
    'SELECT orch_tokens.ack_and_fetch_work_item(%L, NULL, NULL, 1000, p_now_ms => 1500)']) AS call;
SELECT error FROM orch_tokens.ack_workers(jsonb_build_array(jsonb_build_object('lock_token', :'token')), 1500);
SELECT error FROM orch_tokens.renew_work_item_locks(ARRAY[:'token'], 1000, p_now_ms => 1500);
-- From another hub, of an instance with the same id and the same lock number.
SELECT orch_tokens_other.start_orchestration('O', '', 'secret-instance', NULL, 0, 1000);
SELECT lock_token AS foreign FROM orch_tokens_other.fetch_orchestration_item(1000, p_now_ms => 1000) \gset
SELECT * FROM pg_temp.try(:'foreign');
SELECT test.sqlstate(format('SELECT orch_tokens_other.renew_orchestration_item_lock(%L, 1000, p_now_ms => 1500)', :'token'));

-- TK-2, I2: tokens are unique over all fetches, of both queues: one row, leased again and again.
CREATE TEMP TABLE seen (token text PRIMARY KEY);
INSERT INTO seen SELECT lock_token FROM generate_series(1, 100) AS n, LATERAL orch_tokens.fetch_orchestration_item(5, p_now_ms => 10000 + 10 * n);
INSERT INTO seen SELECT lock_token FROM generate_series(1, 100) AS n, LATERAL orch_tokens.fetch_work_item(5, p_now_ms => 10000 + 10 * n);
SELECT count(*) FROM seen;
SELECT lock_token AS token FROM orch_tokens.fetch_orchestration_item(1000, p_now_ms => 20000) \gset

-- ER-3: expired, and no session has taken it over: only abandon accepts it (AB-2). The DETAIL has the deadline.
BEGIN;
SELECT * FROM pg_temp.try(:'token', 21000);
ROLLBACK;
-- Stolen: the lock expired and another has it now.
SELECT lock_token AS thief FROM orch_tokens.fetch_orchestration_item(1000, p_now_ms => 21000) \gset
SELECT * FROM pg_temp.try(:'token', 20500);
-- Abandoned.
SELECT orch_tokens.abandon_orchestration_item(:'thief', p_now_ms => 21000);
SELECT * FROM pg_temp.try(:'thief', 20500);
-- Acked; once with the lock kept as a row, once (terminal) without it.
SELECT lock_token AS acked FROM orch_tokens.fetch_orchestration_item(1000, p_now_ms => 21000) \gset
SELECT orch_tokens.ack_orchestration_item(:'acked', 1, '[]', '[]', '[]', '{"orchestration_name":"O","orchestration_version":"1"}', p_now_ms => 21000);
SELECT * FROM pg_temp.try(:'acked', 21000);
SELECT orch_tokens.raise_event('secret-instance', 'n', '', false, 21000);
SELECT lock_token AS done FROM orch_tokens.fetch_orchestration_item(1000, p_now_ms => 21000) AS f \gset
SELECT orch_tokens.ack_orchestration_item(:'done', 1, '[]', '[]', '[]', '{"status":"Completed"}', p_now_ms => 21000);
SELECT * FROM pg_temp.try(:'done', 21000);
-- TK-3: from an earlier life of the same instance id.
SELECT orch_tokens.start_orchestration('O', '', 'secret-instance', NULL, 0, 21000);
SELECT count(*) FROM orch_tokens.fetch_orchestration_item(1000, p_now_ms => 21000);
SELECT count(DISTINCT answer), min(answer) FROM (SELECT * FROM pg_temp.try(:'done', 21000) UNION ALL SELECT * FROM pg_temp.try(:'acked', 21000)) AS t;

-- From another incarnation: the lease counts as expired (CL-1), its token is unknown, and the turn can be fetched at once.
TRUNCATE orch_tokens.orchestrator_queue, orch_tokens.instance_locks;
SELECT orch_tokens.start_orchestration('O', '', 'i', NULL, 0, 1000);
SELECT lock_token AS token FROM orch_tokens.fetch_orchestration_item(100000, p_now_ms => 1000) \gset
SELECT belay.new_incarnation('orch_tokens');
SELECT * FROM pg_temp.try(:'token');
SELECT lock_token AS newer, attempt_count FROM orch_tokens.fetch_orchestration_item(1000, p_now_ms => 1500) \gset
SELECT :attempt_count AS attempt, :'newer' <> :'token' AS new_token;
SELECT * FROM pg_temp.try(:'token');
SELECT orch_tokens.ack_orchestration_item(:'newer', 1, '[]', '[]', '[]', '{}', p_now_ms => 1500);
-- HB-4: a hub with a live turn is not dropped without force. Made again under the same name, it knows no old token.
SELECT orch_tokens.start_orchestration('O', '', 'i', NULL, 0, 1000);
SELECT lock_token AS token FROM orch_tokens.fetch_orchestration_item(3600000) \gset
SELECT test.sqlstate('SELECT belay.drop_hub(''orch_tokens'')');
SELECT belay.drop_hub('orch_tokens', true);
SELECT belay.create_hub('orch_tokens');
SELECT belay.set_hub_option('orch_tokens', 'max_clock_skew', '0');
SELECT orch_tokens.start_orchestration('O', '', 'i', NULL, 0, 1000);
SELECT count(*) FROM orch_tokens.fetch_orchestration_item(100000, p_now_ms => 1000);
SELECT answer LIKE 'QB001%' AS lost, unchanged FROM pg_temp.try(:'token');

SELECT belay.drop_hub('orch_tokens', true);
SELECT belay.drop_hub('orch_tokens_other', true);
