# The systems and measurements of bench/clients. Sourced, never run.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # The variables are for the scripts that source this file; they set root.

# Each system: its name, its program, what the program calls it, and what the numbers of jobs and of
# samples are divided by, because it is slow; then the measurements that it takes part in.
#
# A program is bench/clients/NAME.cpp, built as clients_NAME, or bench/clients/NAME.mjs. It is called
# as PROGRAM SYSTEM MEASUREMENT [NAME=NUMBER]..., finds an empty database through libpq's variables,
# prints lines "FIGURE NUMBER", and fails if what was done is not what it counted. A system whose
# program does not exist is not listed.
all_systems=(
    "belay_worker    belay    worker    1   1  drain_16 drain_100 enqueue_bulk enqueue_16 latency fairness slow_500"
    "belay_tasks     belay    tasks     1   1  drain_16 drain_100 enqueue_bulk enqueue_16 latency fairness slow_500"
    "belay_engine    belay    engine    1   1  drain_100 latency"
    "belay_runtime   durable  runtime    1   1  workflow hello chain history fan_out"
    "belay_by_hand   durable  dispatcher 1   1  workflow hello"
    "belay_local     runtime  runtime    1   1  local"
    "graphile        graphile plain     10  1  drain_16 drain_100 enqueue_bulk enqueue_16 latency fairness"
    "graphile_batch  graphile batch     1   1  drain_16 drain_100 latency fairness slow_500"
    "pgboss          pgboss   plain     50  10 drain_16 drain_100 enqueue_bulk enqueue_16 latency"
    "pgboss_batch    pgboss   batch     2   1  drain_16 drain_100 slow_500"
    "bullmq_always   bullmq   always    5   1  drain_16 drain_100 enqueue_bulk enqueue_16 latency fairness slow_500"
    "bullmq_everysec bullmq   everysec  5   1  drain_16 drain_100 enqueue_bulk enqueue_16 latency fairness slow_500"
    "dbos            dbos     dbos      1   1  workflow hello"
)
system_names=()
declare -A system_program=() system_argument=() system_jobs_divisor=() system_samples_divisor=() system_measurements=()
for row in "${all_systems[@]}"; do
    read -r name program argument jobs_divisor samples_divisor takes_part <<<"$row"
    [[ -e $root/bench/clients/$program.cpp || -e $root/bench/clients/$program.mjs ]] || continue
    system_names+=("$name")
    system_program[$name]=$program
    system_argument[$name]=$argument
    system_jobs_divisor[$name]=$jobs_divisor
    system_samples_divisor[$name]=$samples_divisor
    system_measurements[$name]=" $takes_part "
done
unset row name program argument jobs_divisor samples_divisor takes_part

# is_native SYSTEM: true if its program is belay's own, and needs neither Node.js nor Redis.
is_native() { [[ -e $root/bench/clients/${system_program[$1]}.cpp ]]; }
needs_redis() { [[ ${system_program[$1]} == bullmq ]]; }

# Those in which some system takes part, in this order.
measurement_names=()
for name in drain_16 drain_100 enqueue_bulk enqueue_16 latency fairness slow_500 workflow hello chain history fan_out local; do
    [[ "${system_measurements[*]}" != *" $name "* ]] || measurement_names+=("$name")
done
unset name

# set_arguments MEASUREMENT SYSTEM: sets the array arguments to those of the program.
set_arguments() {
    local jobs samples slow_jobs
    jobs=$((BENCH_JOBS / system_jobs_divisor[$2]))
    jobs=$((jobs < 100 ? 100 : jobs))
    samples=$((BENCH_SAMPLES / system_samples_divisor[$2]))
    samples=$((samples < 5 ? 5 : samples))
    slow_jobs=$((BENCH_SECONDS * 5000 < BENCH_JOBS ? BENCH_SECONDS * 5000 : BENCH_JOBS))
    arguments=("${system_argument[$2]}")
    case $1 in
        drain_16) arguments+=(drain "jobs=$jobs" handlers=16 connections=3 ms=0 batch=100) ;;
        drain_100) arguments+=(drain "jobs=$jobs" handlers=100 connections=3 ms=0 batch=100) ;;
        enqueue_bulk) arguments+=(enqueue_bulk "jobs=$BENCH_JOBS") ;;
        enqueue_16) arguments+=(enqueue_single clients=16 "seconds=$BENCH_SECONDS") ;;
        latency) arguments+=(latency "samples=$samples" handlers=16 connections=3) ;;
        fairness)
            arguments+=(fairness workers=4 handlers=8 connections=3 ms=10 ready=64
                "bursts=$((BENCH_SAMPLES / 5 < 5 ? 5 : BENCH_SAMPLES / 5))" "seconds=$BENCH_SECONDS")
            ;;
        slow_500) arguments+=(drain "jobs=$slow_jobs" handlers=500 connections=3 ms=100) ;;
        workflow) arguments+=(workflow steps=3 "seconds=$BENCH_SECONDS" handlers=16 connections=20) ;;
        hello) arguments+=(workflow steps=1 "seconds=$BENCH_SECONDS" handlers=16 connections=20) ;;
        chain) arguments+=(chain "length=$((BENCH_JOBS / 25))") ;;
        history) arguments+=(history "events=$((BENCH_JOBS < 50000 ? BENCH_JOBS * 2 / 5 : 20000))" turns=100) ;;
        fan_out) arguments+=(fan_out "width=$((BENCH_JOBS < 50000 ? BENCH_JOBS / 50 : 1000))" handlers=8) ;;
        local) arguments+=(local) ;;
        *) die "no measurement '$1'" ;;
    esac
}
