// Counters, gauges and the text for Prometheus.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "cluster.hpp"

namespace belay::test {
namespace {

const std::string kItem =
    R"({"ActivityExecute":{"instance":"i","execution_id":1,"id":1,"name":"n","input":""}})";

class Monitoring : public testing::Test {
 protected:
    Monitoring() : cluster({.preload = true}), conn(cluster.connect()) {
        conn.exec("CREATE EXTENSION belay");
        conn.exec("SELECT belay.create_hub('app')");
    }

    std::string stat(const std::string& column, const std::string& queue = "worker") {
        return conn.value("SELECT " + column +
                          " FROM belay.pg_stat_belay_queue WHERE hub = 'app' AND queue = '" +
                          queue + "'");
    }
    void enqueue() { conn.exec("SELECT app.enqueue_worker_work('" + kItem + "')"); }
    std::string fetch(int ms = 60000) {
        return conn.value("SELECT lock_token FROM app.fetch_work_item(" + std::to_string(ms) + ")");
    }

    Cluster cluster;
    Conn conn;
};

TEST_F(Monitoring, CountsWhatWasCommitted) {
    for (int i = 0; i < 5; ++i) {
        enqueue();
    }
    conn.exec("BEGIN; SELECT app.enqueue_worker_work('" + kItem + "'); ROLLBACK");
    EXPECT_EQ(stat("enqueued"), "5");
    const std::string first = fetch();
    conn.exec("SELECT app.renew_work_item_lock('" + first + "', 60000)");
    conn.exec("SELECT app.ack_worker('" + first + "')");
    EXPECT_EQ(conn.error_of("SELECT app.ack_worker('" + first + "')"), "QB001");
    conn.exec("SELECT app.abandon_work_item('" + fetch() + "')");
    EXPECT_EQ(stat("fetched || ' ' || renewed || ' ' || acked || ' ' || lost_leases || ' ' || "
                   "abandoned || ' ' || leases"),
              "2 1 1 1 1 0");
    EXPECT_EQ(conn.exec("SELECT * FROM app.fetch_orchestration_item(1000)").size(), 0);
    EXPECT_EQ(stat("empty_fetches", "orchestrator"), "1");
    conn.exec("SELECT app.start_orchestration('O')");
    conn.exec("SELECT * FROM app.fetch_orchestration_item(60000)");
    EXPECT_EQ(stat("enqueued || ' ' || fetched || ' ' || leases", "orchestrator"), "1 1 1");
    EXPECT_EQ(conn.value("SELECT enqueued FROM belay.pg_stat_belay_hub WHERE hub = 'app'"), "6");

    conn.exec("SELECT belay.stat_reset()");
    EXPECT_EQ(stat("enqueued || ' ' || fetched || ' ' || lost_leases"), "0 0 0");
    EXPECT_EQ(stat("leases", "orchestrator"), "1");
}

TEST_F(Monitoring, CountsExpiredAndDeadLetters) {
    conn.exec("SELECT belay.set_hub_option('app', 'max_attempts', '2')");
    conn.exec("SELECT belay.set_hub_option('app', 'max_clock_skew', '0')");
    enqueue();
    const std::string far = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint + ";
    conn.exec("SELECT * FROM app.fetch_work_item(1000)");
    EXPECT_EQ(
        conn.exec("SELECT * FROM app.fetch_work_item(1000, p_now_ms => " + far + "5000)").size(),
        1);
    EXPECT_EQ(stat("expired"), "1");
    EXPECT_EQ(
        conn.exec("SELECT * FROM app.fetch_work_item(1000, p_now_ms => " + far + "9000)").size(),
        0);
    EXPECT_EQ(stat("dead_lettered"), "1");
}

TEST_F(Monitoring, AgeOfTheOldestReadyItem) {
    EXPECT_EQ(stat("oldest_ready_ms"), "");
    enqueue();
    conn.exec("UPDATE app.worker_queue SET visible_at = clock_timestamp() - interval '1 hour'");
    EXPECT_GE(std::stol(stat("oldest_ready_ms")), 3600 * 1000);
    conn.exec("SELECT app.enqueue_worker_work('" + kItem + "', p_tag => 'nobody')");
    fetch();
    // The row whose tag no session serves is the oldest now.
    EXPECT_NE(stat("oldest_ready_ms"), "");
    EXPECT_LT(std::stol(stat("oldest_ready_ms")), 3600 * 1000);
}

TEST_F(Monitoring, ShowsOnlyWhatTheCallerMayMonitor) {
    conn.exec("SELECT belay.create_hub('other')");
    conn.exec("CREATE ROLE watcher; SELECT belay.grant_hub('app', 'watcher', 'monitor')");
    conn.exec("CREATE ROLE all_seeing; GRANT pg_monitor TO all_seeing");
    conn.exec("CREATE ROLE stranger");
    const std::string hubs =
        "SELECT string_agg(hub, ' ' ORDER BY hub) FROM belay.pg_stat_belay_hub";
    conn.exec("SET ROLE watcher");
    EXPECT_EQ(conn.value(hubs), "app");
    EXPECT_EQ(conn.error_of("SELECT belay.stat_reset()"), "42501");
    conn.exec("SET ROLE all_seeing");
    EXPECT_EQ(conn.value(hubs), "app other");
    conn.exec("SET ROLE stranger");
    EXPECT_EQ(conn.value(hubs), "");
}

// ---- Counters and transactions ----

// MT-1: what a subtransaction did that was rolled back is not counted; what it did that was kept
// is.
TEST_F(Monitoring, CountsNothingThatWasUndone) {
    const std::string counters =
        "concat_ws(' ', enqueued, fetched, acked, abandoned, renewed, lost_leases)";
    conn.exec(
        "DO $$ BEGIN PERFORM app.ack_worker('not the token'); EXCEPTION WHEN SQLSTATE 'QB001' "
        "THEN NULL; END $$");
    EXPECT_EQ(stat(counters), "0 0 0 0 0 1");
    conn.exec("BEGIN; SAVEPOINT s; SELECT app.enqueue_worker_work('" + kItem + "')");
    conn.exec("ROLLBACK TO s; RELEASE s; COMMIT");
    EXPECT_EQ(stat("enqueued"), "0");
    conn.exec("BEGIN; SAVEPOINT s; SAVEPOINT t; SELECT app.enqueue_worker_work('" + kItem + "')");
    conn.exec("RELEASE t; SAVEPOINT u; SELECT app.enqueue_worker_work('" + kItem + "')");
    conn.exec("ROLLBACK TO u; RELEASE s; SELECT app.enqueue_worker_work('" + kItem + "'); COMMIT");
    EXPECT_EQ(stat("enqueued"), "2");
    // Every counter of a work item.
    conn.exec("BEGIN; SAVEPOINT s");
    const std::string token = fetch();
    conn.exec("SELECT app.renew_work_item_lock('" + token + "', 60000)");
    conn.exec("SELECT app.ack_worker('" + token + "')");
    conn.exec("SELECT app.abandon_work_item('" + fetch() + "')");
    conn.exec("ROLLBACK TO s; COMMIT");
    EXPECT_EQ(stat(counters), "2 0 0 0 0 1");
    // And of a task.
    conn.exec("BEGIN; SAVEPOINT s; SELECT app.create_task('k')");
    conn.exec(
        "SELECT app.fail_task(task_id, lease_epoch, 'permanent') FROM app.claim_tasks('w', 'i')");
    conn.exec("ROLLBACK TO s; COMMIT");
    EXPECT_EQ(stat("concat_ws(' ', enqueued, fetched, acked, abandoned, failed)", "tasks"),
              "0 0 0 0 0");
}

TEST_F(Monitoring, CountsHowTasksEnd) {
    const std::string counters = "concat_ws(' ', acked, failed, retried, cancelled, timed_out)";
    conn.exec("SELECT belay.set_hub_option('app', 'max_clock_skew', '0')");
    const std::string claim =
        "(SELECT task_id AS id, lease_epoch AS epoch FROM app.claim_tasks('w', 'i')) AS c";
    conn.exec("SELECT app.create_task('k')");
    conn.exec("SELECT app.complete_task(c.id, c.epoch) FROM " + claim);
    EXPECT_EQ(stat(counters, "tasks"), "1 0 0 0 0");
    conn.exec("SELECT app.create_task('k')");
    conn.exec("SELECT app.fail_task(c.id, c.epoch, 'permanent') FROM " + claim);
    EXPECT_EQ(stat(counters, "tasks"), "1 1 0 0 0");
    conn.exec("SELECT app.create_task('k')");
    conn.exec("SELECT app.fail_task(c.id, c.epoch, 'transient') FROM " + claim);
    EXPECT_EQ(stat(counters, "tasks"), "1 1 1 0 0");
    conn.exec("SELECT app.cancel_task(id, 'enough') FROM app.tasks WHERE state = 'delayed'");
    EXPECT_EQ(stat(counters, "tasks"), "1 1 1 1 0");
}

// ---- Slots (MT-2) ----

class CounterSlots : public testing::Test {
 protected:
    CounterSlots()
        : cluster({.preload = true, .conf = {"belay.reconcile_interval = 50"}}),
          conn(cluster.connect()) {
        conn.exec("CREATE EXTENSION belay");
    }
    int used() { return std::stoi(conn.value("SELECT counter_slots FROM belay.shared_memory()")); }
    void use(const std::string& hub) {
        conn.exec("SELECT belay.create_hub('" + hub + "')");
        conn.exec("SELECT " + hub + ".enqueue_worker_work('" + kItem + "')");
    }
    testing::AssertionResult falls_to(int count) {
        for (int i = 0; i < 1200; ++i) {
            if (used() == count) {
                return testing::AssertionSuccess();
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        return testing::AssertionFailure() << used() << " are taken";
    }

    Cluster cluster;
    Conn conn;
};

TEST_F(CounterSlots, AreTakenByCommittedHubsOnly) {
    conn.exec("BEGIN");
    use("app");
    EXPECT_EQ(conn.error_of("SELECT app.ack_worker('not the token')"), "QB001");
    conn.exec("ROLLBACK");
    EXPECT_EQ(used(), 0);
    // Nor by those who only look.
    conn.exec("SELECT belay.create_hub('app')");
    EXPECT_EQ(conn.value("SELECT enqueued FROM belay.pg_stat_belay_hub"), "0");
    EXPECT_EQ(used(), 0);
    conn.exec("SELECT app.enqueue_worker_work('" + kItem + "')");
    EXPECT_EQ(used(), 1);
}

// PREPARE is no commit.
TEST_F(CounterSlots, PreparedTransactionsTakeAndFreeNone) {
    conn.exec("BEGIN");
    use("new");
    conn.exec("PREPARE TRANSACTION 'new'");
    EXPECT_EQ(used(), 0);
    conn.exec("ROLLBACK PREPARED 'new'");
    use("app");
    conn.exec("BEGIN; SELECT app.enqueue_worker_work('" + kItem + "'); PREPARE TRANSACTION 'more'");
    conn.exec("COMMIT PREPARED 'more'");
    const std::string enqueued = "SELECT enqueued FROM belay.pg_stat_belay_hub WHERE hub = 'app'";
    EXPECT_EQ(conn.value(enqueued), "2");
    conn.exec("BEGIN; SELECT belay.drop_hub('app', true); PREPARE TRANSACTION 'drop'");
    conn.exec("ROLLBACK PREPARED 'drop'");
    EXPECT_EQ(conn.value(enqueued), "2");
}

TEST_F(CounterSlots, AreFreeWhenTheHubIsGone) {
    use("a");
    use("b");
    use("c");
    EXPECT_EQ(used(), 3);
    conn.exec("BEGIN; SELECT belay.drop_hub('a', true); ROLLBACK");
    EXPECT_EQ(used(), 3);
    EXPECT_EQ(conn.value("SELECT enqueued FROM belay.pg_stat_belay_hub WHERE hub = 'a'"), "1");
    conn.exec("SELECT belay.drop_hub('a', true)");
    EXPECT_EQ(used(), 2);
    conn.exec("DROP SCHEMA b CASCADE");
    EXPECT_TRUE(falls_to(1));
    use("a");
    EXPECT_EQ(conn.value("SELECT enqueued FROM belay.pg_stat_belay_hub WHERE hub = 'a'"), "1");
    // Those of a dropped database.
    conn.exec("CREATE DATABASE other");
    {
        Conn there = cluster.connect("other");
        there.exec("CREATE EXTENSION belay; SELECT belay.create_hub('d')");
        there.exec("SELECT d.enqueue_worker_work('" + kItem + "')");
    }
    EXPECT_EQ(used(), 3);
    conn.exec("DROP DATABASE other");
    EXPECT_EQ(used(), 2);
}

TEST(CounterSlotsFull, LeaveCountersNull) {
    Cluster cluster({.preload = true, .conf = {"belay.counter_slots = 1"}});
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    for (const std::string hub : {"a", "b"}) {
        conn.exec("SELECT belay.create_hub('" + hub + "')");
        conn.exec("SELECT " + hub + ".enqueue_worker_work('" + kItem + "')");
    }
    EXPECT_EQ(conn.value("SELECT enqueued FROM belay.pg_stat_belay_queue WHERE hub = 'a' AND queue "
                         "= 'worker'"),
              "1");
    EXPECT_EQ(conn.value("SELECT count(*) FROM belay.pg_stat_belay_queue WHERE hub = 'b' AND "
                         "enqueued IS NULL AND failed IS NULL AND stats_reset IS NULL"),
              "3");
    // The next one in line.
    conn.exec("SELECT belay.drop_hub('a', true); SELECT b.enqueue_worker_work('" + kItem + "')");
    EXPECT_EQ(conn.value("SELECT enqueued FROM belay.pg_stat_belay_queue WHERE hub = 'b' AND queue "
                         "= 'worker'"),
              "1");
}

// ---- Gauges (MT-3) ----

TEST_F(Monitoring, WaitersAndLeasesOfTasks) {
    conn.exec("SELECT app.create_task('mail')");
    conn.exec("SELECT * FROM app.claim_tasks('w', 'i')");
    EXPECT_EQ(stat("leases || ' ' || waiters", "tasks"), "1 0");
    // One session that waits for two queues is one waiter.
    Conn waiter = cluster.connect();
    ASSERT_EQ(PQsendQuery(waiter.raw(),
                          "CALL app.wait_for_work(ARRAY['queue:mail', 'queue:post'], 60000)"),
              1);
    std::string seen;
    for (int i = 0; i < 1200 && seen != "1 1"; ++i) {
        seen = stat("leases || ' ' || waiters", "tasks");
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_EQ(seen, "1 1");
    conn.exec("SELECT pg_cancel_backend(" + std::to_string(waiter.backend_pid()) + ")");
}

// ---- Text for Prometheus (MT-4) ----

struct Metrics {
    std::map<std::string, std::string> types;    // of families
    std::map<std::string, std::string> samples;  // by name and labels, without the database
};

// Reads the text as a parser does: families announced before their samples, each once and with a
// help, counters with _total, labels quoted.
Metrics parse_metrics(const std::string& text, bool open) {
    Metrics result;
    const std::regex sample(
        R"re(([a-z_]+)\{database="postgres"((?:,[a-z_]+="(?:[^"\\\n]|\\["\\n])*")*)\} ([0-9]+(?:\.[0-9]+)?(?:e[+-][0-9]+)?))re");
    std::istringstream lines(text);
    std::string line;
    std::string family;
    std::string helped;
    bool ended = false;
    while (std::getline(lines, line)) {
        EXPECT_FALSE(ended) << "text after the end";
        std::smatch match;
        if (open && line == "# EOF") {
            ended = true;
        } else if (line.starts_with("# HELP ")) {
            std::istringstream words(line.substr(7));
            std::string help;
            words >> helped >> help;
            EXPECT_NE(help, "") << line;
        } else if (line.starts_with("# TYPE ")) {
            std::istringstream words(line.substr(7));
            std::string type;
            words >> family >> type;
            EXPECT_EQ(family, helped);
            EXPECT_TRUE(result.types.emplace(family, type).second) << "family twice: " << family;
            EXPECT_EQ(type == "counter" && !open, family.ends_with("_total")) << family;
        } else if (std::regex_match(line, match, sample)) {
            const std::string name = match[1];
            const std::string type = result.types[family];
            if (type == "histogram") {
                EXPECT_TRUE(name == family + "_bucket" || name == family + "_sum" ||
                            name == family + "_count")
                    << line;
            } else {
                EXPECT_EQ(name, type == "counter" && open ? family + "_total" : family) << line;
            }
            EXPECT_TRUE(result.samples.emplace(name + match[2].str(), match[3]).second)
                << "sample twice: " << line;
        } else {
            ADD_FAILURE() << "not a line of metrics: " << line;
        }
    }
    EXPECT_EQ(ended, open);
    // A client prints the last line end.
    EXPECT_FALSE(text.ends_with("\n"));
    return result;
}

// Runs promtool with a file as its input.
int promtool(const std::string& command, const std::string& input) {
    return std::system(("promtool " + command + " < " + input + " >&2").c_str());
}

TEST_F(Monitoring, MetricsHaveTwoFormats) {
    conn.exec(R"(SELECT belay.create_hub(E'odd"\\\n'))");
    enqueue();
    conn.exec("SELECT app.ack_worker('" + fetch() + "')");
    conn.exec("SELECT app.create_task('k')");
    conn.exec("SELECT app.create_subscription('reader')");
    for (const std::string format : {"openmetrics", "prometheus"}) {
        const bool open = format == "openmetrics";
        const std::string text = conn.value("SELECT belay.metrics('" + format + "')");
        const auto metrics = parse_metrics(text, open);
        const auto& samples = metrics.samples;
        const std::string worker = R"(,hub="app",queue="worker")";
        EXPECT_EQ(samples.at("belay_enqueued_total" + worker), "1");
        EXPECT_EQ(samples.at(R"(belay_enqueued_total,hub="app",queue="orchestrator")"), "0");
        EXPECT_EQ(samples.at(R"(belay_waiters,hub="odd\"\\\n",queue="worker")"), "0");
        EXPECT_EQ(samples.at("belay_wait_seconds_count" + worker), "1");
        EXPECT_EQ(samples.at("belay_run_seconds_count" + worker), "1");
        EXPECT_EQ(samples.at("belay_run_seconds_bucket" + worker + R"(,le="+Inf")"), "1");
        EXPECT_EQ(samples.count("belay_run_seconds_bucket" + worker + R"(,le="86400.0")"), 1u);
        EXPECT_EQ(samples.at(R"(belay_depth,hub="app",queue="tasks")"), "1");
        EXPECT_EQ(samples.count(R"(belay_oldest_ready_seconds,hub="app",queue="tasks")"), 1u);
        EXPECT_EQ(samples.at(R"(belay_overdue_leases,hub="app",queue="tasks")"), "0");
        EXPECT_EQ(samples.at(R"(belay_schedule_errors,hub="app")"), "0");
        EXPECT_EQ(samples.at(R"(belay_hub_quarantined,hub="app")"), "0");
        EXPECT_EQ(
            samples.count(R"(belay_subscription_lag_seconds,hub="app",subscription="reader")"), 1u);
        EXPECT_EQ(metrics.types.at(open ? "belay_duty_errors" : "belay_duty_errors_total"),
                  "counter");
    }
    EXPECT_EQ(conn.error_of("SELECT belay.metrics('xml')"), "22023");
    // As the documentation tells to serve it.
    const std::string file = cluster.file("metrics.prom");
    std::ofstream(file) << cluster.run(
        {"psql", "-XAt", "-c", "SELECT belay.metrics('prometheus')", cluster.conninfo()});
    EXPECT_EQ(promtool("check metrics", file), 0);
    const std::string open = cluster.run(
        {"psql", "-XAt", "-c", "SELECT belay.metrics('openmetrics')", cluster.conninfo()});
    EXPECT_TRUE(open.ends_with("\n# EOF\n"));
}

// MT-5: a hub that its owner has broken is reported, and does not hide the others.
TEST_F(Monitoring, ABrokenHubDoesNotHideTheOthers) {
    enqueue();
    conn.exec("SELECT belay.create_hub('broken')");
    // A table without a page is not read.
    conn.exec("SELECT broken.enqueue_worker_work('{\"ActivityExecute\":{}}')");
    conn.exec("DELETE FROM broken.worker_queue");
    conn.exec("ALTER TABLE broken.worker_queue RENAME COLUMN visible_at TO seen_at");
    EXPECT_EQ(stat("oldest_ready_ms IS NULL"), "f");
    EXPECT_EQ(conn.value("SELECT count(*) FROM belay.pg_stat_belay_queue WHERE hub = 'broken' AND "
                         "oldest_ready_ms IS NULL"),
              "3");
    const auto samples =
        parse_metrics(conn.value("SELECT belay.metrics('openmetrics')"), true).samples;
    EXPECT_EQ(samples.at(R"(belay_depth,hub="app",queue="worker")"), "1");
    EXPECT_EQ(samples.at(R"(belay_hub_unreadable,hub="app")"), "0");
    EXPECT_EQ(samples.at(R"(belay_hub_unreadable,hub="broken")"), "1");
    EXPECT_EQ(samples.count(R"(belay_depth,hub="broken",queue="worker")"), 0u);
    EXPECT_EQ(samples.at(R"(belay_enqueued_total,hub="broken",queue="worker")"), "1");
    // A time limit is the caller's.
    conn.exec(
        "CREATE FUNCTION broken.slow() RETURNS boolean LANGUAGE plpgsql AS $$BEGIN LOOP "
        "PERFORM 1; END LOOP; END$$");
    conn.exec(
        "ALTER TABLE broken.worker_queue RENAME TO old_queue; CREATE VIEW broken.worker_queue "
        "AS SELECT *, seen_at AS visible_at FROM broken.old_queue WHERE broken.slow()");
    conn.exec("INSERT INTO broken.old_queue SELECT * FROM app.worker_queue");
    conn.exec("SET statement_timeout = '1s'");
    EXPECT_EQ(conn.error_of("SELECT belay.metrics('openmetrics')"), "57014");
}

// EV-13, EV-14: a reader of few topics that is dead lags, also if many events of others come first;
// what it loses is counted.
TEST_F(Monitoring, DeadReadersLagAndLose) {
    conn.exec("SELECT app.create_subscription('dead', ARRAY['operator'], 'start')");
    conn.exec("SELECT app.create_subscription('deaf', NULL, 'start')");
    const auto sample = [this](const std::string& metric, const std::string& reader) {
        return std::stod(parse_metrics(conn.value("SELECT belay.metrics('openmetrics')"), true)
                             .samples.at("belay_subscription_" + metric +
                                         R"(,hub="app",subscription=")" + reader + "\""));
    };
    EXPECT_EQ(sample("lag_seconds", "dead"), 0);
    conn.exec(
        "DO $$ BEGIN FOR i IN 1..1001 LOOP INSERT INTO app.instances VALUES ('x' || i, 'Orch', "
        "'1', "
        "1, NULL, NULL, 0, 'epoch', 'epoch'); PERFORM app.delete_instance('x' || i, true); END "
        "LOOP; "
        "END $$");
    EXPECT_GE(std::stoi(conn.value("SELECT count(*) FROM app.outbox_events")), 1000);
    conn.exec("UPDATE app.outbox_events SET occurred_at_ms = occurred_at_ms - 3600000");
    EXPECT_GE(sample("lag_seconds", "dead"), 3600);
    EXPECT_EQ(sample("lost_events_total", "deaf"), 0);
    conn.exec("SELECT belay.set_hub_option('app', 'event_retention', '10 s')");
    conn.exec("SELECT app.reconcile('{outbox_retention}')");
    EXPECT_GE(sample("lost_events_total", "deaf"), 1);
}

// Every metric that the rules and the dashboard ask for is there.
TEST_F(Monitoring, RulesAndDashboardAskForMetricsThatExist) {
    const auto metrics = parse_metrics(conn.value("SELECT belay.metrics('prometheus')"), false);
    const char* root = std::getenv("BELAY_ROOT");
    ASSERT_NE(root, nullptr);
    for (const std::string name : {"belay-alerts.yml", "belay-dashboard.json"}) {
        std::ifstream in(std::string(root) + "/docs/monitoring/" + name);
        ASSERT_TRUE(in.good()) << name;
        const std::string text((std::istreambuf_iterator<char>(in)), {});
        const std::regex word(R"(\bbelay_[a-z_]+)");
        int found = 0;
        for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at) {
            const std::string family =
                std::regex_replace(at->str(), std::regex("(seconds)_(bucket|sum|count)$"), "$1");
            EXPECT_EQ(metrics.types.count(family), 1u) << name << ": " << family;
            ++found;
        }
        EXPECT_GT(found, 8) << name;
    }
}

TEST_F(Monitoring, Sizes) {
    enqueue();
    EXPECT_EQ(
        conn.value("SELECT table_bytes > 0 AND index_bytes > 0 FROM belay.hub_sizes WHERE hub "
                   "= 'app' AND \"table\" = 'worker_queue'"),
        "t");
}

TEST(MonitoringWithoutPreload, HasGaugesOnly) {
    Cluster cluster;
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    conn.exec("SELECT belay.create_hub('app')");
    conn.exec("SELECT app.enqueue_worker_work('" + kItem + "')");
    EXPECT_NE(conn.value("SELECT oldest_ready_ms FROM belay.pg_stat_belay_queue WHERE hub = 'app' "
                         "AND queue = 'worker'"),
              "");
    parse_metrics(conn.value("SELECT belay.metrics()"), true);
    conn.exec("SELECT belay.stat_reset()");
}

}  // namespace
}  // namespace belay::test
