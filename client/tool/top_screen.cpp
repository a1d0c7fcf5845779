// What belay top shows, and what its keys do.
#include "top.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>

#include "tool.hpp"

namespace belay::tool {
namespace {

OptionalNumber count_of(const std::optional<Milliseconds>& time) {
    return time ? OptionalNumber(time->count()) : std::nullopt;
}

std::string number(const OptionalNumber& value) {
    return value ? std::to_string(*value) : "-";
}

std::string rate(const std::optional<double>& value) {
    if (!value) {
        return "-";
    }
    char text[32];
    std::snprintf(text, sizeof text, *value < 1000 ? "%.1f" : "%.0f", *value);
    return text;
}

const QueueStats* find(const TopSample& sample, const QueueStats& like) {
    const auto found = std::ranges::find_if(sample.queues, [&](const QueueStats& other) {
        return other.hub == like.hub && other.queue == like.queue;
    });
    return found == sample.queues.end() ? nullptr : &*found;
}

// Tasks that could be claimed.
OptionalNumber ready_tasks(const TopSample& sample, const std::string& hub) {
    OptionalNumber sum;
    for (const auto& task_queue : sample.task_queues) {
        if (task_queue.hub == hub) {
            sum = sum.value_or(0) + task_queue.depth.ready;
        }
    }
    return sum;
}

OptionalNumber depth_of(const TopSample& sample, const std::string& hub, const std::string& queue) {
    if (queue == "tasks") {
        return ready_tasks(sample, hub);
    }
    const auto found = sample.depths.find(hub);
    if (found == sample.depths.end()) {
        return std::nullopt;
    }
    return queue == "worker"         ? found->second.worker_queue
           : queue == "orchestrator" ? found->second.orchestrator_queue
           : queue == "timers"       ? found->second.timer_queue
                                     : OptionalNumber();
}

// A column of a part of the view.
template <typename Row>
struct Cell {
    const char* title;
    std::size_t width;
    bool to_left;
    int rank;  // the lower, the sooner it is left out; 0: never
    std::function<std::string(const Row&)> text;
};

template <typename Row>
using Cells = std::vector<Cell<Row>>;

template <typename Row>
std::size_t width_of_all(const Cells<Row>& cells) {
    std::size_t sum = cells.size() - 1;
    for (const auto& cell : cells) {
        sum += cell.width;
    }
    return sum;
}

// Leaves columns out, lowest rank first, until the others fit.
template <typename Row>
void fit(Cells<Row>& cells, std::size_t width) {
    while (width_of_all(cells) > width) {
        auto least = cells.end();
        for (auto cell = cells.begin(); cell != cells.end(); ++cell) {
            if (cell->rank > 0 && (least == cells.end() || cell->rank < least->rank)) {
                least = cell;
            }
        }
        if (least == cells.end()) {
            return;
        }
        cells.erase(least);
    }
}

template <typename Row>
std::string titles_of(const Cells<Row>& cells) {
    std::string line;
    for (const auto& cell : cells) {
        line += (line.empty() ? "" : " ") +
                (cell.to_left ? left(cell.title, cell.width) : right(cell.title, cell.width));
    }
    return line;
}

template <typename Row>
std::string line_of(const Cells<Row>& cells, const Row& row) {
    std::string line;
    for (const auto& cell : cells) {
        const std::string text = cell.text(row);
        line += (line.empty() ? "" : " ") +
                (cell.to_left ? left(text, cell.width) : right(text, cell.width));
    }
    return line;
}

// The rank of the column of hubs: if there is but one, the first to go.
int hub_rank(const TopSample& now) {
    return now.hubs.size() <= 1 ? 1 : 9;
}

Cells<TopRow> queue_cells(const TopSample& now, std::size_t width) {
    Cells<TopRow> cells = {
        {"HUB", 14, true, hub_rank(now), [](const TopRow& row) { return printable(row.hub); }},
        {"QUEUE", 12, true, 0, [](const TopRow& row) { return printable(row.queue); }},
        {"DEPTH", 7, false, 0, [](const TopRow& row) { return number(row.depth); }},
        {"OLDEST", 6, false, 4,
         [](const TopRow& row) { return row.oldest_ms ? duration_text(*row.oldest_ms) : "-"; }},
        {"LEASED", 6, false, 3, [](const TopRow& row) { return number(row.leases); }},
        {"WAIT", 5, false, 2, [](const TopRow& row) { return number(row.waiters); }},
        {"IN/s", 7, false, 10, [](const TopRow& row) { return rate(row.enqueued); }},
        {"DONE/s", 7, false, 11, [](const TopRow& row) { return rate(row.acked); }},
        {"DEAD", 5, false, 5, [](const TopRow& row) { return number(row.dead_lettered); }}};
    fit(cells, width);
    return cells;
}

Cells<TopSample::TaskQueue> task_queue_cells(const TopSample& now, std::size_t width) {
    using TaskQueue = TopSample::TaskQueue;
    const auto count = [](std::int64_t QueueDepth::*field) {
        return [field](const TaskQueue& task_queue) {
            return std::to_string(task_queue.depth.*field);
        };
    };
    Cells<TaskQueue> cells = {
        {"HUB", 14, true, hub_rank(now),
         [](const TaskQueue& task_queue) { return printable(task_queue.hub); }},
        {"QUEUE", 20, true, 0,
         [](const TaskQueue& task_queue) { return printable(task_queue.depth.queue); }},
        {"READY", 8, false, 0, count(&QueueDepth::ready)},
        {"DELAYED", 8, false, 2, count(&QueueDepth::delayed)},
        {"ACTIVE", 7, false, 5, count(&QueueDepth::active)},
        {"OVERDUE", 7, false, 3, count(&QueueDepth::overdue_leases)},
        {"OLDEST", 6, false, 4, [](const TaskQueue& task_queue) {
             const auto age = count_of(task_queue.depth.oldest_ready_age);
             return age ? duration_text(*age) : "-";
         }}};
    fit(cells, width);
    return cells;
}

Cells<TopSample::Owner> owner_cells(const TopSample& now, std::size_t width) {
    using Owner = TopSample::Owner;
    Cells<Owner> cells = {
        {"HUB", 14, true, hub_rank(now), [](const Owner& owner) { return printable(owner.hub); }},
        {"WORKER", 57, true, 0, [](const Owner& owner) { return printable(owner.owner_id); }},
        {"LEASED", 6, false, 0, [](const Owner& owner) { return std::to_string(owner.leases); }}};
    if (now.hubs.size() <= 1 && width_of_all(cells) > width) {
        cells.erase(cells.begin());
    }
    // Names take what is left.
    const std::size_t all = width_of_all(cells);
    auto& name = cells[cells.size() - 2];
    name.width = all > width ? name.width - std::min(name.width - 10, all - width) : name.width;
    return cells;
}

Cells<TopSample::Node> node_cells(std::size_t width) {
    using Node = TopSample::Node;
    Cells<Node> cells = {
        {"NODE", 30, true, 0, [](const Node& node) { return printable(node.place); }},
        {"HUBS", 5, false, 0,
         [](const Node& node) { return node.error.empty() ? std::to_string(node.hubs) : "-"; }},
        {"STATE", 43, true, 0, [](const Node& node) {
             return node.error.empty() ? "background worker " + printable(node.background)
                                       : printable(node.error);
         }}};
    const std::size_t all = width_of_all(cells);
    cells[2].width = all > width ? cells[2].width - std::min<std::size_t>(33, all - width)
                                 : cells[2].width + (width - all);
    return cells;
}

bool fits(const TopView& view, const std::string& hub, const std::string& name) {
    return hub.find(view.filter) != std::string::npos ||
           name.find(view.filter) != std::string::npos;
}

// The rows that the filter lets through, in the wanted order: the greatest first.
std::vector<TopRow> shown_rows(std::vector<TopRow> rows, const TopView& view) {
    std::erase_if(rows, [&](const TopRow& row) { return !fits(view, row.hub, row.queue); });
    const auto value = [&](const TopRow& row) -> double {
        switch (view.sort) {
            case TopView::Sort::kDepth:
                return static_cast<double>(row.depth.value_or(-1));
            case TopView::Sort::kOldest:
                return static_cast<double>(row.oldest_ms.value_or(-1));
            case TopView::Sort::kRate:
                return row.enqueued.value_or(-1) + row.acked.value_or(-1);
            case TopView::Sort::kName:
                break;
        }
        return 0;
    };
    std::ranges::stable_sort(rows, std::ranges::greater(), value);
    return rows;
}

std::vector<TopSample::TaskQueue> shown_task_queues(std::vector<TopSample::TaskQueue> task_queues,
                                                    const TopView& view) {
    std::erase_if(task_queues, [&](const auto& task_queue) {
        return !fits(view, task_queue.hub, task_queue.depth.queue);
    });
    std::ranges::stable_sort(
        task_queues, std::ranges::greater(), [&](const TopSample::TaskQueue& task_queue) {
            return view.sort == TopView::Sort::kDepth ? task_queue.depth.ready
                   : view.sort == TopView::Sort::kOldest
                       ? count_of(task_queue.depth.oldest_ready_age).value_or(-1)
                   : view.sort == TopView::Sort::kRate ? task_queue.depth.active
                                                       : 0;
        });
    return task_queues;
}

std::string sort_text(TopView::Sort sort) {
    switch (sort) {
        case TopView::Sort::kDepth:
            return "depth";
        case TopView::Sort::kOldest:
            return "age";
        case TopView::Sort::kRate:
            return "rate";
        case TopView::Sort::kName:
            break;
    }
    return "name";
}

// What the keys have changed; "" if that is nothing.
std::string view_text(const TopView& view) {
    std::string text;
    if (view.sort != TopView::Sort::kName) {
        text += "sorted by " + sort_text(view.sort);
    }
    if (view.asks_filter || !view.filter.empty()) {
        text += (text.empty() ? "" : "  ") + ("filter: " + printable(view.filter)) +
                (view.asks_filter ? "_" : "");
    }
    return text;
}

constexpr const char* kHelp[] = {
    "q  leave",
    "s  sort by name, depth, age of the oldest, rate",
    "f  filter by a part of a name; Enter keeps it, Escape drops it",
    "?  this help, and back",
};

// What hands out no work, with commas.
std::string paused_text(const TopSample& sample) {
    std::string paused;
    const auto add = [&](const std::string& hub, const std::string& what) {
        paused += (paused.empty() ? "" : ", ") + hub + " (" + what + ")";
    };
    for (const auto& hub : sample.hubs) {
        if (hub.paused.value_or(false)) {
            add(hub.name, queue_names(hub.paused_queues));
        }
    }
    for (const auto& task_queue : sample.task_queues) {
        if (task_queue.depth.paused) {
            add(task_queue.hub, "queue " + task_queue.depth.queue);
        }
    }
    return paused;
}

}  // namespace

std::vector<TopRow> top_rows(const TopSample* before, const TopSample& now) {
    std::vector<TopRow> rows;
    const double seconds =
        before == nullptr ? 0 : static_cast<double>(now.at_ms - before->at_ms) / 1000;
    for (const auto& hub : now.hubs) {
        for (const auto& queue : now.queues) {
            if (queue.hub != hub.name) {
                continue;
            }
            const QueueStats* old = seconds > 0 ? find(*before, queue) : nullptr;
            const auto per_second = [&](std::int64_t QueueStats::*counter) {
                // Counters that went back were reset meanwhile.
                return old == nullptr || queue.*counter < old->*counter
                           ? std::optional<double>()
                           : static_cast<double>(queue.*counter - old->*counter) / seconds;
            };
            rows.push_back({.hub = queue.hub,
                            .queue = queue.queue,
                            .depth = depth_of(now, queue.hub, queue.queue),
                            .oldest_ms = count_of(queue.oldest_ready),
                            .leases = queue.leases,
                            .waiters = queue.waiters,
                            .enqueued = per_second(&QueueStats::enqueued),
                            .fetched = per_second(&QueueStats::fetched),
                            .acked = per_second(&QueueStats::acked),
                            .dead_lettered = queue.dead_lettered});
        }
        if (now.depths.contains(hub.name)) {
            rows.push_back(
                {.hub = hub.name, .queue = "timers", .depth = depth_of(now, hub.name, "timers")});
        }
    }
    return rows;
}

bool press(TopView& view, char key) {
    constexpr char kEscape = '\x1b';
    if (view.asks_filter) {
        if (key == '\n' || key == '\r') {
            view.asks_filter = false;
        } else if (key == kEscape) {
            view.asks_filter = false;
            view.filter.clear();
        } else if (key == '\x7f' || key == '\b') {
            if (!view.filter.empty()) {
                view.filter.pop_back();
            }
        } else if (static_cast<unsigned char>(key) >= ' ') {
            view.filter += key;
        }
        return true;
    }
    switch (key) {
        case 'q':
        case '\x03':
            return false;
        case 's':
            view.sort = view.sort == TopView::Sort::kRate
                            ? TopView::Sort::kName
                            : static_cast<TopView::Sort>(static_cast<int>(view.sort) + 1);
            break;
        case 'f':
        case '/':
            view.asks_filter = true;
            break;
        case kEscape:
            view.filter.clear();
            view.help = false;
            break;
        case '?':
        case 'h':
            view.help = !view.help;
            break;
        default:
            break;
    }
    return true;
}

std::string render_top(const TopSample* before, const TopSample& now, std::size_t width,
                       std::size_t height, const TopView& view) {
    enum class Style { kPlain, kTitle, kWarning, kAlarm };
    std::vector<std::pair<Style, std::string>> lines;
    const auto add = [&](std::string line, Style style = Style::kPlain) {
        lines.emplace_back(style, std::move(line));
    };
    const std::string paused = paused_text(now);
    const std::string changed = view_text(view);
    add("belay top  " + printable(now.database) + "  " + time_text(now.at_ms) + "  hubs " +
        std::to_string(now.hubs.size()) +
        (now.background.empty() ? "" : "  background worker " + printable(now.background)));
    if (!changed.empty()) {
        add(changed);
    }
    add(paused.empty() ? "" : "paused: " + printable(paused), Style::kWarning);
    if (view.help) {
        for (const char* line : kHelp) {
            add(line);
        }
        add("");
    }
    if (!now.nodes.empty()) {
        const auto cells = node_cells(width);
        add(titles_of(cells), Style::kTitle);
        for (const auto& node : now.nodes) {
            add(line_of(cells, node), node.error.empty() ? Style::kPlain : Style::kAlarm);
        }
        add("");
    }
    const auto queues = queue_cells(now, width);
    add(titles_of(queues), Style::kTitle);
    for (const auto& row : shown_rows(top_rows(before, now), view)) {
        add(line_of(queues, row),
            row.dead_lettered.value_or(0) > 0 ? Style::kAlarm : Style::kPlain);
    }
    if (!now.task_queues.empty()) {
        const auto cells = task_queue_cells(now, width);
        add("");
        add(titles_of(cells), Style::kTitle);
        for (const auto& task_queue : shown_task_queues(now.task_queues, view)) {
            add(line_of(cells, task_queue), task_queue.depth.overdue_leases > 0 ? Style::kAlarm
                                            : task_queue.depth.paused           ? Style::kWarning
                                                                                : Style::kPlain);
        }
    }
    if (now.owners_known || !now.owners.empty()) {
        const auto cells = owner_cells(now, width);
        add("");
        add(titles_of(cells), Style::kTitle);
        auto owners = now.owners;
        std::erase_if(owners,
                      [&](const auto& owner) { return !fits(view, owner.hub, owner.owner_id); });
        std::ranges::stable_sort(owners, std::ranges::greater(), &TopSample::Owner::leases);
        for (const auto& owner : owners) {
            add(line_of(cells, owner));
        }
    }
    if (lines.size() > height) {
        const std::size_t hidden = lines.size() - height + 1;
        lines.resize(height - 1);
        add("... " + std::to_string(hidden) + " more lines");
    }
    std::string text;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        auto& [style, line] = lines[i];
        line.erase(line.find_last_not_of(' ') + 1);
        line = cut(line, width);
        if (view.colours && style != Style::kPlain && !line.empty()) {
            line = (style == Style::kTitle     ? "\x1b[1m"
                    : style == Style::kWarning ? "\x1b[33m"
                                               : "\x1b[31m") +
                   line + "\x1b[0m";
        }
        text += (i == 0 ? "" : "\n") + line;
    }
    return text;
}

