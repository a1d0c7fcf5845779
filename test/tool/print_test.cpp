// What the tool prints: no server.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "print.hpp"
#include "shell.hpp"
#include "suggest.hpp"
#include "top.hpp"

namespace belay::tool {
namespace {

TEST(ToolPrint, LetsNothingSteerTheTerminal) {
    EXPECT_EQ(printable("plain, \xc3\xa4 and \xe2\x82\xac"), "plain, \xc3\xa4 and \xe2\x82\xac");
    EXPECT_EQ(printable("a\nb\tc"), "a\\nb\\tc");
    EXPECT_EQ(printable(std::string("\x1b[2J\x07\0", 6)), "\\u001b[2J\\u0007\\u0000");
    EXPECT_EQ(printable("\x7f\xc2\x9b"), "\\u007f\\u009b");  // C1: a control sequence in one byte
    EXPECT_EQ(printable("\xe2\x80\xae"
                        "abc"),
              "\\u202eabc");  // turns the direction of writing
    // No UTF-8: a lone byte, an overlong form, a surrogate, a sequence that is cut off.
    EXPECT_EQ(printable("\xff"), "\\xff");
    EXPECT_EQ(printable("\xc0\x80"), "\\xc0\\x80");
    EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
    EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");
}

TEST(ToolPrint, CutsByColumns) {
    EXPECT_EQ(cut("abcdef", 6), "abcdef");
    EXPECT_EQ(cut("abcdefg", 6), "abcde~");
    EXPECT_EQ(cut("\xc3\xa4\xc3\xb6\xc3\xbc", 2), "\xc3\xa4~");
    EXPECT_EQ(cut("abc", 0), "");
    EXPECT_EQ(left("\xc3\xa4", 3), "\xc3\xa4  ");
    EXPECT_EQ(right("12", 4), "  12");
    EXPECT_EQ(right("12345", 4), "123~");
}

TEST(ToolPrint, ShowsTimesAndSizes) {
    EXPECT_EQ(time_text(1'800'000'000'123), "2027-01-15 08:00:00Z");
    EXPECT_EQ(duration_text(950), "950ms");
    EXPECT_EQ(duration_text(1500), "1.5s");
    EXPECT_EQ(duration_text(12 * 60'000), "12m");
    EXPECT_EQ(duration_text(3 * 3'600'000), "3h");
    EXPECT_EQ(duration_text(40LL * 86'400'000), "40d");
    EXPECT_EQ(bytes_text(900), "900 B");
    EXPECT_EQ(bytes_text(12'345'678), "12.3 MB");
    EXPECT_EQ(bytes_text(5'000'000'000'000'000), "5000.0 TB");
}

TEST(ToolPrint, MakesTables) {
    const Json rows = Json::array({{{"name", "a"}, {"n", 5}, {"text", "x\x1by"}},
                                   {{"name", "bcd"}, {"n", nullptr}, {"text", "long text"}}});
    const std::vector<Column> columns = {
        {"name", "NAME"}, {"n", "N", Show::kNumber}, {"text", "TEXT"}};
    EXPECT_EQ(table(rows, columns, std::nullopt),
              "NAME  N  TEXT\n"
              "a     5  x\\u001by\n"
              "bcd   -  long text\n");
    EXPECT_EQ(table(rows, columns, 12),
              "NAME  N  TE~\n"
              "a     5  x\\~\n"
              "bcd   -  lo~\n");
    EXPECT_EQ(list(rows[1], columns), "NAME  bcd\nTEXT  long text\n");
}

TEST(ToolShell, PassesInputAndOutput) {
    std::signal(SIGPIPE, SIG_IGN);
    const std::string big(1'000'000, 'x');
    const auto copy = run_shell("cat; printf \"%s\" \"$EXTRA\"; exit 3", big, {{"EXTRA", "y"}}, {},
                                std::chrono::seconds(1));
    EXPECT_EQ(copy.code, 3);
    EXPECT_EQ(copy.output, big + "y");
    // A command that does not read, and one that a signal ends.
    EXPECT_EQ(run_shell("echo done", big, {}, {}, std::chrono::seconds(1)).output, "done\n");
    EXPECT_EQ(run_shell("kill -9 $$", "", {}, {}, std::chrono::seconds(1)).code, 128 + 9);
}

TEST(ToolShell, StopsWhatItRuns) {
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(run_shell("sleep 100", "", {}, stop.get_token(), std::chrono::seconds(60)).code,
              128 + 15);
    // One that does not listen is ended permanently. It says through a pipe when it does not.
    int listening[2];
    ASSERT_EQ(pipe(listening), 0);
    std::stop_source later;
    std::thread stopper([&] {
        char byte = 0;
        EXPECT_EQ(read(listening[0], &byte, 1), 1);
        later.request_stop();
    });
    EXPECT_EQ(run_shell("trap '' TERM; echo >/dev/fd/" + std::to_string(listening[1]) +
                            "; while :; do sleep 0.1; done",
                        "", {}, later.get_token(), std::chrono::milliseconds(100))
                  .code,
              128 + 9);
    stopper.join();
    close(listening[0]);
    close(listening[1]);
}

TopSample sample(std::int64_t at_ms, std::int64_t done) {
    TopSample made{.database = "shop", .at_ms = at_ms};
    made.hubs = {{.name = "app", .paused = false},
                 {.name = "mail\x1b", .paused = true, .paused_queues = {"worker"}}};
    made.depths["app"] = {.orchestrator_queue = 12, .worker_queue = 123456, .timer_queue = 7};
    made.queues = {{.hub = "app",
                    .queue = "orchestrator",
                    .enqueued = done,
                    .acked = done / 2,
                    .waiters = 2,
                    .leases = 3,
                    .oldest_ready = Milliseconds(40)},
                   {.hub = "app",
                    .queue = "worker",
                    .enqueued = 10 * done,
                    .acked = 5 * done,
                    .dead_lettered = 9,
                    .waiters = 0,
                    .leases = 8,
                    .oldest_ready = Milliseconds(75'000)},
                   {.hub = "mail\x1b", .queue = "worker", .enqueued = 5, .acked = 5}};
    made.owners = {{"app", "worker-17-1", 3}, {"app", "worker-18-2", 5}};
    made.owners_known = true;
    made.background = "idle";
    return made;
}

// The picture in 80 columns and 24 lines.
TEST(ToolTop, FitsATerminal) {
    const TopSample before = sample(1'800'000'000'000, 1000);
    const TopSample now = sample(1'800'000'002'000, 2000);
    EXPECT_EQ(render_top(&before, now, 80, 24),
              "belay top  shop  2027-01-15 08:00:02Z  hubs 2  background worker idle\n"
              "paused: mail\\u001b (worker)\n"
              "HUB            QUEUE          DEPTH OLDEST LEASED  WAIT    IN/s  DONE/s  DEAD\n"
              "app            orchestrator      12   40ms      3     2   500.0   250.0     0\n"
              "app            worker        123456     1m      8     0    5000    2500     9\n"
              "app            timers             7      -      -     -       -       -     -\n"
              "mail\\u001b     worker             -      -      0     0     0.0     0.0     0\n"
              "\n"
              "HUB            WORKER                                                    LEASED\n"
              "app            worker-18-2                                                    5\n"
              "app            worker-17-1                                                    3");
    // Without an earlier picture there are no rates.
    const std::string first = render_top(nullptr, now, 80, 24);
    EXPECT_NE(first.find("app            worker        123456     1m      8     0       -       -"),
              std::string::npos)
        << first;
    // Rows that do not fit are counted, not shown.
    const std::string small = render_top(&before, now, 40, 5);
    EXPECT_TRUE(small.ends_with("\n... 7 more lines")) << small;
    EXPECT_EQ(std::count(small.begin(), small.end(), '\n'), 4);
    for (std::size_t from = 0; from < small.size();) {
        const std::size_t end = std::min(small.find('\n', from), small.size());
        EXPECT_LE(end - from, 40u);
        from = end + 1;
    }
}

// What goes first when there is little room: the hub if there is one, what others show, rates last.
TEST(ToolTop, KeepsRatesInNarrowTerminals) {
    TopSample before = sample(1'800'000'000'000, 1000);
    TopSample now = sample(1'800'000'002'000, 2000);
    for (auto* one : {&before, &now}) {
        one->hubs.resize(1);
    }
    EXPECT_EQ(render_top(&before, now, 60, 24),
              "belay top  shop  2027-01-15 08:00:02Z  hubs 1  background w~\n"
              "\n"
              "QUEUE          DEPTH OLDEST LEASED    IN/s  DONE/s  DEAD\n"
              "orchestrator      12   40ms      3   500.0   250.0     0\n"
              "worker        123456     1m      8    5000    2500     9\n"
              "timers             7      -      -       -       -     -\n"
              "\n"
              "WORKER                                                LEASED\n"
              "worker-18-2                                                5\n"
              "worker-17-1                                                3");
    const std::string tiny = render_top(&before, now, 40, 24);
    EXPECT_NE(tiny.find("QUEUE          DEPTH    IN/s  DONE/s"), std::string::npos) << tiny;
}

TEST(ToolTop, SortsFiltersAndColours) {
    const TopSample before = sample(1'800'000'000'000, 1000);
    const TopSample now = sample(1'800'000'002'000, 2000);
    TopView view;
    const auto first_row = [&] {
        const std::string picture = render_top(&before, now, 80, 40, view);
        const std::size_t from = picture.find('\n', picture.find("HUB ")) + 1;
        return picture.substr(from, picture.find(' ', from + 15) - from);
    };
    EXPECT_EQ(first_row(), "app            orchestrator");
    EXPECT_TRUE(press(view, 's'));
    EXPECT_EQ(first_row(), "app            worker");
    EXPECT_TRUE(press(view, 's'));
    EXPECT_EQ(view.sort, TopView::Sort::kOldest);
    EXPECT_EQ(first_row(), "app            worker");
    press(view, 's');
    EXPECT_EQ(view.sort, TopView::Sort::kRate);
    press(view, 's');
    EXPECT_EQ(view.sort, TopView::Sort::kName);
    for (const char key : std::string_view("/tiq\x7fm")) {
        EXPECT_TRUE(press(view, key));
    }
    EXPECT_EQ(view.filter, "tim");
    press(view, '\r');
    EXPECT_FALSE(view.asks_filter);
    EXPECT_EQ(first_row(), "app            timers");
    press(view, '\x1b');
    EXPECT_EQ(view.filter, "");
    press(view, '?');
    EXPECT_NE(render_top(&before, now, 80, 40, view).find("q  leave"), std::string::npos);
    press(view, 'h');
    EXPECT_FALSE(view.help);
    EXPECT_FALSE(press(view, 'q'));
    EXPECT_EQ(render_top(&before, now, 80, 40, view).find('\x1b'), std::string::npos);
    view.colours = true;
    const std::string coloured = render_top(&before, now, 80, 40, view);
    EXPECT_NE(coloured.find("\x1b[31mapp            worker"), std::string::npos);
    EXPECT_NE(coloured.find("\x1b[33mpaused: "), std::string::npos);
    EXPECT_NE(coloured.find("\x1b[1mHUB"), std::string::npos);
}

TEST(ToolPrint, PrintsLinesApart) {
    EXPECT_EQ(printable_lines("one"), "one");
    EXPECT_EQ(printable_lines("one\n\ttwo\x1b\n\n three\n"), "one\n  two\\u001b\n  three");
}

TEST(ToolSuggest, FindsNearNames) {
    EXPECT_EQ(distance("", "abc"), 3u);
    EXPECT_EQ(distance("histroy", "history"), 1u);
    EXPECT_EQ(distance("kitten", "sitting"), 3u);
    const std::vector<std::string> names = {"top", "task", "tasks", "queues", "schedules", "show"};
    using Names = std::vector<std::string>;
    EXPECT_EQ(near_names("tsk", names), Names{"task"});
    EXPECT_EQ(near_names("task", names), (Names{"task", "tasks"}));
    EXPECT_EQ(near_names("sched", names), Names{"schedules"});
    EXPECT_EQ(near_names("xyzzy", names), Names{});
}

TEST(ToolTop, ShowsQueues) {
    TopSample now{.database = "shop", .at_ms = 1'800'000'000'000};
    now.hubs = {{.name = "app"}};
    now.queues = {{.hub = "app", .queue = "tasks", .leases = 4}};
    now.task_queues = {{"app",
                        {.queue = "images",
                         .ready = 12,
                         .delayed = 3,
                         .active = 4,
                         .overdue_leases = 1,
                         .oldest_ready_age = Milliseconds(1500)}},
                       {"app", {.queue = "mail\x1b", .paused = true}}};
    now.owners = {{"app", "resizer-1", 4}};
    EXPECT_EQ(render_top(nullptr, now, 80, 24),
              "belay top  shop  2027-01-15 08:00:00Z  hubs 1\n"
              "paused: app (queue mail\\u001b)\n"
              "HUB            QUEUE          DEPTH OLDEST LEASED  WAIT    IN/s  DONE/s  DEAD\n"
              "app            tasks             12      -      4     0       -       -     0\n"
              "\n"
              "HUB            QUEUE                   READY  DELAYED  ACTIVE OVERDUE OLDEST\n"
              "app            images                     12        3       4       1   1.5s\n"
              "app            mail\\u001b                  0        0       0       0      -\n"
              "\n"
              "HUB            WORKER                                                    LEASED\n"
              "app            resizer-1                                                      4");
    const Json json = top_json(nullptr, now);
    EXPECT_EQ(json["task_queues"][0]["overdue_leases"], 1);
    EXPECT_EQ(json["task_queues"][1]["paused"], true);
}

TEST(ToolTop, HasRatesOnlyOfCountersThatGrow) {
    const TopSample before = sample(1'800'000'000'000, 2000);
    const TopSample after_reset = sample(1'800'000'001'000, 0);
    for (const auto& row : top_rows(&before, after_reset)) {
        if (row.hub == "app" && row.queue == "worker") {
            EXPECT_FALSE(row.enqueued);
        }
    }
    const Json json = top_json(&before, sample(1'800'000'001'000, 3000));
    EXPECT_EQ(json["queues"][1]["enqueued_per_s"], 10000.0);
    EXPECT_EQ(json["workers"].size(), 2u);
}

}  // namespace
}  // namespace belay::tool
