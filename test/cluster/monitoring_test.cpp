// Counters, gauges and OpenMetrics text.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

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
        return conn.value("SELECT out_lock_token FROM app.fetch_work_item(NULL, " +
                          std::to_string(ms) + ")");
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
    conn.exec("SELECT app.renew_work_item_lock('" + first + "', NULL, 60000)");
    conn.exec("SELECT app.ack_worker('" + first + "')");
    EXPECT_EQ(conn.error_of("SELECT app.ack_worker('" + first + "')"), "QB001");
    conn.exec("SELECT app.abandon_work_item('" + fetch() + "', NULL)");
    EXPECT_EQ(stat("fetched || ' ' || renewed || ' ' || acked || ' ' || lost_leases || ' ' || "
                   "abandoned || ' ' || leases"),
              "2 1 1 1 1 0");
    EXPECT_EQ(conn.exec("SELECT * FROM app.fetch_orchestration_item(NULL, 1000)").size(), 0);
    EXPECT_EQ(stat("empty_fetches", "orchestrator"), "1");
    conn.exec("SELECT app.start_orchestration('O')");
    conn.exec("SELECT * FROM app.fetch_orchestration_item(NULL, 60000)");
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
    conn.exec("SELECT * FROM app.fetch_work_item(NULL, 1000)");
    EXPECT_EQ(conn.exec("SELECT * FROM app.fetch_work_item(" + far + "5000, 1000)").size(), 1);
    EXPECT_EQ(stat("expired"), "1");
    EXPECT_EQ(conn.exec("SELECT * FROM app.fetch_work_item(" + far + "9000, 1000)").size(), 0);
    EXPECT_EQ(stat("dead_lettered"), "1");
}

TEST_F(Monitoring, AgeOfTheOldestReadyItem) {
    EXPECT_EQ(stat("oldest_ready_ms"), "");
    enqueue();
    conn.exec("UPDATE app.worker_queue SET visible_at = clock_timestamp() - interval '1 hour'");
    EXPECT_GE(std::stol(stat("oldest_ready_ms")), 3600 * 1000);
    conn.exec("SELECT app.enqueue_worker_work('" + kItem + "', p_tag => 'nobody')");
    fetch();
    // The row whose tag nobody serves is the oldest now.
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

// Reads the text as an OpenMetrics parser does: families announced before their samples, each once,
// counters with _total, labels quoted, one end.
std::map<std::string, std::string> parse_openmetrics(const std::string& text) {
    std::map<std::string, std::string> samples;
    std::map<std::string, std::string> types;
    const std::regex sample(
        R"re(([a-z_]+)\{hub="((?:[^"\\]|\\["\\n])*)",queue="([a-z]+)"\} ([0-9]+(?:\.[0-9]+)?))re");
    std::istringstream lines(text);
    std::string line;
    std::string family;
    bool ended = false;
    while (std::getline(lines, line)) {
        EXPECT_FALSE(ended) << "text after the end";
        std::smatch match;
        if (line == "# EOF") {
            ended = true;
        } else if (line.starts_with("# TYPE ")) {
            std::istringstream words(line.substr(7));
            std::string type;
            words >> family >> type;
            EXPECT_TRUE(types.emplace(family, type).second) << "family twice: " << family;
            EXPECT_TRUE(type == "counter" || type == "gauge");
        } else if (line.starts_with("# HELP ")) {
            EXPECT_TRUE(line.starts_with("# HELP " + family + " "));
        } else if (std::regex_match(line, match, sample)) {
            const std::string expected = types[family] == "counter" ? family + "_total" : family;
            EXPECT_EQ(match[1], expected) << line;
            EXPECT_TRUE(
                samples
                    .emplace(std::string(match[1]) + " " + match[2].str() + " " + match[3].str(),
                             match[4])
                    .second)
                << "sample twice: " << line;
        } else {
            ADD_FAILURE() << "not OpenMetrics: " << line;
        }
    }
    EXPECT_TRUE(ended);
    EXPECT_TRUE(text.ends_with("\n"));
    return samples;
}

TEST_F(Monitoring, OpenMetrics) {
    conn.exec(R"(SELECT belay.create_hub(E'odd"\\\n'))");
    enqueue();
    const auto samples = parse_openmetrics(conn.value("SELECT belay.metrics()"));
    EXPECT_EQ(samples.at("belay_enqueued_total app worker"), "1");
    EXPECT_EQ(samples.at("belay_enqueued_total app orchestrator"), "0");
    EXPECT_EQ(samples.at(R"(belay_waiters odd\"\\\n worker)"), "0");
    EXPECT_EQ(samples.count("belay_oldest_ready_seconds app worker"), 1u);
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
    parse_openmetrics(conn.value("SELECT belay.metrics()"));
    conn.exec("SELECT belay.stat_reset()");
}

}  // namespace
}  // namespace belay::test
