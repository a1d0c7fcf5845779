// Flows that are wide, long or cut off: fan-outs beyond the bound with the worker at work (FM-11),
// crashes and faults between its portions, ten thousand members at once, long chains (FM-12).
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "client.hpp"

namespace belay::test::stress {
namespace {

using std::to_string;

constexpr double kPatience = 60;  // seconds for what the worker has to do

struct Server {
    // With a worker if the interval is not 0.
    explicit Server(const std::string& interval_ms, const std::string& bound = "256")
        : cluster(
              {.preload = true, .conf = {"belay.reconcile_interval = " + interval_ms, kLogPrefix}}),
          conn(cluster.connect()) {
        conn.exec("CREATE EXTENSION belay");
        conn.exec("SELECT belay.create_hub('app')");
        conn.exec("SELECT belay.set_hub_option('app', 'events', 'lease,operator,completion')");
        conn.exec("SELECT belay.set_hub_option('app', 'fanout_bound', '" + bound + "')");
        conn.exec("SET search_path = app, public");
    }

    // Creates the flow that an expression of type jsonb gives, and keeps its id.
    void create(const std::string& flow) {
        id = conn.value("SELECT flow_id FROM create_flow(" + flow + ")");
    }

    void wait_until(const std::string& condition) {
        const Stopwatch watch;
        while (conn.value("SELECT " + condition) != "t") {
            if (watch.seconds() > kPatience) {
                FAIL() << "waited in vain for " << condition << "\n"
                       << conn.value("SELECT jsonb_pretty(to_jsonb(f)) FROM flow_summary AS f");
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }

    std::string state() { return conn.value("SELECT state FROM flows WHERE id = '" + id + "'"); }
    std::string count(const std::string& where) {
        return conn.value("SELECT count(*) FROM tasks WHERE " + where);
    }
    std::string problems() {
        return conn.value("SELECT string_agg(object || ' ' || problem, E'\n') FROM check_tasks()");
    }
    // Claims up to so many tasks and completes each in a transaction of its own.
    int complete(int most) {
        const Rows claimed = conn.exec(
            "SELECT task_id, lease_epoch FROM claim_tasks('w', 'w-1', p_lease_ms => 600000, "
            "p_max_items => " +
            to_string(most) + ")");
        for (int i = 0; i < claimed.size(); ++i) {
            conn.exec("SELECT complete_task('" + *claimed.at(i, 0) + "', " + *claimed.at(i, 1) +
                      ")");
        }
        return claimed.size();
    }

    Cluster cluster;
    Conn conn;
    std::string id;
};

// A root, n that wait for it, and one that joins them by the given join.
std::string fan_out(int n, const std::string& join) {
    return "jsonb_build_object('tasks', jsonb_build_array(jsonb_build_object('key', 'root', "
           "'queue', 'l'), jsonb_build_object('key', 'end', 'queue', 'l', 'join', '" +
           join + "'::jsonb, 'after', (SELECT jsonb_agg('m' || n) FROM generate_series(1, " +
           to_string(n) +
           ") AS n))) || (SELECT jsonb_agg(jsonb_build_object('key', 'm' || n, 'queue', 'l', "
           "'after', '[\"root\"]'::jsonb)) FROM generate_series(1, " +
           to_string(n) + ") AS n))";
}

std::string chain(int n) {
    return "(SELECT jsonb_build_object('tasks', jsonb_agg(jsonb_build_object('key', 'k' || n, "
           "'queue', 'l', 'after', CASE WHEN n = 1 THEN '[]'::jsonb ELSE jsonb_build_array('k' || "
           "n - 1) END))) FROM generate_series(1, " +
           to_string(n) + ") AS n)";
}

TEST(FlowScale, FanOutWithQuorum) {
    Server server("1000");
    server.create(fan_out(1000, R"({"kind":"quorum","k":500})"));
    ASSERT_EQ(server.complete(1), 1);
    server.wait_until("count(*) = 1000 FROM tasks WHERE state = 'ready'");
    ASSERT_EQ(server.complete(499), 499);
    // The others that work now lose their leases when the next one completes.
    EXPECT_EQ(server.conn.value("SELECT count(*) FROM claim_tasks('x', 'x-1', p_lease_ms => "
                                "600000, p_max_items => 300)"),
              "300");
    ASSERT_EQ(server.complete(1), 1);
    server.wait_until("count(*) = 500 FROM tasks WHERE state = 'cancelled'");
    EXPECT_EQ(server.conn.value("SELECT count(*) FROM outbox_events WHERE type = 'revoked' AND "
                                "details ->> 'source' = 'engine'"),
              "300");
    EXPECT_EQ(server.problems(), "");
    EXPECT_EQ(server.complete(9), 1);
    EXPECT_EQ(server.state(), "completed");
    EXPECT_EQ(server.count("state = 'completed'"), "502");
    EXPECT_EQ(server.problems(), "");
}

TEST(FlowScale, TenThousandMembersAreCancelledAtOnce) {
    Server server("0");
    server.create(
        "(SELECT jsonb_build_object('tasks', jsonb_agg(jsonb_build_object('key', 'k' || n, "
        "'queue', "
        "'l'))) FROM generate_series(1, 10000) AS n)");
    for (int i = 0; i < 5; ++i) {
        server.conn.exec("SELECT count(*) FROM claim_tasks('w', 'w-" + to_string(i) +
                         "', p_lease_ms => 600000, p_max_items => 1000)");
    }
    server.conn.exec(
        "CREATE TABLE held AS SELECT id, lease_epoch FROM tasks WHERE state = 'active'");
    EXPECT_EQ(server.conn.value("SELECT count(*) FROM held"), "5000");
    const Stopwatch watch;
    EXPECT_EQ(server.conn.value("SELECT concat(result, ' ', member_count, ' ', "
                                "cardinality(member_ids)) FROM cancel_flow('" +
                                server.id + "')"),
              "cancelled 10000 10000");
    std::cout << "10000 members with 5000 leases cancelled in " << watch.seconds() << " s\n";
    EXPECT_EQ(server.count("state <> 'cancelled'"), "0");
    EXPECT_EQ(server.conn.value("SELECT concat(count(*), ' ', count(DISTINCT xid)) FROM "
                                "outbox_events WHERE type = 'revoked'"),
              "5000 1");
    EXPECT_EQ(server.conn.value("SELECT count(*) FROM cancel_backlog_open"), "5000");
    EXPECT_EQ(server.conn.value(
                  "SELECT string_agg(DISTINCT concat(r.renewed, ' ', r.reason), ', ') FROM (SELECT "
                  "array_agg(id) AS ids, array_agg(lease_epoch) AS epochs FROM held) AS h, "
                  "renew_tasks(h.ids, h.epochs, 1000) AS r"),
              "f terminal");
    EXPECT_EQ(server.problems(), "");
}

TEST(FlowScale, AChainNeedsNoDuty) {
    Server server("0");
    server.create(chain(100));
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(server.complete(9), 1) << i;
    }
    EXPECT_EQ(server.state(), "completed");
    EXPECT_EQ(server.conn.value("SELECT count(*) FROM cascade_queue"), "0");
    EXPECT_EQ(server.problems(), "");
}

// The stack is so small that a function call per level would not fit.
TEST(FlowScale, SkipsPassAThousandLevels) {
    for (const char* bound : {"1000000", "256"}) {
        Server server("0", bound);
        server.create(chain(1000));
        server.conn.exec("SET max_stack_depth = '100kB'");
        server.conn.exec(
            "SELECT fail_task(task_id, lease_epoch, 'permanent') FROM "
            "claim_tasks('w', 'w-1')");
        if (std::string(bound) == "256") {
            EXPECT_EQ(server.count("state = 'skipped'"), "256");
            server.conn.exec("SELECT reconcile(p_duties => '{dispatch_sweep}')");
        }
        EXPECT_EQ(server.count("state = 'skipped'"), "999");
        EXPECT_EQ(server.state(), "failed");
        EXPECT_EQ(server.conn.value("SELECT count(*) FROM outbox_events WHERE type = 'skipped'"),
                  "999");
        EXPECT_EQ(server.problems(), "");
    }
}

// A thousand edges, twenty in each portion of the call, two hundred in each of the duty.
TEST(FlowScale, AFanOutGoesOnAfterACrash) {
    Server server("0", "20");
    server.create(fan_out(1000, R"({"kind":"all_of"})"));
    ASSERT_EQ(server.complete(1), 1);
    EXPECT_EQ(server.count("state = 'ready'"), "20");
    EXPECT_EQ(server.conn.value("SELECT count(*) FROM cascade_queue"), "1");
    server.cluster.kill9();
    // Portions are transactions of the worker: it fails in the first ones, and in the middle of
    // others, and the server dies again.
    server.cluster.configure("belay.reconcile_interval = 20");
    server.cluster.start();
    server.conn = server.cluster.connect();
    server.conn.exec("SET search_path = app, public");
    server.conn.exec("SELECT belay.inject_fault('duty.dispatch_sweep', 2)");
    server.conn.exec("SELECT belay.inject_fault('store.call', 1, 7)");
    server.wait_until("count(*) >= 220 FROM tasks WHERE state = 'ready'");
    server.conn.exec("SELECT belay.inject_fault('store.call', 0)");  // it could strike us
    EXPECT_EQ(server.problems(), "");
    server.cluster.kill9();
    server.cluster.start();
    server.conn = server.cluster.connect();
    server.conn.exec("SET search_path = app, public");
    server.wait_until("count(*) = 1000 FROM tasks WHERE state = 'ready'");
    EXPECT_EQ(server.conn.value("SELECT count(*) FROM groups WHERE state = 'satisfied'"), "1000");
    EXPECT_EQ(server.problems(), "");
    EXPECT_EQ(server.complete(1000), 1000);
    EXPECT_EQ(server.complete(9), 1);
    EXPECT_EQ(server.state(), "completed");
    EXPECT_EQ(server.problems(), "");
}

}  // namespace
}  // namespace belay::test::stress
