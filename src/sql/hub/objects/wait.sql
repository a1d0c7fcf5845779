-- Waiting for work.

CREATE OR REPLACE PROCEDURE @hub@.wait_for_work(
    p_queues text[],
    p_timeout_ms integer,
    INOUT p_queue text DEFAULT NULL,
    INOUT p_reason text DEFAULT NULL
) LANGUAGE belay AS 'wait_for_work';
COMMENT ON PROCEDURE @hub@.wait_for_work(text[], integer, text, text) IS
    'Waits until one of the queues (orchestrator, worker, outbox, queue:<name>, task:<id>, instance:<id>, owner:<id>) may have work, at most for the timeout. Holds no transaction, snapshot or lock while it waits.';
