-- What deleting the finished tasks costs belongs to the CPU and WAL per item, not to the rate.
SELECT rows FROM task_app.reconcile('{retention}');
