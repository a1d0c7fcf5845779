# Prints the table of one workload, and appends its figures to the file of variable summary.
#
# Input is runs.tsv, or old_snapshot.tsv for the workload of that name. Figures are medians of the
# rounds; ratios are ratios of medians.

BEGIN {
    FS = "\t"
    titles["cycle"] = "cycle: enqueue, fetch, ack of one item; a commit each, flushed to disk"
    titles["cycle_async"] = "cycle_async: the same with synchronous_commit off"
    titles["batch"] = "batch: enqueue, fetch, ack of 10 and of 100 items at once; a commit each, flushed to disk"
    titles["enqueue"] = "enqueue: enqueue only, commits flushed to disk"
    titles["backend_cpu"] = "backend_cpu: CPU of one backend per cycle, called from PL/pgSQL with a commit after each call"
    titles["old_snapshot"] = "old_snapshot: cycles/s while another session holds an old snapshot, synchronous_commit off"
    titles["turn"] = "turn: fetch and ack of one orchestration turn, 5 events, 2 activities, 1 message; a commit each, flushed to disk"
    titles["turn_async"] = "turn_async: the same with synchronous_commit off"
    titles["backlog"] = "backlog: cycles/s with rows in the queue, synchronous_commit off: " fill / 10 " ready; " fill " ready; " fill " due tomorrow"
}

FNR == 1 { next }

workload == "old_snapshot" {
    if (!n++) {
        printf "\n%s\n%s clients, %s s; last: the last %s s; fresh: %s s without the snapshot\n", titles[workload], $3, $4, $5, seconds
        printf "%-21s %12s %12s %10s %12s\n", "", "fresh", "last", "last/fresh", "cycles done"
    }
    printf "%-21s %10.0f/s %10.0f/s %9.1f%% %12d\n", $2, $7, $8, ($7 > 0 ? 100 * $8 / $7 : 0), $6
    printf "%s\t-\t%s\t%s\tfresh_per_s\t%s\t-\t-\n", workload, $3, $2, $7 >> summary
    printf "%s\t-\t%s\t%s\tlast_per_s\t%s\t-\t-\n", workload, $3, $2, $8 >> summary
    next
}

$1 == workload {
    group = $2 SUBSEP $3
    if (!((group) in known_group)) {
        known_group[group] = 1
        groups[++group_count] = group
    }
    if (!($6 in known_row)) {
        known_row[$6] = 1
        rows[++row_count] = $6
    }
    key = group SUBSEP $6
    ++rounds[key]
    for (field = 9; field <= 14; ++field) {
        if ($field != "-") {
            values[key, field, ++count[key, field]] = $field + 0
            in_round[key, field, $4] = $field + 0
        }
    }
}

# Sorts the values of a figure; true if there are any.
function sorted(key, field,    i, j, value) {
    for (i = 2; i <= count[key, field]; ++i) {
        value = values[key, field, i]
        for (j = i - 1; j >= 1 && values[key, field, j] > value; --j) {
            values[key, field, j + 1] = values[key, field, j]
        }
        values[key, field, j + 1] = value
    }
    return count[key, field] > 0
}

function median(key, field,    n) {
    if (!sorted(key, field)) {
        return ""
    }
    n = count[key, field]
    return n % 2 ? values[key, field, (n + 1) / 2] : (values[key, field, n / 2] + values[key, field, n / 2 + 1]) / 2
}

function shown(value, form) { return value == "" ? "-" : sprintf(form, value) }

# How many times better a row is than another: more items, or less CPU.
function ratio(group, row, other, field, less_is_better,    a, b) {
    a = median(group SUBSEP row, field)
    b = median(group SUBSEP other, field)
    if (a == "" || b == "" || a == 0 || b == 0) {
        return ""
    }
    return less_is_better ? b / a : a / b
}

