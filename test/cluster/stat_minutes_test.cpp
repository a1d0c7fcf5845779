// What the duty stat_minutes records of the counters: SM-4 to SM-6.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "cluster.hpp"

namespace belay::test {
namespace {

class StatMinutes : public testing::Test {
 protected:
    StatMinutes()
        : cluster({.preload = true, .conf = {"belay.reconcile_interval = 0"}}),
          conn(cluster.connect()) {
        conn.exec("CREATE EXTENSION belay");
        conn.exec("SELECT belay.create_hub('app')");
        conn.exec("SELECT belay.set_hub_option('app', 'max_clock_skew', '0')");
    }

    // Runs the duty in a minute; returns how many rows it has written or deleted.
    std::string record(int minute) {
        return conn.value("SELECT rows FROM app.reconcile('{stat_minutes}', p_now_ms => " +
                          std::to_string(minute) + " * 60000 + 1234)");
    }
    // What was recorded: minute, queue, queue of tasks, created, completed.
    std::string recorded() {
        return conn.value(
            "SELECT coalesce(string_agg(concat_ws(' ', minute_ms / 60000, queue, task_queue, "
            "counts[1], counts[3]), ', ' ORDER BY minute_ms, queue, task_queue), '') FROM "
            "app.stat_minutes");
    }
    void create(const std::string& queue) {
        conn.exec("SELECT app.create_task('" + queue + "', p_now_ms => 1000)");
    }

    Cluster cluster;
    Conn conn;
};

TEST_F(StatMinutes, RecordWhatCameSinceTheLastRow) {
    EXPECT_EQ(record(100), "0");
    create("mail");
    create("mail");
    create("post");
    EXPECT_EQ(record(101), "3");
    EXPECT_EQ(recorded(), "101 tasks  3 0, 101 tasks mail 2 0, 101 tasks post 1 0");
    // Once a minute; nothing of what stands still.
    create("mail");
    EXPECT_EQ(record(101), "0");
    EXPECT_EQ(record(102), "2");
    EXPECT_EQ(record(103), "0");
    EXPECT_EQ(conn.value("SELECT string_agg(concat_ws(' ', task_queue, created, depth, oldest_ms), "
                         "', ' ORDER BY task_queue) FROM (SELECT * FROM app.stat_series(102 * "
                         "60000, 103 * 60000, p_queue => 'tasks') UNION ALL SELECT * FROM "
                         "app.stat_series(102 * 60000, 103 * 60000, p_task_queue => 'mail')) AS s"),
              "mail 1 3 6120234, 1 4 6120234");
    // What is rolled back leaves the counts to the next row.
    conn.exec(
        "SELECT app.complete_task(task_id, lease_epoch) FROM app.claim_tasks('w', 'i', '{mail}')");
    conn.exec("BEGIN");
    EXPECT_EQ(record(104), "2");
    conn.exec("ROLLBACK");
    EXPECT_EQ(record(105), "2");
    EXPECT_EQ(conn.value("SELECT concat_ws(' ', created, claimed, completed, wait_sum_ms > 0, "
                         "run_buckets[1]) FROM app.stat_series(103 * 60000, 200 * 60000, 97 * "
                         "60000, p_task_queue => 'mail')"),
              "0 1 1 t 1");
    // Messages and work items.
    conn.exec("SELECT app.start_orchestration('O', p_now_ms => 1000)");
    EXPECT_EQ(record(106), "1");
    EXPECT_EQ(conn.value("SELECT concat_ws(' ', queue, created, depth) FROM app.stat_series(106 * "
                         "60000, 107 * 60000)"),
              "orchestrator 1 1");
}

// Rows stay, counters begin anew.
TEST_F(StatMinutes, SurviveRestartsAndResets) {
    create("q");
    create("q");
    EXPECT_EQ(record(100), "2");
    conn.exec("SELECT belay.stat_reset()");
    create("q");
    EXPECT_EQ(record(101), "2");
    cluster.restart();
    conn = cluster.connect();
    EXPECT_EQ(record(102), "0");
    create("q");
    create("q");
    create("q");
    EXPECT_EQ(record(103), "2");
    EXPECT_EQ(recorded(),
              "100 tasks  2 0, 100 tasks q 2 0, 101 tasks  1 0, 101 tasks q 1 0, 103 tasks  3 0, "
              "103 tasks q 3 0");
}

// What happened while recording was off is in no row.
TEST_F(StatMinutes, SwitchedOff) {
    create("q");
    EXPECT_EQ(record(100), "2");
    conn.exec("SELECT belay.set_hub_option('app', 'stat_retention', '0')");
    EXPECT_EQ(record(101), "4");
    create("q");
    EXPECT_EQ(record(102), "0");
    EXPECT_EQ(recorded(), "");
    conn.exec("SELECT belay.set_hub_option('app', 'stat_retention', '1 day')");
    record(103);
    EXPECT_EQ(recorded(), "");
    create("q");
    record(104);
    EXPECT_EQ(recorded(), "104 tasks  1 0, 104 tasks q 1 0");
}

// A session that records does not make another one wait, or record the same.
TEST_F(StatMinutes, OneRecordsAtATime) {
    create("q");
    conn.exec("BEGIN");
    EXPECT_EQ(record(100), "2");
    Conn other = cluster.connect();
    EXPECT_EQ(
        other.value("SELECT rows FROM app.reconcile('{stat_minutes}', p_now_ms => 101 * 60000)"),
        "0");
    conn.exec("COMMIT");
    EXPECT_EQ(recorded(), "100 tasks  1 0, 100 tasks q 1 0");
}

// The background worker runs it, and a standby shows what was recorded.
TEST(StatMinutesInTheBackground, OnAStandby) {
    Cluster cluster({.preload = true, .conf = {"belay.reconcile_interval = 100"}});
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    conn.exec("SELECT belay.create_hub('app')");
    conn.exec("SELECT app.create_task('q')");
    const std::string series =
        "SELECT coalesce(sum(created), 0) FROM app.stat_series((extract(epoch FROM now()) * "
        "1000)::bigint - 600000, (extract(epoch FROM now()) * 1000)::bigint + 600000, p_queue => "
        "'tasks')";
    for (int i = 0; i < 1200 && conn.value(series) != "1"; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_EQ(conn.value(series), "1");
    const auto standby = cluster.make_standby();
    Conn there = standby->connect();
    EXPECT_EQ(there.value(series), "1");
}

}  // namespace
}  // namespace belay::test
