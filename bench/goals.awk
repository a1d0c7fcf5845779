# Prints what belay wants to reach beside what was measured. Input is summary.tsv.

BEGIN { FS = "\t" }
FNR > 1 { value[$1, $2, $3, $4, $5] = $6 }

function get(workload, variant, clients, row, measure,    v) {
    v = value[workload, variant, clients, row, measure]
    return v == "" || v == "-" ? "" : v + 0
}

function over(a, b) { return a == "" || b == "" || b == 0 ? "" : a / b }

function percent(a, b,    r) {
    r = over(a, b)
    return r == "" ? "" : 100 * r
}

function goal(what, wanted, least, got,    met) {
    if (got == "") {
        return
    }
    if (!n++) {
        printf "\ngoals\n%-66s %10s %10s\n", "", "wanted", "measured"
    }
    met = least ? got >= wanted : got <= wanted
    printf "%-66s %s %8g %10.2f  %s\n", what, least ? ">=" : "<=", wanted, got, met ? "met" : "missed"
}

# What a goal of rates is held against: three commits of nothing, and leases that wait for no flush.
function shown(what, got) {
    if (got != "") {
        printf "%-66s %11s %10.2f\n", what, "", got
    }
}

function rate(workload, clients, row) { return get(workload, "-", clients, row, "items_per_s") }
function turns(workload, clients, row) { return get(workload, "-", clients, row, "turns_per_s") }

END {
    goal("cycle, 16 clients: belay / plpgsql_token", 3, 1, over(rate("cycle", 16, "belay"), rate("cycle", 16, "plpgsql_token")))
    goal("cycle, 16 clients: belay / visibility", 3, 1, over(rate("cycle", 16, "belay"), rate("cycle", 16, "visibility")))
    goal("cycle, 16 clients: belay / state_column", 5, 1, over(rate("cycle", 16, "belay"), rate("cycle", 16, "state_column")))
    goal("cycle, 16 clients: belay_ack_and_fetch / plpgsql_token", 4, 1, over(rate("cycle", 16, "belay_ack_and_fetch"), rate("cycle", 16, "plpgsql_token")))
    shown("  three commits that do nothing else: commits / plpgsql_token", over(rate("cycle", 16, "commits"), rate("cycle", 16, "plpgsql_token")))
    shown("  as the client library does: belay_async_leases / plpgsql_token", over(rate("cycle", 16, "belay_async_leases"), rate("cycle", 16, "plpgsql_token")))
    nothing = get("backend_cpu", "-", 1, "no_op", "backend_cpu_us")
    cpu = get("backend_cpu", "-", 1, "belay", "backend_cpu_us")
    goal("backend_cpu: us per cycle without no_op", 15, 0, cpu == "" || nothing == "" ? "" : cpu - nothing)
    goal("cycle_async, 4 clients: server CPU us per item", 90, 0, get("cycle_async", "-", 4, "belay", "cpu_us_per_item"))
    goal("cycle_async, 4 clients: the same of belay_ack_and_fetch", 65, 0, get("cycle_async", "-", 4, "belay_ack_and_fetch", "cpu_us_per_item"))
    goal("cycle_async, 16 clients: WAL records per cycle", 7.5, 0, get("cycle_async", "-", 16, "belay", "wal_records_per_item"))
    goal("cycle_async, 16 clients: WAL bytes per cycle", 700, 0, get("cycle_async", "-", 16, "belay", "wal_bytes_per_item"))
    goal("cycle_async, 16 clients: belay_ack_and_fetch / provider", 3.5, 1, over(rate("cycle_async", 16, "belay_ack_and_fetch"), rate("cycle_async", 16, "provider")))
    for (clients = 1; clients <= 64; clients *= 4) {
        goal("turn, " clients " clients: belay / provider", 4, 1, over(turns("turn", clients, "belay"), turns("turn", clients, "provider")))
        goal("turn_async, " clients " clients: belay / provider", 4, 1, over(turns("turn_async", clients, "belay"), turns("turn_async", clients, "provider")))
    }
    goal("old_snapshot: % of the fresh rate at the end", 90, 1, percent(get("old_snapshot", "-", 4, "belay", "last_per_s"), get("old_snapshot", "-", 4, "belay", "fresh_per_s")))
    base = get("backlog", "empty", 4, "belay", "items_per_s")
    goal("backlog: % of the empty queue's rate with many ready rows", 90, 1, percent(get("backlog", "ready_many", 4, "belay", "items_per_s"), base))
    goal("backlog: the same with many future rows", 90, 1, percent(get("backlog", "future_many", 4, "belay", "items_per_s"), base))
}
