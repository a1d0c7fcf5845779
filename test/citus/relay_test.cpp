// Messages between the hubs of a cluster: by the background workers, without links.
#include <thread>

#include "nodes.hpp"

namespace belay::test {
namespace {

std::string item(const std::string& name) {
    return R"('{"ActivityExecute":{"name":")" + name + R"("}}')";
}

// How often each name has arrived, as "most all".
std::string arrived(Conn& conn, const std::string& hub) {
    return conn.value(
        "SELECT coalesce(max(n), 0) || ' ' || count(*) FROM (SELECT count(*) AS n FROM " + hub +
        ".worker_queue GROUP BY work_item::jsonb -> 'ActivityExecute' ->> 'name') AS c");
}

// SO-49: two hubs that send to each other while both move. The target's place is found in the
// catalog of the cluster; no intent is lost or comes twice.
TEST_F(Citus, IntentsFindTheirTargets) {
    constexpr int kRounds = 4;
    constexpr int kEach = 25;
    Conn coordinator = nodes.coordinator.connect();
    Server* at[] = {&nodes.first, &nodes.second};
    const std::string names[] = {"ping", "pong"};
    for (int i = 0; i < 2; ++i) {
        coordinator.exec("SELECT belay.create_hub('" + names[i] + "')");
        nodes.insist("SELECT belay.distribute_hub('" + names[i] + "', " + at[i]->place() + ")");
    }
    for (int round = 0; round < kRounds; ++round) {
        for (int i = 0; i < 2; ++i) {
            Conn conn = at[i]->connect();
            for (int number = 0; number < kEach; ++number) {
                conn.exec("SELECT " + names[i] + ".send_to_hub('" + names[1 - i] + "', 'worker', " +
                          item(std::to_string(round) + "." + std::to_string(number)) + ")");
            }
        }
        // Both together on one node, then apart, and so on; deliveries are under way.
        const int moved = round % 2;
        at[moved] = &nodes.other(*at[moved]);
        coordinator.exec("SELECT belay.move_hub('" + names[moved] + "', " + at[moved]->place() +
                         ", 'block_writes')");
    }
    for (int i = 0; i < 2; ++i) {
        Conn conn = at[i]->connect();
        EXPECT_TRUE(becomes(conn, "SELECT count(*) FROM " + names[i] + ".worker_queue",
                            std::to_string(kRounds * kEach)));
        EXPECT_EQ(arrived(conn, names[i]), "1 " + std::to_string(kRounds * kEach));
        EXPECT_TRUE(becomes(conn, "SELECT count(*) FROM " + names[i] + ".intents", "0"));
        EXPECT_EQ(conn.value("SELECT count(*) FROM " + names[i] + ".hub_links"), "0");
        EXPECT_EQ(conn.value("SELECT count(*) FROM " + names[i] + ".dead_letters"), "0");
    }
}

// SO-49: the relay is the source's owner there, with that role's rights.
TEST_F(Citus, IntentsHaveTheRightsOfTheirOwner) {
    Conn super = nodes.coordinator.connect();
    super.exec("CREATE ROLE regress_sender LOGIN");
    super.exec("GRANT CREATE ON DATABASE postgres TO regress_sender");
    for (Server* server : nodes.all()) {
        server->connect().exec("GRANT USAGE ON LANGUAGE belay TO regress_sender");
    }
    super.exec("SELECT belay.create_hub('target')");
    nodes.coordinator.connect("regress_sender").exec("SELECT belay.create_hub('source')");
    nodes.insist("SELECT belay.distribute_hub('source', " + nodes.first.place() + ")");
    nodes.insist("SELECT belay.distribute_hub('target', " + nodes.second.place() + ")");
    Conn here = nodes.first.connect("regress_sender");
    here.exec("SELECT source.send_to_hub('target', 'worker', " + item("1") + ")");
    EXPECT_TRUE(becomes(here, "SELECT left(last_error, 5) FROM source.intents", "42501"));
    super.exec("SELECT belay.grant_hub('target', 'regress_sender', 'client')");
    Conn there = nodes.second.connect();
    EXPECT_TRUE(becomes(there, "SELECT count(*) FROM target.worker_queue", "1"));
    EXPECT_EQ(there.value("SELECT string_agg(DISTINCT usename, ' ') FROM pg_stat_activity WHERE "
                          "application_name = 'belay relay'"),
              "regress_sender");
}

}  // namespace
}  // namespace belay::test
