// What belay does by itself for a hub on its node, and what it says about it: from the shards.
#include "nodes.hpp"

namespace belay::test {
namespace {

std::string value_of(Conn& conn, const std::string& column, const std::string& queue) {
    return conn.value("SELECT " + column +
                      " FROM belay.pg_stat_belay_queue WHERE hub = 'app' AND " + "queue = '" +
                      queue + "'");
}

// SO-45: nothing but the background worker of the node calls anything here.
TEST_F(Citus, WorkerServesShards) {
    nodes.make_app();
    Conn conn = nodes.first.connect();
    conn.exec("SELECT belay.set_hub_option('app', 'max_clock_skew', '0')");
    const auto state_of = [](const std::string& queue) {
        return "SELECT state FROM app.tasks WHERE queue = '" + queue + "'";
    };
    const auto claim = [&conn](const std::string& queue, int lease_ms) {
        conn.exec("SELECT app.create_task('" + queue + "')");
        return conn.exec("SELECT task_id, lease_epoch FROM app.claim_tasks('w', 'w-1', ARRAY['" +
                         queue + "'], p_lease_ms => " + std::to_string(lease_ms) + ")");
    };
    // The lease of a task expires.
    claim("lost", 100);
    EXPECT_TRUE(
        becomes(conn, "SELECT lease_owner IS NULL FROM app.tasks WHERE queue = 'lost'", "t"));
    // A suspension times out.
    const Rows task = claim("waits", 60000);
    conn.exec("SELECT app.suspend_task('" + *task.at(0, 0) + "', " + *task.at(0, 1) +
              ", jsonb_build_object('waitpoints', '[{\"key\": \"k\"}]'::jsonb, 'condition', "
              "'operator_only', 'on_timeout', 'cancel', 'timeout_at_ms', "
              "(extract(epoch FROM clock_timestamp()) * 1000)::bigint + 100))");
    EXPECT_TRUE(becomes(conn, state_of("waits"), "cancelled"));
    // A deadline passes.
    conn.exec(
        "SELECT app.create_task('late', p_delay_ms => 3600000, p_deadline_ms => "
        "(extract(epoch FROM clock_timestamp()) * 1000)::bigint + 100)");
    EXPECT_TRUE(becomes(conn,
                        "SELECT terminal_at_ms IS NOT NULL FROM app.tasks "
                        "WHERE queue = 'late'",
                        "t"));
    // A schedule fires.
    conn.exec(
        "SELECT app.create_schedule('s', '* * * * *', '{\"queue\": \"cron\"}', p_now_ms => 0)");
    EXPECT_TRUE(becomes(conn, "SELECT count(*) > 0 FROM app.tasks WHERE queue = 'cron'", "t"));
    // A dead letter is too old.
    conn.exec("SELECT belay.set_hub_option('app', 'max_attempts', '1')");
    conn.exec(enqueue("poison"));
    conn.exec("SELECT app.abandon_work_item(lock_token) FROM app.fetch_work_item(60000)");
    EXPECT_EQ(conn.value("SELECT count(*) FROM app.fetch_work_item(60000)"), "0");
    EXPECT_EQ(conn.value("SELECT count(*) FROM app.dead_letters"), "1");
    conn.exec("SELECT belay.set_hub_option('app', 'dead_letter_retention', '0')");
    EXPECT_EQ(conn.value("SELECT rows FROM app.reconcile('{dead_letters}')"), "1");
    EXPECT_EQ(conn.value("SELECT count(*) FROM app.dead_letters"), "0");
    EXPECT_EQ(conn.value("SELECT string_agg(duty || ': ' || last_error, ', ') FROM belay.workers "
                         "WHERE last_error IS NOT NULL"),
              "");
}

// SO-45: what is ready, and how old it is.
TEST_F(Citus, GaugesCountShards) {
    nodes.make_app();
    Conn conn = nodes.first.connect();
    conn.exec(enqueue("x"));
    conn.exec(enqueue("y"));
    conn.exec("SELECT app.start_orchestration('O', '', 'i', '1')");
    conn.exec("SELECT app.send('mail')");
    for (const std::string queue : {"worker", "orchestrator", "tasks"}) {
        EXPECT_EQ(value_of(conn, "oldest_ready_ms IS NOT NULL", queue), "t") << queue;
    }
    const std::string metrics = conn.value("SELECT belay.metrics()");
    for (const std::string queue : {"worker\"} 2", "orchestrator\"} 1", "tasks\"} 1"}) {
        EXPECT_NE(metrics.find("hub=\"app\",queue=\"" + queue), std::string::npos) << metrics;
    }
}

}  // namespace
}  // namespace belay::test
