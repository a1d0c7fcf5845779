-- What deleting the finished jobs costs belongs to the CPU and WAL per item, not to the rate.
CALL state_column.clean();
