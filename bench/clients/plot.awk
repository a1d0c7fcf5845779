# Draws clients.svg: a panel of bars for each measurement; the thin line is the slowest and the fastest
# round. Input is summary.tsv. Colours follow the reader's light or dark scheme.

BEGIN {
    FS = "\t"
    measurement_count = split("drain_16 drain_100 enqueue_bulk enqueue_16 latency fairness slow_500 workflow hello chain history fan_out local", measurements, " ")
    title["drain_16"] = "drain, 16 handlers: jobs/s"
    title["drain_100"] = "drain, 100 handlers: jobs/s"
    title["enqueue_bulk"] = "enqueue, 1,000 per call: jobs/s"
    title["enqueue_16"] = "enqueue, 16 clients, single jobs: jobs/s"
    title["latency"] = "lone job, p50 in ms (less is better; logarithmic)"
    title["fairness"] = "4 workers, short queue: % of the ideal time"
    title["slow_500"] = "500 handlers of 100 ms: jobs/s, at most 5,000"
    title["workflow"] = "workflows of 3 steps/s, 16 at once"
    title["hello"] = "orchestrations of 1 activity/s, 16 at once"
    title["chain"] = "a turn of a long instance in memory: us (less is better)"
    title["history"] = "server CPU of a turn with 20,000 events stored: us (less is better)"
    title["fan_out"] = "1,000 activities of one instance: ms (less is better)"
    title["local"] = "orchestrations of 1 step/s without a database"
    figure["latency"] = "p50_ms"
    figure["fairness"] = "share"
    figure["chain"] = "long_us"
    figure["history"] = "long_server_us"
    figure["fan_out"] = "fan_ms"
    row_height = 20
    panel_width = 470
    label_width = 118
    value_width = 62
}

FNR > 1 && $3 == (($1 in figure) ? figure[$1] : "rate") {
    n = ++rows[$1]
    name[$1, n] = $2
    median[$1, n] = $4
    low[$1, n] = $5
    high[$1, n] = $6
    if ($6 + 0 > highest[$1]) {
        highest[$1] = $6 + 0
    }
    if (!($1 in lowest) || $5 + 0 < lowest[$1]) {
        lowest[$1] = $5 + 0
    }
}

function with_commas(v,    text, result) {
    if (v < 100) {
        return sprintf(v < 10 ? "%.2f" : "%.1f", v)
    }
    text = sprintf("%.0f", v)
    while (length(text) > 3) {
        result = "," substr(text, length(text) - 2) result
        text = substr(text, 1, length(text) - 3)
    }
    return text result
}

function text(x, y, class, anchor, words) {
    printf "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">%s</text>\n", x, y, class, anchor, words
}

function line(from, to, y, class) {
    printf "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", from, y, to, y, class
}

# How far a value reaches, from 0 to 1. Latencies differ by orders of magnitude: the scale of theirs is
# logarithmic and begins at half of the lowest.
function share(m, v,    least) {
    if (highest[m] <= 0) {
        return 0
    }
    if (m != "latency") {
        return v / highest[m]
    }
    least = lowest[m] / 2
    return least > 0 && v > least ? log(v / least) / log(highest[m] / least) : 0
}

function panel(m, x, y,    i, wide, room, class, middle) {
    text(x, y + 14, "head", "start", title[m])
    room = panel_width - label_width - value_width
    for (i = 1; i <= rows[m]; ++i) {
        middle = y + 24 + (i - 0.5) * row_height
        wide = room * share(m, median[m, i])
        class = name[m, i] == "belay_engine" ? "engine" : name[m, i] ~ /^belay/ ? "belay" : "peer"
        text(x + label_width - 6, middle + 4, "label", "end", name[m, i])
        printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" class=\"%s\"><title>%s: %s</title></rect>\n", \
            x + label_width, middle - 7, wide < 1 ? 1 : wide, 14, class, name[m, i], with_commas(median[m, i])
        if (high[m, i] > low[m, i]) {
            line(x + label_width + room * share(m, low[m, i]), x + label_width + room * share(m, high[m, i]), middle, "halo")
            line(x + label_width + room * share(m, low[m, i]), x + label_width + room * share(m, high[m, i]), middle, "range")
        }
        text(x + panel_width - 4, middle + 4, "label", "end", with_commas(median[m, i]))
    }
}

function height_of(m) { return m == "" ? 0 : 44 + rows[m] * row_height }

END {
    for (i = 1; i <= measurement_count; ++i) {
        if (rows[measurements[i]] > 0) {
            shown[++count] = measurements[i]
        }
    }
    height = 50
    for (i = 1; i <= count; i += 2) {
        top[i] = height
        height += height_of(shown[i]) > height_of(shown[i + 1]) ? height_of(shown[i]) : height_of(shown[i + 1])
    }
    width = 2 * panel_width + 60
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" role=\"img\">\n", width, height
    print "<title>belay's client library beside others, in one run</title>"
    print "<desc>Medians of the rounds, a panel of bars for each measurement; thin lines go from the slowest to the fastest round.</desc>"
    print "<style>"
    print "text { fill: #1f2328 }"
    print ".page { fill: #ffffff }"
    print ".title { font-size: 17px; fill: #1f2328 }"
    print ".head { font-size: 14px; font-weight: bold; fill: #1f2328 }"
    print ".label { font-size: 12px; fill: #1f2328 }"
    print ".belay { fill: #0b6bcb }"
    print ".engine { fill: #8fbce6 }"
    print ".peer { fill: #c4570c }"
    print ".halo { stroke: #ffffff; stroke-width: 4 }"
    print ".range { stroke: #1f2328; stroke-width: 1.5 }"
    print "@media (prefers-color-scheme: dark) {"
    print "text { fill: #e6edf3 }"
    print ".page { fill: #0d1117 }"
    print ".title { fill: #e6edf3 }"
    print ".head { fill: #e6edf3 }"
    print ".label { fill: #e6edf3 }"
    print ".belay { fill: #6cb6ff }"
    print ".engine { fill: #2f5d8a }"
    print ".peer { fill: #ffa657 }"
    print ".halo { stroke: #0d1117 }"
    print ".range { stroke: #e6edf3 }"
    print "}"
    print "</style>"
    printf "<rect x=\"0\" y=\"0\" width=\"%d\" height=\"%d\" class=\"page\"/>\n", width, height
    text(20, 30, "title", "start", "belay's client library beside others, in one run")
    for (i = 1; i <= count; ++i) {
        panel(shown[i], i % 2 ? 20 : panel_width + 40, top[i % 2 ? i : i - 1])
    }
    print "</svg>"
}
