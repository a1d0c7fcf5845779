-- Fenced transactions.

CREATE OR REPLACE FUNCTION @hub@.guard(p_lock_token text)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'guard';
COMMENT ON FUNCTION @hub@.guard(text) IS
    'Binds the current transaction to the lease of a work item or a turn: its commit fails with QB001 if the lease is lost by then.';

CREATE OR REPLACE FUNCTION @hub@.guard_task(p_task_id uuid, p_lease_epoch bigint)
    RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'guard_task';
COMMENT ON FUNCTION @hub@.guard_task(uuid, bigint) IS
    'Binds the current transaction to the lease of a task: its commit fails with QB001 if the lease is lost by then.';
