// How much there is in a hub on its node: as the server knows of the shards.
#include "nodes.hpp"

namespace belay::test {
namespace {

// SO-46: estimates and sizes.
TEST_F(Citus, EstimatesAreOfShards) {
    nodes.make_app();
    Conn conn = nodes.first.connect();
    const std::string shard = conn.value(
        "SELECT 'app.instances_' || shardid FROM pg_dist_shard WHERE logicalrelid = "
        "'app.instances'::regclass");
    conn.exec("INSERT INTO " + shard +
              " (instance_id, orchestration_name, current_execution_id, "
              "custom_status_version, created_at, updated_at) SELECT 'i' || i, 'O', 1, 0, now(), "
              "now() FROM generate_series(1, 10001) AS i");
    conn.exec("SET citus.override_table_visibility = off");
    conn.exec("VACUUM ANALYZE");
    conn.exec("RESET citus.override_table_visibility");
    EXPECT_EQ(conn.value("SELECT total_instances > 10000 FROM app.get_system_metrics()"), "t");
    EXPECT_EQ(conn.value("SELECT app.glance() -> 'estimates' ->> 'instances' >= '10001'"), "t");
    EXPECT_EQ(conn.value("SELECT table_bytes > 0 AND index_bytes > 0 AND live_rows > 10000 FROM "
                         "belay.hub_sizes WHERE hub = 'app' AND \"table\" = 'instances'"),
              "t");
    EXPECT_EQ(
        conn.value("SELECT size_bytes > 2 * (SELECT sum(table_bytes) FROM belay.hub_sizes WHERE "
                   "\"table\" = 'instances') FROM belay.hubs"),
        "t");
}

// SO-46: the list of hubs does not wait for a hub whose tables another session is about to drop.
TEST_F(Citus, SizesTakeNoLocks) {
    nodes.make_app();
    Conn conn = nodes.first.connect();
    Conn other = nodes.first.connect();
    const std::string shard = conn.value(
        "SELECT 'app.instances_' || shardid FROM pg_dist_shard WHERE logicalrelid = "
        "'app.instances'::regclass");
    other.exec("SET citus.enable_manual_changes_to_shards = on");
    other.exec("BEGIN; LOCK TABLE " + shard + " IN ACCESS EXCLUSIVE MODE");
    conn.exec("SET lock_timeout = 200");
    EXPECT_EQ(conn.error_of("SELECT * FROM belay.hubs"), "");
    EXPECT_EQ(conn.value("SELECT size_bytes > 0 FROM belay.hubs"), "t");
    // Elsewhere the size is not known.
    EXPECT_EQ(nodes.second.connect().value("SELECT size_bytes IS NULL FROM belay.hubs"), "t");
    other.exec("ROLLBACK");
}

}  // namespace
}  // namespace belay::test
