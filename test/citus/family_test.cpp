// Families of hubs on the nodes of a cluster.
#include "nodes.hpp"

namespace belay::test {
namespace {

const std::string kCounts =
    "SELECT string_agg(count::text, ' ' ORDER BY count) FROM (SELECT count(*) FROM "
    "belay.hub_locations GROUP BY host) AS c";

// SO-48: the hubs of a family come to all nodes, and are brought back to balance one by one.
TEST_F(Citus, FamiliesAreSpread) {
    Conn conn = nodes.coordinator.connect();
    for (int i = 0; i < 5; ++i) {
        // Citus may cancel a distribution; called again, it continues.
        const std::string error = conn.error_of("CALL belay.create_hub_family('f', 3)");
        if (error.empty()) {
            break;
        }
        EXPECT_EQ(error, "40P01");
    }
    EXPECT_EQ(conn.value("SELECT string_agg(hub, ' ' ORDER BY hub) FROM belay.hub_locations WHERE "
                         "distributed"),
              "f_000 f_001 f_002");
    EXPECT_EQ(conn.value(kCounts), "1 2");
    EXPECT_EQ(conn.value("SELECT count(*) FROM belay.rebalance_hubs()"), "0");
    // All on one node.
    const Rows others =
        conn.exec("SELECT hub FROM belay.hub_locations WHERE host <> '" + nodes.first.host + "'");
    for (int row = 0; row < others.size(); ++row) {
        conn.exec("SELECT belay.move_hub('" + *others.at(row, 0) + "', " + nodes.first.place() +
                  ", 'block_writes')");
    }
    const std::string moves = "SELECT hub || ' ' || (from_host = '" + nodes.first.host +
                              "') || ' ' || (to_host = '" + nodes.second.host +
                              "') || ' ' || moved FROM belay.rebalance_hubs('block_writes'";
    EXPECT_EQ(conn.value(moves + ", true)"), "f_000 true true false");
    EXPECT_EQ(conn.value(kCounts), "3");
    EXPECT_EQ(conn.value(moves + ")"), "f_000 true true true");
    EXPECT_EQ(conn.value(kCounts), "1 2");
    EXPECT_EQ(conn.value("SELECT count(*) FROM belay.rebalance_hubs()"), "0");
    EXPECT_EQ(conn.error_of("SELECT belay.rebalance_hubs('quick')"), "QB006");
    // A key's hub is where every node says it is.
    Conn there = nodes.second.connect();
    EXPECT_EQ(there.value("SELECT is_here FROM belay.hub_location('f_000')"), "t");
    EXPECT_EQ(there.error_of("SELECT f_000.send('mail')"), "");
    EXPECT_EQ(there.error_of("SELECT f_001.send('mail')"), "QB017");
    // Roles move their own hubs only.
    conn.exec("CREATE ROLE regress_other LOGIN");
    conn.exec("SELECT belay.move_hub('f_000', " + nodes.first.place() + ", 'block_writes')");
    EXPECT_EQ(nodes.coordinator.connect("regress_other")
                  .value("SELECT count(*) FROM belay.rebalance_hubs()"),
              "0");
    EXPECT_EQ(conn.value(kCounts), "3");
}

}  // namespace
}  // namespace belay::test
