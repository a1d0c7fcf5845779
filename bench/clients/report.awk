# Medians of the runs. what = table prints the table of one measurement, what = summary all figures as
# TSV. Input is runs.tsv.

BEGIN {
    FS = "\t"
    title["drain_16"] = "one worker, 16 no-op handlers, 3 connections"
    title["drain_100"] = "one worker, 100 no-op handlers, 3 connections"
    title["enqueue_bulk"] = "one client, 1,000 jobs per call"
    title["enqueue_16"] = "16 clients, one job per call"
    title["latency"] = "one job on an idle worker, from enqueue to the committed completion"
    title["fairness"] = "4 workers with 8 handlers, jobs of 10 ms, 64 ready"
    title["slow_500"] = "500 handlers of 100 ms each, 3 connections"
    title["workflow"] = "workflows of three steps, 16 at once"
    title["hello"] = "orchestrations of one activity, 16 at once"
    title["chain"] = "activities of one instance, one after the other"
    title["history"] = "turns of an instance in memory, with few and many events stored"
    title["fan_out"] = "activities of one instance, all at once"
    title["local"] = "durable functions without a database: a World, one core"
}

FNR == 1 || (what == "table" && $1 != measurement) { next }
{
    if (!(($1, $2) in known)) {
        known[$1, $2] = 1
        order[++rows] = $1 SUBSEP $2
    }
    if (!(($1, $2, $4) in count)) {
        figures[$1, $2] = figures[$1, $2] " " $4
    }
    values[$1, $2, $4, ++count[$1, $2, $4]] = $5
    by_round[$1, $2, $4, $3] = $5
    last_round = $3 > last_round ? $3 : last_round
}

# Sets middle, lowest and highest.
function look_at(key,    i, j, n, v, sorted) {
    n = count[key]
    for (i = 1; i <= n; ++i) {
        v = values[key, i] + 0
        for (j = i - 1; j > 0 && sorted[j] > v; --j) {
            sorted[j + 1] = sorted[j]
        }
        sorted[j + 1] = v
    }
    middle = n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
    lowest = sorted[1]
    highest = sorted[n]
}

function number(v) { return v >= 1000 ? sprintf("%.0f", v) : v >= 100 ? sprintf("%.1f", v) : sprintf("%.2f", v) }

# The ratio to the reference, and its least and greatest in one round.
function ratio(name, figure,    i, r, least, most, reference_middle) {
    if (!((measurement, reference, figure) in count)) {
        return ""
    }
    look_at(measurement SUBSEP reference SUBSEP figure)
    reference_middle = middle
    look_at(measurement SUBSEP name SUBSEP figure)
    least = -1
    for (i = 1; i <= last_round; ++i) {
        if (((measurement, reference, figure, i) in by_round) && ((measurement, name, figure, i) in by_round)) {
            r = by_round[measurement, name, figure, i] / by_round[measurement, reference, figure, i]
            least = least < 0 || r < least ? r : least
            most = r > most ? r : most
        }
    }
    return sprintf("%.2f (%.2f-%.2f)", middle / reference_middle, least, most)
}

function median_or_dash(name, figure) {
    if (!((measurement, name, figure) in count)) {
        return "-"
    }
    look_at(measurement SUBSEP name SUBSEP figure)
    return number(middle)
}

function table(    i, parts, name, main_figure, more, heading, more_heading) {
    if (rows == 0) {
        return
    }
    main_figure = "rate"
    heading = "jobs/s"
    more = "cpu_us"
    more_heading = "client CPU us"
    reference = measurement ~ /^enqueue/ ? "graphile" : "graphile_batch"
    if (measurement == "latency") {
        main_figure = "p50_ms"
        heading = "p50 ms"
        more = "p99_ms"
        more_heading = "p99 ms"
    } else if (measurement == "fairness") {
        main_figure = "share"
        heading = "% of ideal"
        more = "steady"
        more_heading = "steady %"
    } else if (measurement == "slow_500") {
        more = "cores"
        more_heading = "client cores"
    } else if (measurement == "workflow") {
        heading = "workflows/s"
        reference = "dbos"
    } else if (measurement == "hello") {
        heading = "workflows/s"
        reference = "dbos"
    } else if (measurement == "chain") {
        main_figure = "short_us"
        heading = "us per turn"
        more = "long_us"
        more_heading = "long chain"
    } else if (measurement == "history") {
        main_figure = "long_server_us"
        heading = "us of server"
        more = "short_server_us"
        more_heading = "short history"
    } else if (measurement == "fan_out") {
        main_figure = "fan_ms"
        heading = "ms"
        more = "turns"
        more_heading = "turns"
    } else if (measurement == "local") {
        heading = "workflows/s"
        more = "turn_10_us"
        more_heading = "us per turn"
    }
    printf "\n%s: %s\n", measurement, title[measurement]
    printf "%-16s %12s %20s %24s %14s\n", "", heading, "min-max", (measurement, reference, main_figure) in count ? "x " reference : "", more_heading
    for (i = 1; i <= rows; ++i) {
        split(order[i], parts, SUBSEP)
        name = parts[2]
        if (!((measurement, name, main_figure) in count)) {
            continue
        }
        look_at(measurement SUBSEP name SUBSEP main_figure)
        printf "%-16s %12s %20s", name, number(middle), number(lowest) "-" number(highest)
        printf " %24s %14s\n", ratio(name, main_figure), median_or_dash(name, more)
    }
}

function summary(    i, j, n, parts, list) {
    print "measurement\tsystem\tfigure\tmedian\tmin\tmax"
    for (i = 1; i <= rows; ++i) {
        split(order[i], parts, SUBSEP)
        n = split(figures[parts[1], parts[2]], list, " ")
        for (j = 1; j <= n; ++j) {
            look_at(parts[1] SUBSEP parts[2] SUBSEP list[j])
            printf "%s\t%s\t%s\t%.3f\t%.3f\t%.3f\n", parts[1], parts[2], list[j], middle, lowest, highest
        }
    }
}

END {
    if (what == "table") {
        table()
    } else {
        summary()
    }
}
