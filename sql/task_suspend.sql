-- Tasks that wait for signals: suspensions, waitpoints, tokens.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT belay.create_hub('task_su');
SELECT belay.set_hub_option('task_su', 'max_clock_skew', '0');
SELECT belay.set_hub_option('task_su', 'events', 'lease,operator,completion');
SET search_path = task_su, public;
CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.n(id uuid) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT right(id::text, 12)::int $$;
CREATE FUNCTION pg_temp.told() RETURNS SETOF text LANGUAGE sql AS $$
    WITH gone AS (DELETE FROM task_su.outbox_events RETURNING *)
    SELECT concat_ws(' ', topic, type, pg_temp.n(subject::uuid), details ->> 'cause', details ->> 'trigger', details ->> 'reason', details ->> 'failure_class', 'epoch ' || (details ->> 'lease_epoch')) FROM gone WHERE type <> 'acquired' AND subject ~ '^[0-9a-f]{8}-' ORDER BY position
$$;
-- Ids that differ from run to run are left out.
CREATE FUNCTION pg_temp.refused(statement text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(replace(test.refused(statement), '00000000-0000-4000-8000-0000000000', ''), '"[0-9a-f]{8}-[0-9a-f-]{27}"', '"<id>"', 'g') $$;
-- Waitpoints by task and key, with the tokens that the calls returned.
CREATE TEMP TABLE known (n int, key text, id uuid, token text);
-- Makes a task, claims it and suspends it; the answer, and its waitpoints to the table.
CREATE FUNCTION pg_temp.suspend(n int, suspension jsonb, now bigint DEFAULT 1000) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    r record;
BEGIN
    SELECT * INTO r FROM task_su.suspend_task(pg_temp.id(n), (SELECT lease_epoch FROM task_su.tasks WHERE id = pg_temp.id(n)), suspension, now);
    INSERT INTO known SELECT $1, w.key, w.waitpoint_id, w.token FROM jsonb_to_recordset(r.waitpoints) AS w(key text, waitpoint_id uuid, token text)
        WHERE NOT EXISTS (SELECT FROM known AS k WHERE k.id = w.waitpoint_id);
    RETURN concat_ws(' ', r.result, (SELECT string_agg(e ->> 'key' || coalesce(' ' || (e ->> 'signals'), ''), ', ') FROM jsonb_array_elements(r.waitpoints) AS e));
END $$;
CREATE FUNCTION pg_temp.make(n int, policy jsonb DEFAULT NULL) RETURNS void LANGUAGE sql AS $$
    SELECT FROM task_su.create_task('l', NULL, pg_temp.id(n), p_policy => policy, p_now_ms => 1000); SELECT FROM task_su.claim_tasks('w', 'w-1', p_now_ms => 1000) $$;
CREATE FUNCTION pg_temp.signal(n int, key text, signal jsonb, now bigint DEFAULT 1100) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', result, effect, state) FROM task_su.deliver_signal(pg_temp.id(n), (SELECT id FROM known AS k WHERE k.n = $1 AND k.key = $2 ORDER BY id DESC LIMIT 1), (SELECT token FROM known AS k WHERE k.n = $1 AND k.key = $2 ORDER BY id DESC LIMIT 1), signal, now) $$;

-- ---- suspend and signal ----
-- SU-1: a suspended task has no lease; its attempt is paused. One token per waitpoint.
SELECT pg_temp.make(1);
SELECT pg_temp.suspend(1, '{"waitpoints": [{"key": "approval"}], "condition": {"single": {"key": "approval", "names": ["approved"]}}, "reason_code": "waiting_for_approval", "timeout_at_ms": 5000, "on_timeout": "cancel", "idempotency_key": "s1"}');
SELECT state, lease_epoch, lease_owner, lease_until_ms, available_at_ms, pending_attempt, attempt_index, attempt_leases FROM tasks;
SELECT * FROM pg_temp.told();
SELECT lifecycle_phase, ownership_state, eligibility_state, public_state, attempt_state, blocking_reason FROM task_states;
SELECT jsonb_set(jsonb_set(get_task(pg_temp.id(1)) -> 'suspension', '{suspension_id}', '"<id>"'), '{waitpoints,0,waitpoint_id}', '"<id>"');
SELECT reason, detail ->> 'condition' AS condition, detail ->> 'timeout_at_ms' AS timeout FROM explain_claim(pg_temp.id(1));
SELECT count(*) FROM claim_tasks('w', 'w-1', p_now_ms => 1100);
SELECT split_part(token, ':', 1) AS kid, length(split_part(token, ':', 2)) AS digits FROM known;
-- SU-2: the key returns the stored answer before the fence is looked at; another key meets the fence.
SELECT md5(test.content('task_su')) AS before \gset
SELECT result, waitpoints -> 0 ->> 'token' = (SELECT token FROM known) AS same_token FROM suspend_task(pg_temp.id(1), 77, '{"waitpoints": [{"key": "other"}], "condition": "operator_only", "idempotency_key": "s1"}', 1200);
SELECT pg_temp.refused($$SELECT task_su.suspend_task(pg_temp.id(1), 1, '{"waitpoints": [{"key": "a"}], "condition": "operator_only"}', 1200)$$);
SELECT md5(test.content('task_su')) = :'before' AS untouched;
-- SU-3: a signal of another name is kept and changes nothing; the right one ends the wait. The claim returns both, in the order of acceptance.
SELECT pg_temp.signal(1, 'approval', '{"name": "seen", "payload": {"by": "ann"}, "source": "web", "signal_id": "s-1"}');
SELECT * FROM pg_temp.told();
SELECT pg_temp.signal(1, 'approval', '{"name": "approved", "payload": 7, "idempotency_key": "i-1", "signal_id": "s-2"}', 1150);
SELECT * FROM pg_temp.told();
SELECT state, lease_epoch, available_at_ms, pending_attempt FROM tasks;
SELECT eligibility_state, public_state, attempt_state, blocking_reason FROM task_states;
SELECT get_task(pg_temp.id(1)) -> 'suspension' AS suspension;
SELECT attempt_index, attempt_kind, lease_epoch, jsonb_path_query_array(signals, '$[*].name') AS names, signals #- '{0,waitpoint_id}' #- '{1,waitpoint_id}' AS signals FROM claim_tasks('w', 'w-2', p_lease_ms => 100, p_now_ms => 1200);
-- The worker dies: the next worker of the attempt gets them again.
SELECT rows FROM reconcile('{lease_expiry}', p_now_ms => 1400);
SELECT attempt_kind, jsonb_path_query_array(signals, '$[*].name') AS names FROM claim_tasks('w', 'w-3', p_now_ms => 1400);
-- SU-4: a duplicate, by id or by key, writes nothing, even at a waitpoint that is closed; anything else there is QB010.
SELECT md5(test.content('task_su')) AS before \gset
SELECT pg_temp.signal(1, 'approval', '{"name": "x", "signal_id": "s-1"}', 1400), pg_temp.signal(1, 'approval', '{"name": "x", "idempotency_key": "i-1"}', 1400);
SELECT pg_temp.refused($$SELECT pg_temp.signal(1, 'approval', '{"name": "x"}', 1400)$$);
SELECT md5(test.content('task_su')) = :'before' AS untouched;
-- A new attempt begins without signals.
SELECT result FROM fail_task(pg_temp.id(1), (SELECT lease_epoch FROM tasks), 'transient', p_retry_after_ms => 0, p_now_ms => 1500);
SELECT attempt_kind, signals FROM claim_tasks('w', 'w-3', p_now_ms => 1500);
-- SU-5: after the end a waitpoint that the end has closed says QB012, with the task's state.
SELECT pg_temp.suspend(1, '{"waitpoints": [{"key": "later"}], "condition": "operator_only"}', 1500);
SELECT result FROM cancel_task(pg_temp.id(1), 'enough', p_now_ms => 1600);
SELECT pg_temp.refused($$SELECT pg_temp.signal(1, 'later', '{"name": "x"}', 1700)$$);
SELECT pg_temp.refused($$SELECT pg_temp.signal(1, 'approval', '{"name": "x"}', 1700)$$);
SELECT closed_by FROM suspensions ORDER BY nr;
SELECT count(*) FILTER (WHERE closed_at_ms IS NULL) AS open FROM waitpoints;
SELECT * FROM pg_temp.told();
-- SU-6: a replay begins anew: suspensions, waitpoints, signals and keys of the life before are gone, and so are the tokens.
SELECT result FROM replay_task(pg_temp.id(1), p_now_ms => 1700);
SELECT (SELECT count(*) FROM suspensions) AS suspensions, (SELECT count(*) FROM waitpoints) AS waitpoints, (SELECT count(*) FROM signals) AS signals;
SELECT pg_temp.refused($$SELECT pg_temp.signal(1, 'later', '{"name": "x"}', 1700)$$);
SELECT * FROM check_tasks();
SELECT result FROM cancel_task(pg_temp.id(1)), delete_task(pg_temp.id(1));
DELETE FROM known; DELETE FROM outbox_events;

-- ---- buffered signals ----
-- SU-7: a signal that comes before the suspension waits at a pending waitpoint. If it meets the condition, the task never sleeps and keeps its lease.
SELECT pg_temp.make(2);
INSERT INTO known SELECT 2, 'early', waitpoint_id, token FROM create_waitpoint(pg_temp.id(2), 1, 'early', 500, 1000);
INSERT INTO known SELECT 2, 'unused', waitpoint_id, token FROM create_waitpoint(pg_temp.id(2), 1, 'unused', NULL, 1000);
SELECT pg_temp.signal(2, 'early', '{"name": "done", "payload": [1]}');
SELECT key, state, signals FROM list_waitpoints(pg_temp.id(2)) ORDER BY key;
SELECT regexp_replace(pg_temp.suspend(2, jsonb_build_object('waitpoints', jsonb_build_array(jsonb_build_object('key', 'early', 'waitpoint_id', (SELECT id FROM known WHERE key = 'early')), jsonb_build_object('key', 'other')),
    'condition', '{"single": {"key": "early"}}'::jsonb, 'idempotency_key', 'k'), 1200), '"(signal|waitpoint)_id": "[^"]*"', '"\1_id": <id>', 'g');
SELECT state, lease_epoch, lease_owner FROM tasks;
SELECT * FROM pg_temp.told();
SELECT result FROM suspend_task(pg_temp.id(2), 1, '{"waitpoints": [{"key": "other"}], "condition": "operator_only", "idempotency_key": "k"}', 1200);
SELECT key, state, suspension_id IS NOT NULL AS used FROM list_waitpoints(pg_temp.id(2)) ORDER BY key;
-- It is used up: another suspension cannot name it, nor one that has expired, is unknown or has another key.
SELECT pg_temp.refused(format($$SELECT task_su.suspend_task(pg_temp.id(2), 1, '{"waitpoints": [{"key": "early", "waitpoint_id": "%s"}], "condition": "operator_only"}', 1200)$$, (SELECT id FROM known WHERE key = 'early')));
INSERT INTO known SELECT 2, 'brief', waitpoint_id, token FROM create_waitpoint(pg_temp.id(2), 1, 'brief', 100, 1000);
SELECT pg_temp.refused(format($$SELECT task_su.suspend_task(pg_temp.id(2), 1, '{"waitpoints": [{"key": "brief", "waitpoint_id": "%s"}], "condition": "operator_only"}', 1100)$$, (SELECT id FROM known WHERE key = 'brief')));
SELECT pg_temp.refused($$SELECT pg_temp.signal(2, 'brief', '{"name": "x"}', 1100)$$);
SELECT pg_temp.signal(2, 'brief', '{"name": "x"}', 1099);
SELECT pg_temp.refused(format($$SELECT task_su.suspend_task(pg_temp.id(2), 1, '{"waitpoints": [{"key": "mine", "waitpoint_id": "%s"}], "condition": "operator_only"}', 1100)$$, (SELECT id FROM known WHERE key = 'unused')));
SELECT pg_temp.refused($$SELECT task_su.suspend_task(pg_temp.id(2), 1, '{"waitpoints": [{"key": "mine", "waitpoint_id": "00000000-0000-4000-8000-000000000099"}], "condition": "operator_only"}', 1100)$$);
-- Buffered, but not enough: it counts together with what comes later.
SELECT pg_temp.signal(2, 'unused', '{"name": "one", "source": "a"}');
SELECT pg_temp.suspend(2, jsonb_build_object('waitpoints', jsonb_build_array(jsonb_build_object('key', 'unused', 'waitpoint_id', (SELECT id FROM known WHERE key = 'unused')), jsonb_build_object('key', 'b')),
    'condition', '{"count": {"n": 2, "of": "sources"}}'::jsonb, 'resume_delay_ms', 50), 1200);
SELECT pg_temp.signal(2, 'b', '{"name": "two", "source": "a"}'), pg_temp.signal(2, 'b', '{"name": "three"}'), pg_temp.signal(2, 'b', '{"name": "four", "source": "b"}', 1200);
-- resume_delay_ms: it is delayed first.
SELECT state, available_at_ms, pending_attempt FROM tasks;
SELECT jsonb_path_query_array(signals, '$[*].name') AS names FROM claim_tasks('w', 'w', p_now_ms => 1250);
-- A pending waitpoint of a task that has ended: QB012.
INSERT INTO known SELECT 2, 'last', waitpoint_id, token FROM create_waitpoint(pg_temp.id(2), (SELECT lease_epoch FROM tasks), 'last', NULL, 1300);
SELECT result FROM complete_task(pg_temp.id(2), (SELECT lease_epoch FROM tasks), p_now_ms => 1300);
SELECT pg_temp.refused($$SELECT pg_temp.signal(2, 'last', '{"name": "x"}', 1300)$$);
SELECT key, state FROM list_waitpoints(pg_temp.id(2)) WHERE key = 'last';
SELECT * FROM check_tasks();
SELECT delete_task(pg_temp.id(2)); DELETE FROM known; DELETE FROM outbox_events;

-- ---- conditions ----
-- SU-8: what is no condition, no waitpoint list or no word is QB006, and nothing is written.
SELECT pg_temp.make(3);
SELECT md5(test.content('task_su')) AS before \gset
SELECT s.suspension, pg_temp.refused(format('SELECT task_su.suspend_task(pg_temp.id(3), 1, %L, 1000)', s.suspension)) AS refused
  FROM (VALUES (NULL), ('[]'), ('{"condition": "operator_only"}'), ('{"waitpoints": [], "condition": "operator_only"}'), ('{"waitpoints": {}, "condition": "operator_only"}'), ('{"waitpoints": ["a"], "condition": "operator_only"}'),
    ('{"waitpoints": [{"key": ""}], "condition": "operator_only"}'), ('{"waitpoints": [{"key": "a"}, {"key": "a"}], "condition": "operator_only"}'), ('{"waitpoints": [{"key": "a", "x": 1}], "condition": "operator_only"}'),
    ('{"waitpoints": [{"key": "a", "waitpoint_id": "x"}], "condition": "operator_only"}'), ('{"waitpoints": [{"key": "a"}]}'), ('{"waitpoints": [{"key": "a"}], "condition": {"single": {"key": "b"}}}'),
    ('{"waitpoints": [{"key": "a"}], "condition": {"all": []}}'), ('{"waitpoints": [{"key": "a"}], "condition": {"count": {"n": 2, "of": "waitpoints"}}}'), ('{"waitpoints": [{"key": "a"}], "condition": "timeout_only"}'),
    ('{"waitpoints": [{"key": "a"}], "condition": "operator_only", "timeout_at_ms": 1000}'), ('{"waitpoints": [{"key": "a"}], "condition": "operator_only", "on_timeout": "shrug"}'), ('{"waitpoints": [{"key": "a"}], "condition": "operator_only", "reason_code": "tired"}'),
    ('{"waitpoints": [{"key": "a"}], "condition": "operator_only", "resume_delay_ms": -1}'), ('{"waitpoints": [{"key": "a"}], "condition": "operator_only", "idempotency_key": ""}'), ('{"waitpoints": [{"key": "a"}], "condition": "operator_only", "extra": 1}')) AS s(suspension);
SELECT s.signal, pg_temp.refused(format('SELECT task_su.deliver_signal(pg_temp.id(3), pg_temp.id(3), ''k1:x'', %L, 1000)', s.signal)) AS refused FROM (VALUES (NULL), ('{}'), ('{"name": 1}'), ('{"name": ""}'), ('{"name": "a", "b": 1}'), ('{"name": "a", "source": ""}')) AS s(signal);
SELECT pg_temp.refused($$SELECT task_su.suspend_task(pg_temp.id(3), NULL, '{"waitpoints": [{"key": "a"}], "condition": "operator_only"}', 1000)$$);
SELECT pg_temp.refused($$SELECT task_su.suspend_task(pg_temp.id(99), 1, '{"waitpoints": [{"key": "a"}], "condition": "operator_only"}', 1000)$$);
SELECT pg_temp.refused($$SELECT task_su.suspend_task(pg_temp.id(3), 9, '{"waitpoints": [{"key": "a"}], "condition": "operator_only"}', 1000)$$);
SELECT pg_temp.refused($$SELECT task_su.suspend_task(pg_temp.id(3), 1, '{"waitpoints": [{"key": "a"}], "condition": "operator_only"}', 31000)$$);
SELECT pg_temp.refused($$SELECT task_su.create_waitpoint(pg_temp.id(3), 9, 'a', NULL, 1000)$$), pg_temp.refused($$SELECT task_su.create_waitpoint(pg_temp.id(3), 1, 'a', 0, 1000)$$), pg_temp.refused($$SELECT task_su.create_waitpoint(pg_temp.id(3), 1, NULL, 1, 1000)$$);
SELECT md5(test.content('task_su')) = :'before' AS untouched;
-- SU-9: no signal meets operator_only; resume_task ends every wait, with a delay if asked to. A task that is not suspended: QB010.
SELECT pg_temp.suspend(3, '{"waitpoints": [{"key": "a"}], "condition": "operator_only"}');
SELECT pg_temp.signal(3, 'a', '{"name": "x"}');
SELECT * FROM resume_task(pg_temp.id(3), 'console', 100, 1200);
SELECT eligibility_state, public_state, blocking_reason FROM task_states;
SELECT * FROM pg_temp.told();
SELECT pg_temp.refused($$SELECT task_su.resume_task(pg_temp.id(3), p_now_ms => 1200)$$), pg_temp.refused($$SELECT task_su.resume_task(pg_temp.id(99))$$), pg_temp.refused($$SELECT task_su.resume_task(pg_temp.id(3), p_delay_ms => -1)$$);
-- A condition of several parts.
SELECT lease_epoch FROM claim_tasks('w', 'w', p_now_ms => 1300);
SELECT pg_temp.suspend(3, '{"waitpoints": [{"key": "a"}, {"key": "b"}, {"key": "c"}], "condition": {"all": [{"single": {"key": "a", "names": ["yes"]}}, {"count": {"n": 1, "of": "waitpoints", "keys": ["b", "c"]}}]}}', 1300);
SELECT pg_temp.signal(3, 'c', '{"name": "x"}', 1300), pg_temp.signal(3, 'a', '{"name": "no"}', 1300), pg_temp.signal(3, 'a', '{"name": "yes"}', 1300);
-- SU-10: approve_task needs no token; the signal's source is operator.
SELECT lease_epoch FROM claim_tasks('w', 'w', p_now_ms => 1300);
SELECT pg_temp.suspend(3, '{"waitpoints": [{"key": "ok"}], "condition": {"count": {"n": 2, "of": "signals"}}}', 1300);
SELECT result, effect, state FROM approve_task(pg_temp.id(3), (SELECT id FROM known WHERE key = 'ok'), 'approved', 'once', 1400) UNION ALL SELECT * FROM approve_task(pg_temp.id(3), (SELECT id FROM known WHERE key = 'ok'), 'approved', 'once', 1400);
SELECT result, effect, state FROM approve_task(pg_temp.id(3), (SELECT id FROM known WHERE key = 'ok'), 'approved', NULL, 1400);
SELECT jsonb_path_query_array(signals, '$[*].source') AS sources FROM claim_tasks('w', 'w', p_now_ms => 1500);
SELECT pg_temp.refused($$SELECT task_su.approve_task(pg_temp.id(3), pg_temp.id(77), 'approved', NULL)$$), pg_temp.refused($$SELECT task_su.approve_task(pg_temp.id(3), pg_temp.id(77), '', NULL)$$);
SELECT result FROM complete_task(pg_temp.id(3), (SELECT lease_epoch FROM tasks), p_now_ms => 1500), delete_task(pg_temp.id(3));
DELETE FROM known; DELETE FROM outbox_events;
-- SU-11: max_signals of the policy.
SELECT pg_temp.make(4, '{"max_signals": 2}');
SELECT pg_temp.suspend(4, '{"waitpoints": [{"key": "a"}], "condition": "operator_only"}');
SELECT pg_temp.signal(4, 'a', '{"name": "1", "signal_id": "s"}'), pg_temp.signal(4, 'a', '{"name": "2"}'), pg_temp.signal(4, 'a', '{"name": "again", "signal_id": "s"}');
SELECT pg_temp.refused($$SELECT pg_temp.signal(4, 'a', '{"name": "3"}')$$);
SELECT result FROM cancel_task(pg_temp.id(4)), delete_task(pg_temp.id(4)); DELETE FROM known; DELETE FROM outbox_events;

-- ---- timeouts ----
-- SU-12: fail, cancel and expire end the task and its attempt; auto_resume lets it go on with a signal timeout; escalate leaves it to operators. Not before the time; running the duty twice changes nothing.
SELECT pg_temp.make(n) FROM generate_series(11, 15) AS n;
SELECT pg_temp.suspend(10 + nr::int, format('{"waitpoints": [{"key": "a"}], "condition": {"single": {"key": "a"}}, "timeout_at_ms": 2000, "on_timeout": "%s"}', word)::jsonb) FROM unnest('{fail,cancel,expire,auto_resume,escalate}'::text[]) WITH ORDINALITY AS w(word, nr);
DELETE FROM outbox_events;
SELECT rows FROM reconcile('{deadlines}', p_now_ms => 1999);
SELECT rows FROM reconcile('{deadlines}', p_now_ms => 2000);
SELECT rows FROM reconcile('{deadlines}', p_now_ms => 2000);
SELECT pg_temp.n(id) AS n, state, lease_epoch, pending_attempt, available_at_ms, failure_class, failure_message, cancel_reason, cancelled_by, terminal_at_ms FROM tasks ORDER BY id;
SELECT pg_temp.n(task_id) AS n, outcome, lease_epoch, error ->> 'class' AS error FROM task_attempts ORDER BY 1;
SELECT * FROM pg_temp.told();
SELECT pg_temp.n(task_id) AS n, closed_by, timeout_at_ms, condition FROM suspensions ORDER BY 1;
SELECT pg_temp.n(task_id) AS n, attempt_kind, jsonb_path_query_array(signals, '$[*].name') AS names, signals -> 0 ->> 'waitpoint_id' AS waitpoint FROM claim_tasks('w', 'w', p_now_ms => 2000);
SELECT pg_temp.signal(15, 'a', '{"name": "x"}', 3000);
SELECT state FROM resume_task(pg_temp.id(15), p_now_ms => 3000);
SELECT * FROM check_tasks();
DELETE FROM tasks; DELETE FROM attempts; DELETE FROM suspensions; DELETE FROM waitpoints; DELETE FROM signals; DELETE FROM known; DELETE FROM outbox_events;
-- SU-13: a suspension whose timeout has passed is over before the duty comes: signals and resume_task are QB010; of one that escalates they escalate it first.
SELECT pg_temp.make(n) FROM generate_series(21, 22) AS n;
SELECT pg_temp.suspend(21, '{"waitpoints": [{"key": "a"}], "condition": {"single": {"key": "a"}}, "timeout_at_ms": 2000}'), pg_temp.suspend(22, '{"waitpoints": [{"key": "a"}], "condition": {"single": {"key": "a"}}, "timeout_at_ms": 2000, "on_timeout": "escalate"}');
DELETE FROM outbox_events;
SELECT pg_temp.refused($$SELECT pg_temp.signal(21, 'a', '{"name": "x"}', 2000)$$);
SELECT pg_temp.refused($$SELECT task_su.resume_task(pg_temp.id(21), p_now_ms => 2000)$$);
SELECT pg_temp.signal(22, 'a', '{"name": "x"}', 2000);
SELECT * FROM pg_temp.told();
-- SU-14: the execution deadline comes before the timeout.
DELETE FROM tasks; DELETE FROM attempts; DELETE FROM suspensions; DELETE FROM waitpoints; DELETE FROM signals; DELETE FROM known;
SELECT state FROM create_task('l', NULL, pg_temp.id(23), p_deadline_ms => 3000, p_now_ms => 1000);
SELECT lease_epoch FROM claim_tasks('w', 'w', p_now_ms => 1000);
SELECT pg_temp.suspend(23, '{"waitpoints": [{"key": "a"}], "condition": {"single": {"key": "a"}}, "timeout_at_ms": 2500, "on_timeout": "auto_resume"}');
SELECT rows FROM reconcile('{deadlines}', p_now_ms => 3000);
SELECT state FROM tasks; SELECT outcome FROM task_attempts; SELECT closed_by FROM suspensions;
SELECT * FROM check_tasks();
-- SU-15: retention deletes suspensions, waitpoints and signals with their task.
SELECT belay.set_hub_option('task_su', 'task_retention', '1000');
SELECT rows FROM reconcile('{retention}', p_now_ms => 5000);
SELECT (SELECT count(*) FROM tasks) + (SELECT count(*) FROM suspensions) + (SELECT count(*) FROM waitpoints) + (SELECT count(*) FROM signals) AS left_over;
DELETE FROM known; DELETE FROM outbox_events;

-- ---- tokens and keys ----
-- SU-16: the token is the HMAC of the ids, under the key that it names.
CREATE FUNCTION pg_temp.hmac(secret bytea, message bytea) RETURNS bytea LANGUAGE sql AS $$
    WITH k AS (SELECT secret || decode(repeat('00', 64 - length(secret)), 'hex') AS k),
         pads AS (SELECT (SELECT string_agg(set_byte('\x00', 0, get_byte(k, i) # 54), NULL ORDER BY i) FROM generate_series(0, 63) AS i) AS inner_pad, (SELECT string_agg(set_byte('\x00', 0, get_byte(k, i) # 92), NULL ORDER BY i) FROM generate_series(0, 63) AS i) AS outer_pad FROM k)
    SELECT sha256(outer_pad || sha256(inner_pad || message)) FROM pads $$;
SELECT seed_waitpoint_key('mine', '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f');
SELECT seed_waitpoint_key('mine', '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f');
SELECT pg_temp.make(31);
SELECT pg_temp.suspend(31, '{"waitpoints": [{"key": "a"}], "condition": "operator_only"}');
SELECT token = 'mine:' || encode(pg_temp.hmac('\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f', convert_to('mine:' || pg_temp.id(31) || ':' || id, 'UTF8')), 'hex') AS is_hmac FROM known;
SELECT l.key, l.state, l.kid, l.token_hash = left(encode(sha256(convert_to(k.token, 'UTF8')), 'hex'), 16) AS fits, length(l.token_hash) FROM list_waitpoints(pg_temp.id(31)) AS l JOIN known AS k ON k.id = l.waitpoint_id;
-- SU-17: for every mistake in token, task or waitpoint, the error is one and the same.
SELECT pg_temp.make(32);
SELECT pg_temp.suspend(32, '{"waitpoints": [{"key": "a"}], "condition": "operator_only"}');
CREATE TEMP TABLE tries AS SELECT k.n, k.id, k.token, o.id AS other_id, o.token AS other_token FROM known AS k, known AS o WHERE k.n = 31 AND o.n = 32;
SELECT count(DISTINCT e), min(e) FROM tries AS t, LATERAL (VALUES (31, t.id, t.other_token), (32, t.id, t.token), (31, t.other_id, t.token), (31, t.other_id, t.other_token), (99, t.id, t.token), (31, pg_temp.id(5), t.token), (31, t.id, NULL), (31, t.id, ''), (31, t.id, 'mine'), (31, t.id, 'mine:'), (31, t.id, ':'),
    (31, t.id, left(t.token, -1)), (31, t.id, t.token || '0'), (31, t.id, upper(t.token)), (31, t.id, 'k1:' || split_part(t.token, ':', 2)), (31, t.id, 'nokey:' || split_part(t.token, ':', 2))) AS v(n, waitpoint, token),
    LATERAL (SELECT test.error(format('SELECT task_su.deliver_signal(%L, %L, %L, ''{"name": "x"}'', 1100)', pg_temp.id(v.n), v.waitpoint, v.token)) AS e) AS x;
-- SU-18: a rotation: new tokens by the new key, old ones until the grace ends; then retention deletes the key.
SELECT rotate_waitpoint_key('next', decode(repeat('ab', 32), 'hex'), 100000);
SELECT rotate_waitpoint_key('next', decode(repeat('ab', 32), 'hex'), 0);
SELECT kid, signs, valid_until_ms IS NULL AS for_ever FROM waitpoint_keys ORDER BY kid;
SELECT pg_temp.signal(31, 'a', '{"name": "x"}');
SELECT pg_temp.make(33);
SELECT pg_temp.suspend(33, '{"waitpoints": [{"key": "a"}], "condition": "operator_only"}');
SELECT split_part(token, ':', 1) AS kid FROM known WHERE n = 33;
UPDATE waitpoint_keys SET valid_until_ms = 1200 WHERE kid = 'mine';
SELECT pg_temp.signal(31, 'a', '{"name": "x"}', 1199), pg_temp.refused($$SELECT pg_temp.signal(31, 'a', '{"name": "x"}', 1200)$$);
SELECT rows FROM reconcile('{retention}', p_now_ms => 1200);
SELECT kid FROM waitpoint_keys WHERE kid <> 'k1';
SELECT key, kid, token_hash FROM list_waitpoints(pg_temp.id(31));
SELECT pg_temp.refused($$SELECT task_su.seed_waitpoint_key('next', decode(repeat('cd', 32), 'hex'))$$), pg_temp.refused($$SELECT task_su.rotate_waitpoint_key('next', decode(repeat('cd', 32), 'hex'), 5)$$);
SELECT pg_temp.refused(s) FROM unnest(ARRAY[$$SELECT task_su.seed_waitpoint_key('a:b', decode(repeat('cd', 32), 'hex'))$$, $$SELECT task_su.seed_waitpoint_key('', decode(repeat('cd', 32), 'hex'))$$, $$SELECT task_su.seed_waitpoint_key(NULL, decode(repeat('cd', 32), 'hex'))$$,
    $$SELECT task_su.seed_waitpoint_key('short', decode(repeat('cd', 31), 'hex'))$$, $$SELECT task_su.seed_waitpoint_key('none', NULL)$$, $$SELECT task_su.rotate_waitpoint_key('n', decode(repeat('cd', 32), 'hex'), -1)$$, $$SELECT task_su.rotate_waitpoint_key('n', decode(repeat('cd', 32), 'hex'), NULL)$$]) AS s;
-- Each hub has a key of its own.
SELECT belay.create_hub('task_su2');
SELECT (SELECT secret FROM task_su.waitpoint_keys WHERE kid = 'k1') = (SELECT secret FROM task_su2.waitpoint_keys) AS same, (SELECT length(secret) FROM task_su2.waitpoint_keys) AS bytes;
SELECT belay.drop_hub('task_su2');
-- SU-19: levels. Keys are the owner's; no other role sees secrets.
CREATE ROLE regress_su_client; CREATE ROLE regress_su_worker; CREATE ROLE regress_su_operator; CREATE ROLE regress_su_monitor;
SELECT belay.grant_hub('task_su', 'regress_su_' || l, l) FROM unnest('{client,worker,operator,monitor}'::text[]) AS l;
SELECT f, string_agg(l, ' ') FILTER (WHERE has_function_privilege('regress_su_' || l, p.oid, 'EXECUTE')) AS may FROM unnest('{approve_task,create_waitpoint,deliver_signal,list_waitpoints,resume_task,rotate_waitpoint_key,seed_waitpoint_key,suspend_task}'::text[]) AS f JOIN pg_proc AS p ON p.proname = f AND p.pronamespace = 'task_su'::regnamespace, unnest('{client,worker,operator,monitor}'::text[]) AS l GROUP BY f ORDER BY f;
SELECT l, has_table_privilege('regress_su_' || l, 'task_su.waitpoint_keys', 'SELECT') AS reads_keys, has_table_privilege('regress_su_' || l, 'task_su.signals', 'SELECT') AS reads_signals FROM unnest('{client,worker,operator,monitor}'::text[]) AS l;
-- The views of this hub first: others may be dropped while their text is asked for.
WITH v AS MATERIALIZED (SELECT oid FROM pg_class WHERE relnamespace = 'task_su'::regnamespace AND relkind = 'v')
SELECT count(*) FILTER (WHERE pg_get_viewdef(oid) ~ 'waitpoint_keys') AS showing, count(*) > 0 AS any FROM v;
CALL test.drop_role('regress_su_client'); CALL test.drop_role('regress_su_worker'); CALL test.drop_role('regress_su_operator'); CALL test.drop_role('regress_su_monitor');
-- check_tasks finds a suspension that does not fit its task.
UPDATE suspensions SET closed_at_ms = 1, closed_by = 'end' WHERE task_id = pg_temp.id(33);
SELECT replace(object, '00000000-0000-4000-8000-0000000000', '') AS object, problem FROM check_tasks();
DELETE FROM tasks WHERE id = pg_temp.id(31);
SELECT replace(object, '00000000-0000-4000-8000-0000000000', '') AS object, problem FROM check_tasks() ORDER BY 1, 2;
RESET search_path;
SELECT belay.drop_hub('task_su', true);
