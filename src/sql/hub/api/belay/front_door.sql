-- The front door: send and receive tasks, start and steer orchestrations. The functions beside these do the same in more detail.

CREATE OR REPLACE FUNCTION @hub@.send(
    queue text,
    payload jsonb DEFAULT 'null',
    kind text DEFAULT NULL,
    key text DEFAULT NULL,
    delay interval DEFAULT NULL,
    at timestamptz DEFAULT NULL,
    priority integer DEFAULT 0,
    policy jsonb DEFAULT NULL,
    headers jsonb DEFAULT NULL
) RETURNS uuid LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'send';
COMMENT ON FUNCTION @hub@.send(text, jsonb, text, text, interval, timestamptz, integer, jsonb, jsonb) IS
    'Sends a task to a queue and returns its id. Workers can receive it after the transaction has committed.';

CREATE OR REPLACE FUNCTION @hub@.send_many(
    queue text,
    payloads jsonb[],
    kind text DEFAULT NULL,
    keys text[] DEFAULT NULL,
    delay interval DEFAULT NULL,
    at timestamptz DEFAULT NULL,
    priority integer DEFAULT 0,
    policy jsonb DEFAULT NULL,
    headers jsonb DEFAULT NULL
) RETURNS SETOF uuid LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 100 AS 'send_many';
COMMENT ON FUNCTION @hub@.send_many(text, jsonb[], text, text[], interval, timestamptz, integer, jsonb, jsonb) IS
    'Sends up to 10,000 tasks to a queue, all or none, and returns their ids in the order of the payloads.';

CREATE OR REPLACE FUNCTION @hub@.receive(
    queues text[],
    max integer DEFAULT 1,
    lease interval DEFAULT '30 s',
    worker text DEFAULT NULL,
    capabilities text[] DEFAULT '{}'
) RETURNS SETOF @hub@.received LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 10 AS 'receive';
COMMENT ON FUNCTION @hub@.receive(text[], integer, interval, text, text[]) IS
    'Leases the next tasks of a queue, or of several, by priority, then by time. No row: no task is ready.';

CREATE OR REPLACE FUNCTION @hub@.receive(
    queues text,
    max integer DEFAULT 1,
    lease interval DEFAULT '30 s',
    worker text DEFAULT NULL,
    capabilities text[] DEFAULT '{}'
) RETURNS SETOF @hub@.received LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 10 AS 'receive_one_queue';
COMMENT ON FUNCTION @hub@.receive(text, integer, interval, text, text[]) IS
    'Leases the next tasks of a queue, or of several, by priority, then by time. No row: no task is ready.';

CREATE OR REPLACE FUNCTION @hub@.extend(lease text, by interval DEFAULT '30 s')
    RETURNS timestamptz LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'extend';
COMMENT ON FUNCTION @hub@.extend(text, interval) IS
    'Heartbeat: moves the end of a lease to now + by and returns it. The end never moves backwards, and never exceeds a deadline of the task.';

CREATE OR REPLACE FUNCTION @hub@.complete(lease text, result jsonb DEFAULT NULL)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'complete';
COMMENT ON FUNCTION @hub@.complete(text, jsonb) IS
    'Completes a task and stores its result. A repeated call with the same lease raises QB001 already_completed.';

CREATE OR REPLACE FUNCTION @hub@.fail(lease text, error text, retry_in interval DEFAULT NULL, class text DEFAULT 'transient')
    RETURNS timestamptz LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'fail';
COMMENT ON FUNCTION @hub@.fail(text, text, interval, text) IS
    'Ends an attempt with a failure and returns when the next attempt can begin. NULL: there is none, the task has failed permanently.';

CREATE OR REPLACE FUNCTION @hub@.release(lease text, delay interval DEFAULT NULL)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'release';
COMMENT ON FUNCTION @hub@.release(text, interval) IS
    'Ends a lease without an outcome, as in a graceful shutdown. It does not count as an attempt.';

CREATE OR REPLACE FUNCTION @hub@.progress(lease text, percent numeric DEFAULT NULL, message text DEFAULT NULL, checkpoint jsonb DEFAULT NULL)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'progress';
COMMENT ON FUNCTION @hub@.progress(text, numeric, text, jsonb) IS
    'Stores percent, message and checkpoint of a leased task; arguments that are NULL change nothing. The next attempt receives the checkpoint.';

CREATE OR REPLACE FUNCTION @hub@.complete_and_receive(
    lease text,
    result jsonb,
    queues text[],
    max integer DEFAULT 1,
    lease_for interval DEFAULT '30 s',
    worker text DEFAULT NULL,
    capabilities text[] DEFAULT '{}'
) RETURNS SETOF @hub@.received LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 10 AS 'complete_and_receive';
COMMENT ON FUNCTION @hub@.complete_and_receive(text, jsonb, text[], integer, interval, text, text[]) IS
    'Calls complete and receive in one transaction. If the completion is rejected, no task is received.';

CREATE OR REPLACE FUNCTION @hub@.complete_and_receive(
    lease text,
    result jsonb,
    queues text,
    max integer DEFAULT 1,
    lease_for interval DEFAULT '30 s',
    worker text DEFAULT NULL,
    capabilities text[] DEFAULT '{}'
) RETURNS SETOF @hub@.received LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 10 AS 'complete_and_receive_one_queue';
COMMENT ON FUNCTION @hub@.complete_and_receive(text, jsonb, text, integer, interval, text, text[]) IS
    'Calls complete and receive in one transaction. If the completion is rejected, no task is received.';