# The ratio, with its least and greatest value in one round: rows of a round ran next to each other.
function ratios(group, row, other, field,    middle, round, a, b, one, least, most) {
    middle = ratio(group, row, other, field)
    if (middle == "") {
        return "-"
    }
    for (round = 1; round <= rounds[group SUBSEP row]; ++round) {
        a = in_round[group SUBSEP row, field, round]
        b = in_round[group SUBSEP other, field, round]
        if (a > 0 && b > 0) {
            one = a / b
            least = least == "" || one < least ? one : least
            most = one > most ? one : most
        }
    }
    return least == "" || rounds[group SUBSEP row] < 2 ? sprintf("%.2f", middle) : \
        sprintf("%.2f (%.2f-%.2f)", middle, least, most)
}

function note(group, row, name, value, token, provider,    parts) {
    split(group, parts, SUBSEP)
    printf "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", workload, parts[1], parts[2], row, name,
        shown(value, "%.2f"), shown(token, "%.2f"), shown(provider, "%.2f") >> summary
}

function spread(key,    n, middle) {
    middle = median(key, 9)
    n = count[key, 9]
    return n < 2 || middle == 0 ? "-" : sprintf("%.0f-%.0f", values[key, 9, 1], values[key, 9, n])
}

function rate_table(    g, r, group, key, parts, token, provider) {
    for (g = 1; g <= group_count; ++g) {
        group = groups[g]
        split(group, parts, SUBSEP)
        printf "\n%s clients%s%s\n", parts[2], parts[1] == "-" ? "" : ", " parts[1] " items at once", g == 1 ? "; ratios of items/s; CPU of the whole server, WAL: per item" : ""
        printf "%-21s %9s %15s %18s %18s %8s %8s %8s %6s %7s\n", "", "items/s", "min-max", "x token",
            "x provider", "CPU us", "WAL rec", "WAL B", "HOT %", "empty %"
        for (r = 1; r <= row_count; ++r) {
            key = group SUBSEP rows[r]
            if (!(key in rounds)) {
                continue
            }
            token = ratio(group, rows[r], "plpgsql_token", 9)
            provider = ratio(group, rows[r], "provider", 9)
            printf "%-21s %9.0f %15s %18s %18s %8s %8s %8s %6s %7s\n", rows[r], median(key, 9), spread(key),
                ratios(group, rows[r], "plpgsql_token", 9), ratios(group, rows[r], "provider", 9), shown(median(key, 10), "%.0f"),
                shown(median(key, 11), "%.2f"), shown(median(key, 12), "%.0f"),
                shown(median(key, 13), "%.1f"), shown(median(key, 14), "%.1f")
            note(group, rows[r], "items_per_s", median(key, 9), token, provider)
            note(group, rows[r], "cpu_us_per_item", median(key, 10))
            note(group, rows[r], "wal_records_per_item", median(key, 11))
            note(group, rows[r], "wal_bytes_per_item", median(key, 12))
            note(group, rows[r], "hot_percent", median(key, 13))
            note(group, rows[r], "empty_percent", median(key, 14))
        }
    }
}

function turn_table(    g, r, group, key, parts, rate, cpu) {
    for (g = 1; g <= group_count; ++g) {
        group = groups[g]
        split(group, parts, SUBSEP)
        printf "\n%s clients%s\n", parts[2], g == 1 ? "; ratios of turns/s and of CPU; CPU of the whole server, WAL: per turn" : ""
        printf "%-21s %9s %15s %18s %8s %10s %8s %8s %6s %7s\n", "", "turns/s", "min-max", "x provider",
            "CPU us", "x less CPU", "WAL rec", "WAL B", "HOT %", "empty %"
        for (r = 1; r <= row_count; ++r) {
            key = group SUBSEP rows[r]
            if (!(key in rounds)) {
                continue
            }
            rate = ratio(group, rows[r], "provider", 9)
            cpu = ratio(group, rows[r], "provider", 10, 1)
            printf "%-21s %9.0f %15s %18s %8s %10s %8s %8s %6s %7s\n", rows[r], median(key, 9), spread(key),
                ratios(group, rows[r], "provider", 9), shown(median(key, 10), "%.0f"), shown(cpu, "%.2f"),
                shown(median(key, 11), "%.2f"), shown(median(key, 12), "%.0f"),
                shown(median(key, 13), "%.1f"), shown(median(key, 14), "%.1f")
            note(group, rows[r], "turns_per_s", median(key, 9), "", rate)
            note(group, rows[r], "cpu_us_per_turn", median(key, 10), "", cpu)
            note(group, rows[r], "wal_records_per_turn", median(key, 11))
            note(group, rows[r], "wal_bytes_per_turn", median(key, 12))
            note(group, rows[r], "hot_percent", median(key, 13))
            note(group, rows[r], "empty_percent", median(key, 14))
        }
    }
    printf "\n"
    for (r = 1; r <= row_count; ++r) {
        scaling(rows[r])
    }
}

