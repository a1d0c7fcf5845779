// Hubs that go to another server: what stays, what waits, what a dump takes along.
#include <gtest/gtest.h>

#include "cluster.hpp"
#include "waiting.hpp"

namespace belay::test {
namespace {

std::string enqueue(int number) {
    return "SELECT app.enqueue_worker_work('{\"ActivityExecute\":{\"name\":\"" +
           std::to_string(number) + "\"}}')";
}

void make_hub(Conn& conn) {
    conn.exec("CREATE EXTENSION belay");
    conn.exec("SELECT belay.create_hub('app')");
}

std::string largest_id(Conn& conn) {
    return conn.value("SELECT max(id) FROM app.worker_queue");
}

// SO-15, SO-33, SO-35: as docs/scale-out.md moves a hub, three times there and back. Work is
// delivered in the order in which it was enqueued, numbers only grow, leases of the old place are
// over.
TEST(Places, HubsMoveByDumpAndRestore) {
    Cluster one({.preload = true, .own_identity = true});
    Cluster two({.preload = true, .own_identity = true});
    Conn first = one.connect();
    make_hub(first);
    two.connect().exec("CREATE EXTENSION belay");
    first.exec(enqueue(0));
    first.exec("SELECT app.start_orchestration('O', '', 'i', '1')");
    first.exec("SELECT app.send('mail', policy => '{\"max_attempts\": 3}')");
    Cluster* from = &one;
    Cluster* to = &two;
    for (int round = 1; round <= 6; ++round) {
        Conn old = from->connect();
        Conn next = to->connect();
        const std::string token = old.value("SELECT lock_token FROM app.fetch_work_item(3600000)");
        EXPECT_NE(token, "");
        old.exec("SELECT belay.set_hub_place('app', 'other', 5432)");
        EXPECT_EQ(old.error_of(enqueue(0)), "QB017");
        const std::string dump = from->file("app.sql");
        from->run({"pg_dump", "-n", "app", "-f", dump});
        to->run({"psql", "-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-f", dump});
        next.exec("SELECT belay.remove_hub_place('app')");
        // SO-15: rows may come without their sequences, too.
        next.exec(
            "SELECT setval(format('app.%I', relname)::regclass, 1) FROM pg_class "
            "WHERE relnamespace = 'app'::regnamespace AND relkind = 'S'");
        if (round > 1) {  // the first number is 1
            EXPECT_NE(next.value("SELECT count(*) FROM belay.check_hub('app') "
                                 "WHERE problem LIKE 'is at 1, below a row''s number%'"),
                      "0");
        }
        const std::string before = largest_id(next);
        next.exec(enqueue(round));
        EXPECT_EQ(next.value("SELECT max(id) > " + before + " FROM app.worker_queue"), "t");
        EXPECT_EQ(next.value("SELECT max(id) >> 40 FROM app.worker_queue"),
                  next.value("SELECT incarnation FROM app.belay_hub"));
        EXPECT_EQ(next.value("SELECT count(*) FROM belay.check_hub('app')"), "0");
        EXPECT_EQ(next.error_of("SELECT app.ack_worker('" + token + "')"), "QB001");
        next.exec("SELECT app.raise_event('i', 'e'), app.send('mail')");
        old.exec("SELECT belay.drop_hub('app')");
        std::swap(from, to);
    }
    Conn last = from->connect();
    for (int number = 0; number <= 6; ++number) {
        EXPECT_EQ(last.value("SELECT work_item::jsonb -> 'ActivityExecute' ->> 'name' "
                             "FROM app.fetch_work_item(3600000)"),
                  std::to_string(number));
    }
    EXPECT_EQ(last.value("SELECT count(*) FROM app.receive('mail', max => 100)"), "7");
    EXPECT_EQ(last.value("SELECT json_array_length(messages) "
                         "FROM app.fetch_orchestration_item(3600000)"),
              "7");
}

// SO-17: for any channel that sessions wait for, they return at once.
TEST(Places, WaitsEnd) {
    Cluster cluster({.preload = true, .conf = {"belay.reconcile_interval = 0"}});
    Conn conn = cluster.connect();
    make_hub(conn);
    conn.exec("SELECT app.start_orchestration('O', '', 'i', '1')");
    conn.exec("SELECT app.fetch_orchestration_item(3600000)");
    std::vector<std::unique_ptr<Waiting>> all;
    for (const std::string queue : {"'worker'", "'orchestrator'", "'queue:mail'", "'queue:*'",
                                    "'instance:i'", "'owner:me'", "'outbox'"}) {
        all.push_back(std::make_unique<Waiting>(cluster.connect()));
        all.back()->conn.exec("SELECT * FROM app.get_custom_status('i', 0)");
        all.back()->send("CALL app.wait_for_work(ARRAY[" + queue + "], 600000)");
    }
    all.push_back(std::make_unique<Waiting>(cluster.connect()));
    all.back()->send("CALL app.await('mail', '10 min') /* waits */");
    Waiting result(cluster.connect());
    const std::string task = conn.value("SELECT app.send('letters', delay => '1 h')");
    result.send("CALL app.await_result('" + task + "', '10 min') /* waits */");
    until_asleep(&conn, static_cast<int>(all.size()) + 1);
    conn.exec("SELECT belay.set_hub_place('app', 'other', 5432)");
    for (auto& one : all) {
        const std::string answer = one->answer();
        EXPECT_EQ(answer.substr(answer.rfind(' ') + 1), "moved") << answer;
    }
    EXPECT_EQ(result.answer(), "QB017");
}

// SO-17: who listens is told, too, also when the hub goes for the second time.
TEST(Places, ListenersAreTold) {
    Cluster cluster({.preload = true, .conf = {"belay.notify = on"}});
    Conn conn = cluster.connect();
    Conn listener = cluster.connect();
    listener.exec("LISTEN \"belay.app\"");
    make_hub(conn);
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(notification(listener, "queue:*"), "queue:*");
        conn.exec("SELECT belay.set_hub_place('app', 'other', 5432)");
        EXPECT_EQ(notification(listener, "moved"), "moved");
        conn.exec("SELECT belay.remove_hub_place('app')");
    }
}

// The background worker leaves a hub alone that is elsewhere, without an error.
TEST(Places, DutiesRest) {
    Cluster cluster({.preload = true, .conf = {"belay.reconcile_interval = 20ms"}});
    Conn conn = cluster.connect();
    make_hub(conn);
    conn.exec("SELECT belay.create_hub('other')");
    conn.exec("SELECT belay.set_hub_place('app', 'far', 5432)");
    const std::string runs =
        "SELECT coalesce(max(runs), 0) FROM belay.pg_stat_belay_duty WHERE duty = 'lease_expiry'";
    const int before = std::stoi(conn.value(runs));
    int now = before;
    for (int i = 0; i < 3000 && now < before + 5; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        now = std::stoi(conn.value(runs));
    }
    EXPECT_GE(now, before + 5);
    EXPECT_EQ(conn.value("SELECT coalesce(sum(errors), 0) FROM belay.pg_stat_belay_duty"), "0");
}

}  // namespace
}  // namespace belay::test