CREATE OR REPLACE FUNCTION @hub@.settle_and_receive(
    leases text[],
    outcomes text[] DEFAULT NULL,
    results jsonb[] DEFAULT NULL,
    errors text[] DEFAULT NULL,
    classes text[] DEFAULT NULL,
    delays interval[] DEFAULT NULL,
    queues text[] DEFAULT NULL,
    max integer DEFAULT 1,
    lease_for interval DEFAULT '30 s',
    worker text DEFAULT NULL,
    capabilities text[] DEFAULT '{}'
) RETURNS TABLE (
    outcome_index integer,
    error text,
    reason text,
    state text,
    next_attempt_at timestamptz,
    id uuid,
    queue text,
    kind text,
    payload jsonb,
    headers jsonb,
    attempt integer,
    lease text,
    lease_until timestamptz,
    deadline timestamptz,
    checkpoint jsonb,
    signals jsonb,
    upstream jsonb
) LANGUAGE belay VOLATILE PARALLEL UNSAFE ROWS 100 AS 'settle_and_receive';
COMMENT ON FUNCTION @hub@.settle_and_receive(text[], text[], jsonb[], text[], text[], interval[], text[], integer, interval, text, text[]) IS
    'Completes, fails or releases many tasks, then receives the next ones, in one transaction. Returns a row per lease, with error and reason if it was rejected, which does not affect the others; then a row per received task.';

CREATE OR REPLACE FUNCTION @hub@.cancel(id uuid, reason text DEFAULT NULL)
    RETURNS boolean LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'cancel';
COMMENT ON FUNCTION @hub@.cancel(uuid, text) IS
    'Cancels a task; its worker loses the lease. Returns false if the task has already ended.';

CREATE OR REPLACE FUNCTION @hub@.retry(id uuid)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'retry';
COMMENT ON FUNCTION @hub@.retry(uuid) IS
    'Runs a task again that failed permanently, expired or was cancelled. Its attempts are kept.';

CREATE OR REPLACE FUNCTION @hub@.status(id uuid)
    RETURNS @hub@.task_status LANGUAGE belay STABLE PARALLEL UNSAFE AS 'status';
COMMENT ON FUNCTION @hub@.status(uuid) IS 'Returns state, result, error, progress and times of a task; NULL if it does not exist.';

CREATE OR REPLACE PROCEDURE @hub@.await(
    queues text[],
    timeout interval DEFAULT '30 s',
    INOUT queue text DEFAULT NULL,
    INOUT reason text DEFAULT NULL
) LANGUAGE belay AS 'await';
COMMENT ON PROCEDURE @hub@.await(text[], interval, text, text) IS
    'Waits until one of the queues may have a task, at most for the timeout. Holds no transaction, snapshot or lock while it waits.';

CREATE OR REPLACE PROCEDURE @hub@.await(
    queues text,
    timeout interval DEFAULT '30 s',
    INOUT queue text DEFAULT NULL,
    INOUT reason text DEFAULT NULL
) LANGUAGE belay AS 'await_one_queue';
COMMENT ON PROCEDURE @hub@.await(text, interval, text, text) IS
    'Waits until one of the queues may have a task, at most for the timeout. Holds no transaction, snapshot or lock while it waits.';

CREATE OR REPLACE PROCEDURE @hub@.await_result(
    id uuid,
    timeout interval DEFAULT '30 s',
    INOUT state text DEFAULT NULL,
    INOUT result jsonb DEFAULT NULL
) LANGUAGE belay AS 'await_result';
COMMENT ON PROCEDURE @hub@.await_result(uuid, interval, text, jsonb) IS
    'Waits until a task or an orchestration has ended, at most for the timeout, and returns its state and result. Holds no transaction, snapshot or lock while it waits.';

CREATE OR REPLACE PROCEDURE @hub@.await_result(
    id text,
    timeout interval DEFAULT '30 s',
    INOUT state text DEFAULT NULL,
    INOUT result jsonb DEFAULT NULL
) LANGUAGE belay AS 'await_result_text';
COMMENT ON PROCEDURE @hub@.await_result(text, interval, text, jsonb) IS
    'Waits until a task or an orchestration has ended, at most for the timeout, and returns its state and result. Holds no transaction, snapshot or lock while it waits.';

CREATE OR REPLACE FUNCTION @hub@.start(orchestration text, input jsonb DEFAULT 'null', id text DEFAULT NULL, version text DEFAULT NULL)
    RETURNS text LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'start';
COMMENT ON FUNCTION @hub@.start(text, jsonb, text, text) IS
    'Starts an orchestration and returns the instance id: the given one, or a new uuid. An existing instance is not started again.';

CREATE OR REPLACE FUNCTION @hub@.raise(id text, event text, data jsonb DEFAULT 'null')
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'raise';
COMMENT ON FUNCTION @hub@.raise(text, text, jsonb) IS 'Sends an event to an orchestration instance. Events that arrive before the start are stored for it.';

CREATE OR REPLACE FUNCTION @hub@.terminate(id text, reason text DEFAULT NULL)
    RETURNS boolean LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'terminate';
COMMENT ON FUNCTION @hub@.terminate(text, text) IS
    'Requests the cancellation of an orchestration instance, which its next turn sees. Returns false if the instance has already ended.';