Json top_json(const TopSample* before, const TopSample& now) {
    Json queues = Json::array();
    for (const auto& row : top_rows(before, now)) {
        queues.push_back({{"hub", row.hub},
                          {"queue", row.queue},
                          {"depth", json_of(row.depth)},
                          {"oldest_ready_ms", json_of(row.oldest_ms)},
                          {"leases", json_of(row.leases)},
                          {"waiters", json_of(row.waiters)},
                          {"enqueued_per_s", json_of(row.enqueued)},
                          {"fetched_per_s", json_of(row.fetched)},
                          {"acked_per_s", json_of(row.acked)},
                          {"dead_lettered", json_of(row.dead_lettered)}});
    }
    Json task_queues = Json::array();
    for (const auto& [hub, depth] : now.task_queues) {
        task_queues.push_back({{"hub", hub},
                               {"queue", depth.queue},
                               {"paused", depth.paused},
                               {"ready", depth.ready},
                               {"delayed", depth.delayed},
                               {"active", depth.active},
                               {"overdue_leases", depth.overdue_leases},
                               {"oldest_ready_age_ms", json_of(depth.oldest_ready_age)}});
    }
    Json workers = Json::array();
    for (const auto& owner : now.owners) {
        workers.push_back(
            {{"hub", owner.hub}, {"owner_id", owner.owner_id}, {"leases", owner.leases}});
    }
    Json nodes = Json::array();
    for (const auto& node : now.nodes) {
        nodes.push_back({{"place", node.place},
                         {"away", !node.error.empty()},
                         {"error", node.error.empty() ? Json() : Json(node.error)},
                         {"hubs", node.error.empty() ? Json(node.hubs) : Json()},
                         {"background_worker", node.background}});
    }
    return {{"database", now.database},
            {"at_ms", now.at_ms},
            {"background_worker", now.background},
            {"queues", queues},
            {"task_queues", task_queues},
            {"workers", workers},
            {"nodes", nodes}};
}

}  // namespace belay::tool