# Whether a row does more with more clients: a step of less than 10 % is none.
function scaling(row,    g, parts, rate, first, former, before, line, rises, falls, n) {
    for (g = 1; g <= group_count; ++g) {
        rate = median(groups[g] SUBSEP row, 9)
        if (rate == "" || rate == 0) {
            continue
        }
        split(groups[g], parts, SUBSEP)
        if (!n++) {
            first = rate
            line = sprintf("%s clients %.0f/s", parts[2], rate)
        } else {
            line = line sprintf(", %s clients %.0f/s (x %.2f)", parts[2], rate, rate / first)
            if (rate >= former * 1.1) {
                rises = parts[2]
            } else if (rate <= former / 1.1) {
                falls = falls (falls == "" ? "" : ", ") "from " before " to " parts[2]
            }
        }
        former = rate
        before = parts[2]
    }
    if (n >= 2) {
        printf "%s with more clients: %s: %s\n", row, line, falls != "" ? "falls " falls : \
            rises == "" ? "does not scale" : rises == before ? "scales" : "scales up to " rises ", then level"
    }
}

function cpu_table(    r, group, key, cpu, nothing) {
    group = groups[1]
    nothing = median(group SUBSEP "no_op", 10)
    printf "%-21s %12s %15s %9s %10s %12s\n", "", "us/cycle", "without no_op", "x token", "x provider", "cycles/s"
    for (r = 1; r <= row_count; ++r) {
        key = group SUBSEP rows[r]
        cpu = median(key, 10)
        printf "%-21s %12.1f %15s %9s %10s %12.0f\n", rows[r], cpu,
            nothing == "" ? "-" : sprintf("%.1f", cpu - nothing),
            shown(ratio(group, rows[r], "plpgsql_token", 10, 1), "%.2f"),
            shown(ratio(group, rows[r], "provider", 10, 1), "%.2f"), median(key, 9)
        note(group, rows[r], "backend_cpu_us", cpu, ratio(group, rows[r], "plpgsql_token", 10, 1),
            ratio(group, rows[r], "provider", 10, 1))
    }
}

function backlog_table(    r, g, row, parts, rate, base, line) {
    printf "%s clients\n", substr(groups[1], index(groups[1], SUBSEP) + 1)
    printf "%-21s", ""
    for (g = 1; g <= group_count; ++g) {
        split(groups[g], parts, SUBSEP)
        printf " %12s %9s", parts[1], ""
    }
    printf "\n"
    for (r = 1; r <= row_count; ++r) {
        row = rows[r]
        line = sprintf("%-21s", row)
        base = ""
        for (g = 1; g <= group_count; ++g) {
            split(groups[g], parts, SUBSEP)
            rate = median(groups[g] SUBSEP row, 9)
            line = line sprintf(" %12s", shown(rate, "%.0f/s"))
            if (parts[1] == "empty") {
                base = rate
                line = line sprintf(" %9s", "")
            } else {
                line = line sprintf(" %9s", rate == "" || base == "" ? "-" : sprintf("%.1f%%", 100 * rate / base))
            }
            note(groups[g], row, "items_per_s", rate)
        }
        print line
    }
}

END {
    if (workload == "old_snapshot" || group_count == 0) {
        exit
    }
    printf "\n%s\n", titles[workload]
    if (workload == "backend_cpu") {
        cpu_table()
    } else if (workload ~ /^turn/) {
        turn_table()
    } else if (workload == "backlog") {
        backlog_table()
    } else {
        rate_table()
    }
}
