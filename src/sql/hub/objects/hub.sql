-- Maintenance of the hub as a whole.

CREATE OR REPLACE FUNCTION @hub@.pause_hub(p_queue text DEFAULT NULL, p_reason text DEFAULT '')
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'pause_hub';
COMMENT ON FUNCTION @hub@.pause_hub(text, text) IS
    'Pauses a queue (orchestrator, worker, tasks, intents), or all queues: no new work is leased. Leased work can finish.';

CREATE OR REPLACE FUNCTION @hub@.resume_hub(p_queue text DEFAULT NULL)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'resume_hub';
COMMENT ON FUNCTION @hub@.resume_hub(text) IS 'Resumes a paused queue, or all queues.';
