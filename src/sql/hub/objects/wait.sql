-- Waiting for work.

CREATE OR REPLACE PROCEDURE @hub@.wait_for_work(
    p_queues text[],
    p_timeout_ms integer,
    INOUT p_queue text DEFAULT NULL,
    INOUT p_reason text DEFAULT NULL
) LANGUAGE belay AS 'wait_for_work';
COMMENT ON PROCEDURE @hub@.wait_for_work(text[], integer, text, text) IS
    'Returns as soon as work may be there on one of the queues (orchestrator, worker, outbox, lane:<name>, task:<id>, instance:<id>, owner:<id>), else after the timeout. Holds nothing while it waits.';
