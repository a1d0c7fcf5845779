// Counters and durations of tasks by queue and kind: MT-6 to MT-8.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "cluster.hpp"

namespace belay::test {
namespace {

class TaskStats : public testing::Test {
 protected:
    explicit TaskStats(std::vector<std::string> conf = {})
        : cluster({.preload = true, .conf = std::move(conf)}), conn(cluster.connect()) {
        conn.exec("CREATE EXTENSION belay");
        conn.exec("SELECT belay.create_hub('app')");
        conn.exec(
            "CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql AS 'SELECT (extract(epoch FROM "
            "clock_timestamp()) * 1000)::bigint'");
        conn.exec("SELECT belay.set_hub_option('app', 'max_clock_skew', '0')");
    }

    // All rows of a hub: queue, kind and the counters, in the order of their columns.
    std::string counts(const std::string& hub = "app") {
        return conn.value(
            "SELECT coalesce(string_agg(concat_ws(' ', queue, kind, created, claimed, completed, "
            "failed, retried, cancelled, expired, lost), ', ' ORDER BY queue, kind), '') FROM "
            "belay.pg_stat_belay_task_queue WHERE hub = '" +
            hub + "'");
    }
    void create(const std::string& queue, const std::string& kind = "k") {
        conn.exec("SELECT app.create_task('" + queue + "', p_kind => '" + kind + "')");
    }
    // Claims a task and does something with it: a call with the arguments %id and %epoch.
    void claim_and(const std::string& call) {
        conn.exec("SELECT " + call +
                  " FROM (SELECT task_id AS id, lease_epoch AS epoch FROM app.claim_tasks('w', "
                  "'i')) AS c");
    }
    int used() { return std::stoi(conn.value("SELECT stat_slots FROM belay.shared_memory()")); }

