-- Tokens: what opens a lease, and what does not.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('wq_tokens');
SELECT belay.create_hub('wq_tokens_other');
SELECT belay.set_hub_option('wq_tokens', 'max_clock_skew', '0');  -- these tests choose the time
SELECT belay.set_hub_option('wq_tokens', 'max_attempts', 'off');
SELECT belay.set_hub_option('wq_tokens_other', 'max_clock_skew', '0');

-- test.error, without what differs from run to run.
CREATE FUNCTION pg_temp.error(statement text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(test.error(statement), '"lock_token":"[A-Za-z0-9_-]{8}"', '"lock_token":"(8 characters)"')
$$;
-- Tries a token with every function that takes one. One line per different answer; and whether anything changed.
CREATE FUNCTION pg_temp.content() RETURNS text LANGUAGE sql AS $$
    SELECT concat((SELECT md5(string_agg(w::text, '|' ORDER BY id)) FROM wq_tokens.worker_queue AS w), (SELECT count(*) FROM wq_tokens.orchestrator_queue))
$$;
CREATE FUNCTION pg_temp.try(token text, now_ms bigint DEFAULT 1500) RETURNS TABLE (functions bigint, answer text, unchanged boolean) LANGUAGE plpgsql AS $$
DECLARE
    before text := pg_temp.content();
    answers text[];
BEGIN
    answers := ARRAY(
        SELECT regexp_replace(pg_temp.error(format(call, token, now_ms)), E'^(\\w+): [^\n]*\nDETAIL: ({[^\n]*})\nHINT: [^\n]+$', '\1 \2')
          FROM unnest(ARRAY['SELECT wq_tokens.ack_worker(%1$L, NULL, NULL, %2$s)',
                            'SELECT wq_tokens.ack_worker(%1$L, NULL, ''{"ActivityCompleted":{"instance":"i"}}'', %2$s)',
                            'SELECT wq_tokens.ack_and_fetch_work_item(%1$L, NULL, NULL, 1000, p_now_ms => %2$s)',
                            'SELECT wq_tokens.renew_work_item_lock(%1$L, 1000, p_now_ms => %2$s)',
                            'SELECT wq_tokens.abandon_work_item(%1$L, p_now_ms => %2$s)',
                            'SELECT wq_tokens.abandon_work_item(%1$L, 1000, true, p_now_ms => %2$s)']) AS call)
        || ARRAY(SELECT error || ' in a list' FROM wq_tokens.ack_workers(jsonb_build_array(jsonb_build_object('lock_token', token)), now_ms))
        || ARRAY(SELECT error || ' in a list' FROM wq_tokens.renew_work_item_locks(ARRAY[token], 1000, p_now_ms => now_ms));
    RETURN QUERY
        SELECT count(*), said, before = pg_temp.content() FROM unnest(answers) AS said GROUP BY said ORDER BY said COLLATE "C";
END $$;

-- One row that is leased until 2000, one that is not. The view shows the token of a lease to the hub's owner.
SELECT wq_tokens.enqueue_worker_work('{"ActivityExecute":{"instance":"secret-instance","execution_id":1,"id":1}}', p_now_ms => 1000);
SELECT wq_tokens.enqueue_worker_work('{"ActivityExecute":{}}', p_now_ms => 1000);
SELECT lock_token AS token FROM wq_tokens.fetch_work_item(1000, p_now_ms => 1000) \gset
SELECT lock_token = :'token' AS shown, lock_token IS NULL AS none FROM wq_tokens.work_items ORDER BY id;

-- TK-1: text that an URL can carry. It holds no instance id, in no form: its length does not depend on it.
SELECT :'token' ~ '^[A-Za-z0-9_-]{58}$' AS plain;
-- 128 random bits.
SELECT nonce_hi <> 0 AND nonce_lo <> 0 AND nonce_hi <> nonce_lo AS random FROM wq_tokens.worker_queue WHERE locked_until > 0;

-- TK-3: NULL, empty, malformed. Never an internal error; ER-4: nothing changes. Shown are at most 8 characters.
SELECT * FROM pg_temp.try(NULL);
SELECT * FROM pg_temp.try('');
SELECT * FROM pg_temp.try('nonsense, and more of it');
SELECT functions, unchanged, answer ~ '^QB001 ({"code_detail":"unknown","lock_token":"(.{0,8}|\(8 characters\))"}|in a list)$' AS unknown, count(*)
  FROM unnest(ARRAY[left(:'token', 57), :'token' || 'A', :'token' || '=', ' ' || :'token', :'token' || ' ', upper(:'token'),
                    replace(:'token', left(:'token', 1), '+'), overlay(:'token' PLACING 'é' FROM 9), overlay(:'token' PLACING '%s' FROM 9),
                    repeat('A', 58), repeat('_', 58), repeat('é', 58), '''; DROP TABLE x; --', repeat(:'token', 20000), '{}', '"', '\x00',
                    'secret-instance']) AS token,
       pg_temp.try(token)
 GROUP BY 1, 2, 3 ORDER BY 1;

-- TK-4: the full token must match. Every single character counts: with any other in its place the token opens nothing.
SELECT count(*) AS tokens, count(*) FILTER (WHERE renewed) AS opened, count(*) FILTER (WHERE error = 'QB001') AS lost
  FROM wq_tokens.renew_work_item_locks((
        SELECT array_agg(overlay(:'token' PLACING other FROM place))
          FROM generate_series(1, 58) AS place,
               regexp_split_to_table('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_', '') AS other
         WHERE substr(:'token', place, 1) <> other), 9000, p_now_ms => 1500);
SELECT locked_until FROM wq_tokens.work_items ORDER BY id;
-- A row without a lease is opened by nothing, not by a token of zeros either.
SELECT belay.work_token(lane, slot, due, id, lease_inc, 0, 0) AS zeros, belay.work_token(lane, slot, due, id, 1, 0, 0) AS zeros_1
  FROM wq_tokens.worker_queue WHERE locked_until = 0 \gset
SELECT DISTINCT substr(answer, 1, 5) AS answer, unchanged FROM (SELECT * FROM pg_temp.try(:'zeros') UNION ALL SELECT * FROM pg_temp.try(:'zeros_1')) AS t;

-- ER-3: expired, and no session has taken it over: only abandon accepts it (BW-1). The DETAIL has the deadline.
BEGIN;
SELECT * FROM pg_temp.try(:'token', 2000);
ROLLBACK;
-- Stolen: the lease expired and another has it now.
SELECT lock_token AS thief FROM wq_tokens.fetch_work_item(1000, p_now_ms => 2000) \gset
SELECT * FROM pg_temp.try(:'token', 2100);
-- Abandoned, leased by no session.
SELECT wq_tokens.abandon_work_item(:'thief', p_now_ms => 2100);
SELECT * FROM pg_temp.try(:'thief', 2100);
-- Finished.
SELECT lock_token AS token FROM wq_tokens.fetch_work_item(1000, p_now_ms => 2200) \gset
SELECT wq_tokens.ack_worker(:'token', NULL, NULL, 2300);
SELECT * FROM pg_temp.try(:'token', 2300);

-- From another hub, where a row with the same id is leased. HB-2.
SELECT wq_tokens_other.enqueue_worker_work('{"ActivityExecute":{}}', p_now_ms => 1000) FROM generate_series(1, 2);
SELECT lock_token AS foreign_token FROM wq_tokens_other.fetch_work_items(1000, p_max_items => 2, p_now_ms => 1000) OFFSET 1 \gset
SELECT lock_token AS token FROM wq_tokens.fetch_work_item(1000, p_now_ms => 1000) \gset
SELECT left(:'foreign_token', 30) = left(:'token', 30) AS same_row_key;
SELECT functions, substr(answer, 1, 5) AS answer, unchanged FROM pg_temp.try(:'foreign_token', 1500);

-- From another incarnation. CL-1: the lease counts as expired; the row can be fetched at once, its attempts still counted.
SELECT count(*) FROM wq_tokens.fetch_work_item(1000, p_now_ms => 1500);
SELECT belay.new_incarnation('wq_tokens');
SELECT * FROM pg_temp.try(:'token', 1500);
SELECT attempt_count, lock_token AS token FROM wq_tokens.fetch_work_item(1000, p_now_ms => 1500) \gset
\echo attempt :attempt_count
SELECT wq_tokens.renew_work_item_lock(:'token', 1000, p_now_ms => 1600);

-- From an earlier life of the hub, and of the same id: HB-4.
SELECT lock_token AS old_life FROM wq_tokens_other.work_items WHERE id = 2 \gset
SELECT belay.drop_hub('wq_tokens_other');
SELECT belay.create_hub('wq_tokens_other');
SELECT belay.set_hub_option('wq_tokens_other', 'max_clock_skew', '0');
SELECT wq_tokens_other.enqueue_worker_work('{"ActivityExecute":{}}', p_now_ms => 1000) FROM generate_series(1, 2);
SELECT count(*) FROM wq_tokens_other.fetch_work_items(1000, p_max_items => 2, p_now_ms => 1000);
SELECT test.sqlstate(format('SELECT wq_tokens_other.renew_work_item_lock(%L, 1000, p_now_ms => 1500)', :'old_life'));
SELECT locked_until FROM wq_tokens_other.work_items WHERE id = 2;

-- TK-2, I2: tokens are unique over all fetches: 50 leases of one row, and all of them differ.
TRUNCATE wq_tokens.worker_queue;
SELECT wq_tokens.enqueue_worker_work('{"ActivityExecute":{}}', p_now_ms => 1000);
SELECT count(DISTINCT lock_token) FROM generate_series(1, 50) AS n, LATERAL wq_tokens.fetch_work_item(1, p_now_ms => 1000 + n);

-- ER-2: no message, detail or hint shows more than the first 8 characters of a token.
SELECT lock_token AS token FROM wq_tokens.work_items \gset
SELECT error LIKE '%' || left(:'token', 8) || '%' AS shows_8, error LIKE '%' || left(:'token', 9) || '%' AS shows_9
  FROM test.error(format('SELECT wq_tokens.ack_worker(%L, p_now_ms => 5000)', :'token')) AS error;

SELECT belay.drop_hub('wq_tokens');
SELECT belay.drop_hub('wq_tokens_other');
