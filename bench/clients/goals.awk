# Prints the goals of belay's client beside what was measured. Input is summary.tsv. The runtime of
# duroxide is not compared, because that needs programs in Rust: docs/decisions.md, 644.

BEGIN { FS = "\t" }
FNR > 1 { value[$1, $2, $3] = $4 }

function get(measurement, name, figure) {
    return (measurement, name, figure) in value ? value[measurement, name, figure] + 0 : ""
}

function over(a, b) { return a == "" || b == "" || b == 0 ? "" : a / b }

function goal(what, wanted, least, got,    met) {
    if (!n++) {
        printf "\ngoals\n%-74s %9s %10s\n", "", "wanted", "measured"
    }
    if (got == "") {
        printf "%-74s %s %6g %10s  not measured\n", what, least ? ">=" : "<=", wanted, "-"
        return
    }
    met = least ? got >= wanted : got <= wanted
    printf "%-74s %s %6g %10.2f  %s\n", what, least ? ">=" : "<=", wanted, got, met ? "met" : "missed"
}

function rate(measurement, name) { return get(measurement, name, "rate") }

function ratio(measurement, name, other, wanted) {
    goal(measurement ": " name " / " other, wanted, 1, over(rate(measurement, name), rate(measurement, other)))
}

# The fastest of those that have a job on disk when they say so. Sets best_name.
function best_durable_peer(measurement,    names, i, r, best) {
    best = ""
    split("graphile pgboss bullmq_always", names, " ")
    for (i = 1; i in names; ++i) {
        r = rate(measurement, names[i])
        if (r != "" && (best == "" || r > best)) {
            best = r
            best_name = names[i]
        }
    }
    return best
}

function against_best(measurement, wanted,    best) {
    best = best_durable_peer(measurement)
    goal(measurement ": belay_worker / the best peer" (best == "" ? "" : " (" best_name ")"), wanted, 1, over(rate(measurement, "belay_worker"), best))
}

END {
    ratio("drain_16", "belay_worker", "graphile_batch", 2)
    ratio("drain_16", "belay_worker", "bullmq_always", 5)
    ratio("drain_16", "belay_worker", "pgboss_batch", 5)
    ratio("drain_16", "belay_tasks", "graphile_batch", 1)
    ratio("drain_100", "belay_worker", "belay_engine", 0.6)
    ratio("drain_100", "belay_worker", "graphile_batch", 2.5)
    ratio("enqueue_bulk", "belay_tasks", "graphile", 1.5)
    against_best("enqueue_bulk", 2)
    against_best("enqueue_16", 1)
    goal("latency: p50 of belay_worker / p50 of belay_engine", 1.1, 0, over(get("latency", "belay_worker", "p50_ms"), get("latency", "belay_engine", "p50_ms")))
    goal("fairness: belay_worker, % of the ideal time, bursts", 90, 1, get("fairness", "belay_worker", "share"))
    goal("fairness: belay_worker, % of the handlers' time, steady", 90, 1, get("fairness", "belay_worker", "steady"))
    goal("slow_500: belay_worker, jobs/s of at most 5000", 4800, 1, rate("slow_500", "belay_worker"))
    goal("slow_500: belay_worker, CPU of the client in cores", 0.5, 0, get("slow_500", "belay_worker", "cores"))
    ratio("workflow", "belay_runtime", "dbos", 10)
    ratio("hello", "belay_runtime", "dbos", 10)
    ratio("hello", "belay_runtime", "duroxide", 2)
    goal("workflow: turns/s of belay_runtime / of belay_by_hand", 0.8, 1, over(get("workflow", "belay_runtime", "turns_rate"), get("workflow", "belay_by_hand", "turns_rate")))
    goal("hello: turns/s of belay_runtime / of belay_by_hand", 0.8, 1, over(get("hello", "belay_runtime", "turns_rate"), get("hello", "belay_by_hand", "turns_rate")))
    goal("workflow: round trips of belay_runtime per turn, waits included", 1, 0, get("workflow", "belay_runtime", "trips"))
    goal("chain: a turn of a long instance in memory / of a short one", 1.2, 0, over(get("chain", "belay_runtime", "long_us"), get("chain", "belay_runtime", "short_us")))
    goal("history: server CPU of a turn, 20,000 events stored / 20", 1.1, 0, over(get("history", "belay_runtime", "long_server_us"), get("history", "belay_runtime", "short_server_us")))
    goal("fan_out: time of an instance / of as many items of the worker queue", 3, 0, over(get("fan_out", "belay_runtime", "fan_ms"), get("fan_out", "belay_runtime", "queue_ms")))
    goal("fan_out: turns", 50, 0, get("fan_out", "belay_runtime", "turns"))
    goal("local: us of a turn in memory, 2 events in, 2 out, 10 events stored", 20, 0, get("local", "belay_local", "turn_10_us"))
    goal("local: the same with 10,000 events stored / with 10", 1.2, 0, over(get("local", "belay_local", "turn_10000_us"), get("local", "belay_local", "turn_10_us")))
    goal("local: events/s of a replay", 300000, 1, get("local", "belay_local", "replay_rate"))
    goal("local: events/s of a replay, without reading them", 1000000, 1, get("local", "belay_local", "replay_parsed_rate"))
    goal("local: bytes of a suspended instance", 2048, 0, get("local", "belay_local", "instance_bytes"))
    goal("local: MiB of 100,000 suspended instances", 256, 0, get("local", "belay_local", "instances_mib"))
    goal("local: orchestrations/s in a World", 20000, 1, rate("local", "belay_local"))
}