    Cluster cluster;
    Conn conn;
};

TEST_F(TaskStats, CountsEveryStepByQueueAndKind) {
    EXPECT_EQ(counts(), "");
    create("mail", "send");
    create("mail", "send");
    create("mail", "purge");
    EXPECT_EQ(counts(), "mail purge 1 0 0 0 0 0 0 0, mail send 2 0 0 0 0 0 0 0");
    conn.exec("SELECT app.cancel_task(id, 'enough') FROM app.tasks WHERE kind = 'purge'");
    claim_and("app.complete_task(c.id, c.epoch)");
    claim_and("app.fail_task(c.id, c.epoch, 'permanent')");
    EXPECT_EQ(counts(), "mail purge 1 0 0 0 0 1 0 0, mail send 2 2 1 1 0 0 0 0");
    // A retry, which is cancelled.
    create("retry");
    claim_and("app.fail_task(c.id, c.epoch, 'transient')");
    conn.exec("SELECT app.cancel_task(id, 'enough') FROM app.tasks WHERE state = 'delayed'");
    // The front door: many at once, and one that is completed.
    conn.exec("SELECT app.send_many('door', ARRAY['1', '2']::jsonb[])");
    conn.exec("SELECT app.complete(lease) FROM app.receive('door')");
    EXPECT_EQ(conn.value("SELECT string_agg(concat_ws(' ', queue, created, claimed, completed, "
                         "retried, cancelled), ', ' ORDER BY queue) FROM "
                         "belay.pg_stat_belay_task_queue WHERE queue <> 'mail'"),
              "door 2 1 1 0 0, retry 1 1 0 1 1");
}

TEST_F(TaskStats, CountsLeasesThatEndAndDeadlines) {
    conn.exec("SELECT app.create_task('late', p_kind => 'k', p_deadline_ms => now_ms() + 60000)");
    conn.exec("SELECT * FROM app.claim_tasks('w', 'i', p_lease_ms => 1000)");
    conn.exec("SELECT app.reconcile('{lease_expiry}', p_now_ms => now_ms() + 30000)");
    EXPECT_EQ(counts(), "late k 1 1 0 0 0 0 0 1");
    conn.exec("SELECT app.reconcile('{deadlines}', p_now_ms => now_ms() + 90000)");
    EXPECT_EQ(counts(), "late k 1 1 0 0 0 0 1 1");
}

TEST_F(TaskStats, MembersOfFlowsCount) {
    conn.exec(R"(SELECT app.create_flow('{"tasks": [{"key": "a", "queue": "q", "kind": "k"}]}'))");
    EXPECT_EQ(counts(), "q k 1 0 0 0 0 0 0 0");
}

// MT-6: as with the counters of hubs.
TEST_F(TaskStats, CountsNothingThatWasUndone) {
    conn.exec("BEGIN; SELECT app.create_task('q', p_kind => 'k'); ROLLBACK");
    conn.exec(
        "BEGIN; SAVEPOINT s; SELECT app.create_task('q', p_kind => 'k'); ROLLBACK TO s; COMMIT");
    EXPECT_EQ(counts(), "");
    EXPECT_EQ(used(), 0);
    conn.exec("BEGIN; SELECT app.create_task('q', p_kind => 'k'); SAVEPOINT s; SAVEPOINT t");
    conn.exec(
        "SELECT app.create_task('q', p_kind => 'k'), app.create_task('q', p_kind => 'l'); RELEASE "
        "t");
    conn.exec(
        "SAVEPOINT u; SELECT app.create_task('q', p_kind => 'k'), app.create_task('q', p_kind => "
        "'m')");
    conn.exec("ROLLBACK TO u; RELEASE s; SELECT app.create_task('q', p_kind => 'k'); COMMIT");
    EXPECT_EQ(counts(), "q k 3 0 0 0 0 0 0 0, q l 1 0 0 0 0 0 0 0");
    conn.exec("BEGIN; SAVEPOINT s");
    claim_and("app.complete_task(c.id, c.epoch)");
    conn.exec("ROLLBACK TO s; COMMIT");
    EXPECT_EQ(counts(), "q k 3 0 0 0 0 0 0 0, q l 1 0 0 0 0 0 0 0");
    EXPECT_EQ(conn.value("SELECT sum(count) FROM belay.pg_stat_belay_latency"), "0");
}

TEST_F(TaskStats, PreparedTransactionsTakeNoSlot) {
    conn.exec("BEGIN; SELECT app.create_task('q', p_kind => 'k'); PREPARE TRANSACTION 'first'");
    EXPECT_EQ(counts(), "");
    conn.exec("COMMIT PREPARED 'first'");
    create("q");
    conn.exec("BEGIN; SELECT app.create_task('q', p_kind => 'k'); PREPARE TRANSACTION 'second'");
    conn.exec("COMMIT PREPARED 'second'");
    EXPECT_EQ(counts(), "q k 2 0 0 0 0 0 0 0");
}

// MT-8: with the percentiles of what was counted.
TEST_F(TaskStats, Latency) {
    conn.exec("SELECT app.create_task('q', p_kind => 'k', p_now_ms => now_ms() - 3000)");
    claim_and("app.complete_task(c.id, c.epoch, p_now_ms => now_ms() + 25000)");
    const std::string row =
        "FROM belay.pg_stat_belay_latency WHERE hub = 'app' AND task_queue = 'q' AND kind = 'k' "
        "AND duration = ";
    EXPECT_EQ(conn.value("SELECT concat_ws(' ', queue, count, p50_ms, p95_ms, p99_ms, buckets[12], "
                         "cardinality(buckets)) " +
                         row + "'wait'"),
              "tasks 1 5000 5000 5000 1 22");
    EXPECT_EQ(conn.value("SELECT concat_ws(' ', count, p50_ms, buckets[14]) " + row + "'run'"),
              "1 30000 1");
    EXPECT_EQ(conn.value("SELECT sum_ms >= 25000 AND sum_ms < 30000 " + row + "'run'"), "t");
    // Longer than every bound: no percentile.
    conn.exec("SELECT app.create_task('q', p_kind => 'l', p_now_ms => now_ms() - 90000000)");
    conn.exec("SELECT app.claim_tasks('w', 'i')");
    EXPECT_EQ(conn.value("SELECT p50_ms IS NULL AND buckets[22] = 1 FROM "
                         "belay.pg_stat_belay_latency WHERE kind = 'l' AND duration = 'wait'"),
              "t");
    // Of the other queues by queue.
    conn.exec("SELECT app.start_orchestration('O')");
    conn.exec("SELECT * FROM app.fetch_orchestration_item(60000)");
    EXPECT_EQ(conn.value("SELECT count FROM belay.pg_stat_belay_latency WHERE queue = "
                         "'orchestrator' AND duration = 'wait' AND task_queue IS NULL"),
              "1");
    const std::string metrics = conn.value("SELECT belay.metrics('prometheus')");
    for (
        const std::string sample :
        {R"(belay_task_created_total{database="postgres",hub="app",queue="q",kind="k"} 1)",
         R"(belay_task_wait_seconds_bucket{database="postgres",hub="app",queue="q",kind="k",le="5.0"} 1)",
         R"(belay_task_run_seconds_count{database="postgres",hub="app",queue="q",kind="k"} 1)"}) {
        EXPECT_NE(metrics.find(sample), std::string::npos) << sample;
    }
}

TEST_F(TaskStats, ShowOnlyWhatTheCallerMayMonitor) {
    create("q");
    conn.exec("CREATE ROLE watcher; SELECT belay.grant_hub('app', 'watcher', 'monitor')");
    conn.exec("CREATE ROLE stranger");
    const std::string rows =
        "SELECT (SELECT count(*) FROM belay.pg_stat_belay_task_queue) || ' ' || (SELECT count(*) "
        "FROM belay.pg_stat_belay_latency WHERE queue = 'tasks')";
    conn.exec("SET ROLE watcher");
    EXPECT_EQ(conn.value(rows), "1 2");
    conn.exec("SET ROLE stranger");
    EXPECT_EQ(conn.value(rows), "0 0");
}

// ---- Slots (MT-7) ----

TEST_F(TaskStats, SlotsAreFreeWhenTheHubIsGoneOrCountsAreReset) {
    create("q", "a");
    create("q", "b");
    EXPECT_EQ(used(), 2);
    conn.exec("BEGIN; SELECT belay.drop_hub('app', true); ROLLBACK");
    EXPECT_EQ(counts(), "q a 1 0 0 0 0 0 0 0, q b 1 0 0 0 0 0 0 0");
    conn.exec("SELECT belay.stat_reset()");
    EXPECT_EQ(used(), 0);
    create("q", "a");
    EXPECT_EQ(counts(), "q a 1 0 0 0 0 0 0 0");
    // Counts and goes in one transaction.
    conn.exec(
        "BEGIN; SELECT app.create_task('q', p_kind => 'b'); SELECT belay.drop_hub('app', true)");
    conn.exec("COMMIT");
    EXPECT_EQ(used(), 0);
    conn.exec("SELECT belay.create_hub('app')");
    EXPECT_EQ(counts(), "");
    // Those of a dropped database.
    conn.exec("CREATE DATABASE other");
    {
        Conn there = cluster.connect("other");
        there.exec("CREATE EXTENSION belay; SELECT belay.create_hub('d')");
        there.exec("SELECT d.create_task('q', p_kind => 'k')");
    }
    EXPECT_EQ(used(), 1);
    conn.exec("DROP DATABASE other");
    EXPECT_EQ(used(), 0);
}

// The background worker finds them.
TEST_F(TaskStats, SlotsOfADroppedSchemaAreFreed) {
    create("q");
    conn.exec("SET client_min_messages = error; DROP SCHEMA app CASCADE");
    for (int i = 0; i < 1200 && used() != 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_EQ(used(), 0);
}

class FewTaskStats : public TaskStats {
 protected:
    FewTaskStats() : TaskStats({"belay.stat_slots = 2"}) {}
};

TEST_F(FewTaskStats, CountTheRestTogether) {
    create("q", "a");
    create("q", "b");
    create("q", "c");
    create("r", "d");
    create("q", "a");
    EXPECT_EQ(counts(), "* * 2 0 0 0 0 0 0 0, q a 2 0 0 0 0 0 0 0, q b 1 0 0 0 0 0 0 0");
    // Each hub has a row of its own for the rest.
    conn.exec("SELECT belay.create_hub('more'); SELECT more.create_task('q', p_kind => 'a')");
    EXPECT_EQ(counts("more"), "* * 1 0 0 0 0 0 0 0");
    conn.exec("SELECT belay.drop_hub('app', true)");
    conn.exec("SELECT more.create_task('q', p_kind => 'a')");
    EXPECT_EQ(counts("more"), "* * 1 0 0 0 0 0 0 0, q a 1 0 0 0 0 0 0 0");
}

// A transaction that counts in more classes than it can list.
TEST_F(TaskStats, OneTransactionWithManyKinds) {
    conn.exec(
        "SELECT count(*) FROM generate_series(1, 1500) AS i, app.create_task('q', p_kind => 'kind' "
        "|| i)");
    EXPECT_EQ(conn.value("SELECT sum(created) FROM belay.pg_stat_belay_task_queue"), "1500");
    EXPECT_EQ(conn.value("SELECT created FROM belay.pg_stat_belay_task_queue WHERE queue = '*'"),
              "476");
}

TEST(TaskStatsWithoutPreload, HaveNoRowsOnOldServers) {
    Cluster cluster;
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    conn.exec("SELECT belay.create_hub('app'); SELECT app.create_task('q', p_kind => 'k')");
    const bool has_segments =
        std::stoi(conn.value("SELECT current_setting('server_version_num')")) >= 170000;
    EXPECT_EQ(conn.value("SELECT count(*) FROM belay.pg_stat_belay_task_queue"),
              has_segments ? "1" : "0");
}

}  // namespace
}  // namespace belay::test
