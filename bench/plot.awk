# Draws one SVG: what = rates (cycles/s by clients), cpu (CPU per cycle) or curve (an old snapshot
# held). Input is summary.tsv, or old_snapshot_curve.tsv for the curve. Colours follow the reader's
# light or dark scheme.

BEGIN {
    FS = "\t"
    width = 900
    height = 420
    left = 70
    right = 230
    top = 50
    bottom = 50
    split("#0b6bcb #c4570c #2e7d32 #8e24aa #b71c1c #00838f #6d6d6d #ad8b00 #5d4037 #3949ab #558b2f #d81b60", light, " ")
    split("#6cb6ff #ffa657 #7ee787 #d2a8ff #ff7b72 #56d4dd #b1bac4 #e3b341 #c69c86 #a5b4fc #b5d98a #ff9bce", dark, " ")
}

FNR == 1 { next }
what == "rates" && $1 == "cycle_async" && $5 == "items_per_s" && $4 != "no_op" && $6 != "-" { add($4, $3, $6) }
what == "cpu" && $1 == "backend_cpu" && $6 != "-" { add($4, $4, $6) }
what == "curve" { add($1, int($2), $3) }

function add(row, x, y) {
    if (!(row in place)) {
        place[row] = ++row_count
        rows[row_count] = row
    }
    n = ++count[row]
    xs[row, n] = x
    ys[row, n] = y + 0
    highest = y + 0 > highest ? y + 0 : highest
    last = what == "curve" && x + 0 > last ? x + 0 : last
    if (what == "rates" && !(x in group)) {
        group[x] = ++group_count
        groups[group_count] = x
    }
}

function text(x, y, class, anchor, words) {
    printf "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">%s</text>\n", x, y, class, anchor, words
}

# A round number above the highest value, in steps that are easily read.
function scale_up(    power, step) {
    if (highest <= 0) {
        highest = 1
    }
    power = 10 ^ int(log(highest / 5) / log(10) + 100) / 10 ^ 100
    for (step = power; step * 5 < highest; step = step < 2 * power ? 2 * power : step < 5 * power ? 5 * power : 10 * power) {
    }
    return step
}

function y_of(value) { return top + (height - top - bottom) * (1 - value / (step * 5)) }

function legend(r) {
    printf "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" class=\"f%d\"/>\n", width - right + 20, top + r * 20 - 20, r
    text(width - right + 38, top + r * 20 - 10, "label", "start", rows[r])
}

function bar(x, wide, value, r) {
    printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"f%d\"><title>%s: %g</title></rect>\n", \
        x, y_of(value), wide, height - bottom - y_of(value), r, rows[r], value
}

END {
    title["rates"] = "cycles per second by number of clients, synchronous_commit off"
    title["cpu"] = "CPU of one backend per cycle, microseconds"
    title["curve"] = "cycles per second while another session holds an old snapshot"
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\">\n<style>\n", width, height
    print "svg { background: #ffffff } .title { font-size: 15px; fill: #1f2328 } .label { font-size: 12px; fill: #1f2328 } .grid { stroke: #d0d7de; stroke-width: 1 }"
    for (r = 1; r <= row_count; ++r) {
        printf ".f%d { fill: %s } .s%d { stroke: %s; fill: none; stroke-width: 2 }\n", r, light[(r - 1) % 12 + 1], r, light[(r - 1) % 12 + 1]
    }
    print "@media (prefers-color-scheme: dark) { svg { background: #0d1117 } .title, .label { fill: #e6edf3 } .grid { stroke: #30363d }"
    for (r = 1; r <= row_count; ++r) {
        printf ".f%d { fill: %s } .s%d { stroke: %s }\n", r, dark[(r - 1) % 12 + 1], r, dark[(r - 1) % 12 + 1]
    }
    print "}\n</style>"
    text(left, 28, "title", "start", title[what])
    step = scale_up()
    for (i = 0; i <= 5; ++i) {
        printf "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" class=\"grid\"/>\n", left, y_of(i * step), width - right, y_of(i * step)
        text(left - 8, y_of(i * step) + 4, "label", "end", sprintf("%g", i * step))
    }
    room = width - left - right
    for (r = 1; r <= row_count; ++r) {
        row = rows[r]
        if (what == "curve") {
            printf "<polyline class=\"s%d\" points=\"", r
            for (i = 1; i <= count[row]; ++i) {
                printf "%.1f,%.1f ", left + room * xs[row, i] / (last > 0 ? last : 1), y_of(ys[row, i])
            }
            print "\"/>"
        } else if (what == "cpu") {
            bar(left + room * (r - 0.9) / row_count, room * 0.8 / row_count, ys[row, 1], r)
        } else {
            for (i = 1; i <= count[row]; ++i) {
                bar(left + room * (group[xs[row, i]] - 1 + 0.1 + 0.8 * (r - 1) / row_count) / group_count, \
                    room * 0.8 / row_count / group_count - 1, ys[row, i], r)
            }
        }
        legend(r)
    }
    for (i = 1; i <= group_count; ++i) {
        text(left + room * (i - 0.5) / group_count, height - bottom + 20, "label", "middle", groups[i] " clients")
    }
    if (what == "curve") {
        text(left, height - bottom + 20, "label", "middle", "0 s")
        text(left + room, height - bottom + 20, "label", "middle", last " s")
    }
    print "</svg>"
}
