// Hubs that Citus has put on a node: served there from their shards, refused elsewhere, moved.
#include <chrono>
#include <memory>
#include <thread>

#include "nodes.hpp"
#include "waiting.hpp"

namespace belay::test {
namespace {

constexpr const char* kFetch =
    "SELECT work_item::jsonb -> 'ActivityExecute' ->> 'name' FROM app.fetch_work_item(3600000)";

const std::string kShells =
    "(SELECT p.logicalrelid::oid FROM pg_dist_partition AS p JOIN pg_class AS c ON c.oid = "
    "p.logicalrelid::oid WHERE c.relnamespace = 'app'::regnamespace)";

// Calls of each kind: queue, turns, tasks, flows, events, options, reads.
const std::vector<std::string> kCalls = {
    enqueue("x"),
    "SELECT app.ack_worker(lock_token) FROM app.fetch_work_item(60000)",
    "SELECT app.start_orchestration('O', '', 'i', '1')",
    "SELECT count(*) FROM app.fetch_orchestration_item(60000)",
    "SELECT app.raise_event('i', 'e')",
    "SELECT app.send('mail', '{\"to\": 1}')",
    "SELECT app.send('mail', priority => 3, delay => '1 h')",
    "SELECT app.set_queue('mail', '{\"concurrency\": 5, \"rate_per_s\": 100, \"burst\": 50}')",
    "SELECT app.complete(lease) FROM app.receive('mail')",
    "SELECT app.send('mail')",
    "SELECT app.create_subscription('s')",
    "SELECT count(*) FROM app.read_events('s')",
    "SELECT app.pause_hub('worker')",
    "SELECT app.resume_hub('worker')",
    "SELECT belay.set_hub_option('app', 'max_attempts', '8')",
    "SELECT count(*) FROM app.reconcile()",
    "SELECT app.get_system_metrics()",
    "SELECT count(*) FROM app.list_instances()",
    "SELECT count(*) FROM app.list_tasks()",
    "SELECT app.glance()",
    "SELECT app.create_schedule('s', '0 0 1 1 *', '{\"queue\": \"mail\"}')",
    "SELECT app.pause_schedule('s')",
    "SELECT app.drop_schedule('s')",
    "SELECT count(app.abandon_work_item(lock_token)) FROM app.fetch_work_item(60000)",
    "SELECT count(app.renew_work_item_lock(lock_token, 60000)) FROM app.fetch_work_item(60000)",
    "SELECT app.release(lease) FROM app.receive('mail')",
    "SELECT app.fail(lease, 'x') FROM app.receive('mail')",
    "SELECT app.create_flow('{\"tasks\": [{\"key\": \"a\", \"queue\": \"l\"}]}')",
    "SELECT app.send_to_hub('far', 'worker', '{\"ActivityExecute\":{}}')",
    "SELECT belay.new_incarnation('app')",
};

// SO-37: on its node a hub is served from its shards: no call opens a table under the hub's own
// name. SO-38: a call that writes holds the lock by which Citus holds writers off.
TEST_F(Citus, ServesFromShards) {
    nodes.make_app();
    Conn conn = nodes.first.connect();
    std::vector<std::string> calls = kCalls;
    // A statement that reads views.
    const std::string task = conn.value("SELECT app.send('letters')");
    calls.push_back("SELECT app.get_task('" + task + "')");
    EXPECT_EQ(conn.value("SELECT app.get_task('" + task + "') ->> 'task_id'"), task);
    for (const std::string& call : calls) {
        SCOPED_TRACE(call);
        conn.exec("BEGIN");
        const std::string error = conn.error_of(call);
        EXPECT_EQ(error, "");
        if (error.empty()) {
            EXPECT_EQ(conn.value("SELECT string_agg(relation::regclass::text, ', ') FROM pg_locks "
                                 "WHERE pid = pg_backend_pid() AND relation IN " +
                                 kShells),
                      "");
            const bool writes =
                conn.value("SELECT pg_current_xact_id_if_assigned() IS NOT NULL") == "t";
            if (writes) {
                EXPECT_EQ(conn.value("SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() "
                                     "AND locktype = 'advisory' AND classid = 0 AND objsubid = 8 "
                                     "AND mode = 'ShareLock'"),
                          "1");
            }
            conn.exec("COMMIT");
        } else {
            ADD_FAILURE() << PQerrorMessage(conn.raw());
            conn.exec("ROLLBACK");
        }
    }
    for (Server* server : nodes.all()) {
        EXPECT_EQ(server->connect().value("SELECT sum(pg_relation_size(r)) FROM unnest(ARRAY" +
                                          kShells + ") AS r"),
                  "0");
    }
    const Rows problems = conn.exec("SELECT object || ' ' || problem FROM belay.check_hub('app')");
    for (int row = 0; row < problems.size(); ++row) {
        ADD_FAILURE() << *problems.at(row, 0);
    }
    // Citus reads the views of the hub from any node.
    EXPECT_EQ(nodes.second.connect().value("SELECT count(*) > 0 FROM app.task_states"), "t");
}

// SO-11, SO-31: other nodes say where it is.
TEST_F(Citus, OtherNodesRefuse) {
    nodes.make_app();
    for (Server* server : {&nodes.coordinator, &nodes.second}) {
        Conn conn = server->connect();
        for (const std::string& call : kCalls) {
            EXPECT_EQ(conn.error_of(call), "QB017") << call;
        }
        EXPECT_EQ(conn.error_of("SELECT * FROM belay.check_hub('app')"), "QB017");
        EXPECT_EQ(conn.value("SELECT is_here FROM belay.hub_location('app')"), "f");
        EXPECT_EQ(conn.value("SELECT host FROM belay.hub_locations WHERE hub = 'app'"),
                  nodes.first.host);
        EXPECT_EQ(conn.value("SELECT is_here FROM belay.hubs WHERE name = 'app'"), "f");
    }
    Conn here = nodes.first.connect();
    EXPECT_EQ(here.value("SELECT host FROM belay.hub_location('app')"), nodes.first.host);
    EXPECT_EQ(here.value("SELECT is_here FROM belay.hub_locations WHERE hub = 'app'"), "t");
    EXPECT_EQ(here.value("SELECT is_here FROM belay.hubs WHERE name = 'app'"), "t");
    EXPECT_EQ(here.value("SELECT distributed FROM belay.hub_locations WHERE hub = 'app'"), "t");
    EXPECT_EQ(here.error_of("SELECT belay.set_hub_place('app', 'far', 5432)"), "0A000");
}

// SO-47: what changes definitions runs on the coordinator, and other nodes name it.
TEST_F(Citus, DefinitionsAreOfTheCoordinator) {
    nodes.make_app();
    for (Server* server : {&nodes.first, &nodes.second}) {
        Conn conn = server->connect();
        for (const std::string& sql : std::vector<std::string>{
                 "SELECT belay.create_hub('another')", "CALL belay.create_hub_family('f', 2)",
                 "SELECT belay.grant_hub('app', 'postgres', 'client')",
                 "SELECT belay.revoke_hub('app', 'pg_monitor', 'client')",
                 "SELECT belay.move_hub('app', " + nodes.second.place() + ")",
                 "SELECT * FROM belay.rebalance_hubs()", "SELECT belay.distribute_hub('app')",
                 "SELECT belay.adopt_distribution('app')", "SELECT belay.undistribute_hub('app')",
                 "SELECT belay.upgrade_hub('app')", "SELECT belay.drop_hub('app')"}) {
            EXPECT_EQ(conn.error_of(sql), "0A000") << sql;
            const std::string hint = PQerrorMessage(conn.raw());
            EXPECT_NE(hint.find("runs on the coordinator"), std::string::npos) << hint;
            EXPECT_NE(
                hint.find("Connect to " + nodes.coordinator.host + ":" + nodes.coordinator.port),
                std::string::npos)
                << hint;
        }
    }
    Conn coordinator = nodes.coordinator.connect();
    EXPECT_EQ(coordinator.error_of("SELECT belay.upgrade_hub('app')"), "0A000");
    EXPECT_EQ(coordinator.error_of("SELECT belay.distribute_hub('app')"), "55000");
    EXPECT_EQ(coordinator.error_of("SELECT belay.move_hub('app', 'nowhere', 1)"), "QB006");
    EXPECT_EQ(
        coordinator.error_of("SELECT belay.move_hub('app', " + nodes.second.place() + ", 'quick')"),
        "QB006");
}

// SO-39: also one whose files write rows; they are written once.
TEST_F(Citus, DistributesHubsOfDuroxide) {
    Conn conn = nodes.coordinator.connect();
    conn.exec("SELECT belay.create_hub('app', 'duroxide-pg')");
    conn.exec("DELETE FROM app._duroxide_migrations WHERE version = 3");
    nodes.insist("SELECT belay.distribute_hub('app', " + nodes.first.place() + ")");
    Conn here = nodes.first.connect();
    EXPECT_EQ(here.value("SELECT count(*) FROM app._duroxide_migrations"), "20");
    EXPECT_EQ(here.error_of(enqueue("x")), "");
    nodes.move(nodes.second, "block_writes");
    EXPECT_EQ(nodes.second.connect().error_of(enqueue("y")), "");
}

// SO-12.
TEST_F(Citus, AddressesAreTranslated) {
    nodes.make_app();
    Conn conn = nodes.second.connect();
    conn.exec("ALTER SYSTEM SET belay.node_addresses = 'a:1=b:2, " + nodes.first.host + ":" +
              nodes.first.port + "=pool.example:6432'");
    conn.exec("SELECT pg_reload_conf()");
    for (int i = 0; i < 500 && nodes.second.connect().value("SHOW belay.node_addresses").empty();
         ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(nodes.second.connect().value("SELECT concat(host, ' ', port) FROM "
                                           "belay.hub_location('app')"),
              "pool.example 6432");
    conn.exec("ALTER SYSTEM RESET belay.node_addresses");
    conn.exec("SELECT pg_reload_conf()");
}

// SO-39: a hub comes to the node with the fewest, or to the one that is named.
TEST_F(Citus, DistributesEvenly) {
    Conn conn = nodes.coordinator.connect();
    for (const std::string name : {"a", "b", "c", "d"}) {
        conn.exec("SELECT belay.create_hub('" + name + "')");
        nodes.insist("SELECT belay.distribute_hub('" + name + "')");
    }
    EXPECT_EQ(conn.value("SELECT string_agg(count::text, ' ') FROM (SELECT count(*) FROM "
                         "belay.hub_locations GROUP BY host) AS c"),
              "2 2");
    for (const std::string name : {"e", "f", "g"}) {
        conn.exec("SELECT belay.create_hub('" + name + "')");
        nodes.insist("SELECT belay.distribute_hub('" + name + "', " + nodes.second.place() + ")");
        EXPECT_EQ(conn.value("SELECT host FROM belay.hub_location('" + name + "')"),
                  nodes.second.host);
    }
}

// SO-15, SO-16: moved three times there and back, numbers grow, work is delivered in the order in
// which it was enqueued, leases of the old place are over.
TEST_F(Citus, MovesThereAndBack) {
    nodes.make_app();
    Server* at = &nodes.first;
    at->connect().exec(enqueue("0"));
    for (int round = 1; round <= 6; ++round) {
        Conn old = at->connect();
        const std::string token = old.value("SELECT lock_token FROM app.fetch_work_item(3600000)");
        const std::string before =
            old.value("SELECT max(id) FROM app.worker_queue_" +
                      old.value("SELECT shardid FROM pg_dist_shard WHERE logicalrelid = "
                                "'app.worker_queue'::regclass"));
        at = &nodes.other(*at);
        nodes.move(*at, round % 2 == 0 ? "block_writes" : "auto");
        EXPECT_EQ(old.error_of(enqueue("lost")), "QB017");
        Conn conn = at->connect();
        EXPECT_EQ(conn.error_of("SELECT app.ack_worker('" + token + "')"), "QB001");
        const std::string reason = PQerrorMessage(conn.raw());
        EXPECT_NE(reason.find("\"other_incarnation\""), std::string::npos) << reason;
        conn.exec(enqueue(std::to_string(round)));
        EXPECT_EQ(conn.value("SELECT max(id) > " + before + " FROM app.worker_queue"), "t");
        EXPECT_EQ(conn.value("SELECT count(*) FROM belay.check_hub('app')"), "0");
    }
    Conn last = at->connect();
    for (int number = 0; number <= 6; ++number) {
        EXPECT_EQ(last.value(kFetch), std::to_string(number));
    }
}

// SO-38: a move waits for transactions that have written; calls that write wait for a move, but a
// fetch returns no row.
TEST_F(Citus, MovesAndWritersExclude) {
    nodes.make_app();
    Conn conn = nodes.first.connect();
    conn.exec(enqueue("0"));
    Conn mover = nodes.first.connect();
    mover.exec(
        "BEGIN; SELECT lock_shard_metadata(7, ARRAY(SELECT shardid FROM pg_dist_shard "
        "WHERE logicalrelid = 'app.belay_hub'::regclass))");
    EXPECT_EQ(conn.value("SELECT count(*) FROM app.fetch_work_item(60000)"), "0");
    EXPECT_EQ(conn.value("SELECT count(*) FROM app.fetch_orchestration_item(60000)"), "0");
    EXPECT_EQ(conn.value("SELECT count(*) FROM app.receive('mail')"), "0");
    conn.exec("SET lock_timeout = 100");
    EXPECT_EQ(conn.error_of(enqueue("1")), "55P03");
    EXPECT_EQ(conn.error_of("SELECT belay.set_hub_option('app', 'max_attempts', '8')"), "55P03");
    EXPECT_EQ(conn.error_of("SELECT * FROM app.get_system_metrics()"), "");
    mover.exec("COMMIT");
    EXPECT_EQ(conn.value(kFetch), "0");
    conn.exec("RESET lock_timeout; BEGIN");
    conn.exec(enqueue("1"));
    Waiting move(nodes.coordinator.connect());
    move.send("SELECT belay.move_hub('app', " + nodes.second.place() +
              ", 'block_writes'), 'moved'");
    EXPECT_FALSE(move.answered(2000));
    conn.exec("COMMIT");
    EXPECT_EQ(move.answer(), " moved");
    Conn next = nodes.second.connect();
    next.exec("SELECT belay.new_incarnation('app')");
    EXPECT_EQ(next.value(kFetch), "0");
    EXPECT_EQ(next.value(kFetch), "1");
}

// SO-17.
TEST_F(Citus, WaitsEndWithAMove) {
    nodes.make_app();
    Conn conn = nodes.first.connect();
    conn.exec("SELECT app.start_orchestration('O', '', 'i', '1')");
    conn.exec("SELECT app.fetch_orchestration_item(3600000)");
    std::vector<std::unique_ptr<Waiting>> all;
    for (const std::string queue :
         {"'worker'", "'orchestrator'", "'queue:mail'", "'queue:*'", "'instance:i'", "'outbox'"}) {
        all.push_back(std::make_unique<Waiting>(nodes.first.connect()));
        all.back()->conn.exec("SELECT * FROM app.get_custom_status('i', 0)");
        all.back()->send("CALL app.wait_for_work(ARRAY[" + queue + "], 600000)");
    }
    until_asleep(&conn, static_cast<int>(all.size()));
    nodes.move(nodes.second, "block_writes");
    for (auto& one : all) {
        EXPECT_TRUE(one->answered(5000));
        const std::string answer = one->answer();
        EXPECT_EQ(answer.substr(answer.rfind(' ') + 1), "moved") << answer;
    }
}

// SO-17: who listens is told, too.
TEST_F(Citus, ListenersAreToldOfAMove) {
    nodes.make_app();
    Conn conn = nodes.first.connect();
    conn.exec("ALTER SYSTEM SET belay.notify = on");
    conn.exec("SELECT pg_reload_conf()");
    Conn listener = nodes.first.connect();
    listener.exec("LISTEN \"belay.app\"");
    conn.exec(enqueue("0"));
    ASSERT_EQ(notification(listener, "worker"), "worker");
    nodes.move(nodes.second, "block_writes");
    EXPECT_EQ(notification(listener, "moved"), "moved");
    conn.exec("ALTER SYSTEM RESET belay.notify");
    conn.exec("SELECT pg_reload_conf()");
}

// SO-40: rights that are given on the coordinator hold on every node, before and after it is
// distributed.
TEST_F(Citus, GrantsReachAllNodes) {
    Conn conn = nodes.coordinator.connect();
    conn.exec("CREATE ROLE regress_before LOGIN; CREATE ROLE regress_after LOGIN");
    conn.exec("SELECT belay.create_hub('app'), belay.grant_hub('app', 'regress_before', 'client')");
    nodes.insist("SELECT belay.distribute_hub('app', " + nodes.first.place() + ")");
    conn.exec("SELECT belay.grant_hub('app', 'regress_after', 'client')");
    for (const std::string role : {"regress_before", "regress_after"}) {
        Conn user = nodes.first.connect(role);
        EXPECT_EQ(user.error_of("SELECT app.send('mail')"), "") << role;
        EXPECT_EQ(user.error_of("SELECT * FROM app.fetch_work_item(1)"), "42501") << role;
        EXPECT_EQ(user.error_of("SELECT * FROM app.tasks"), "42501") << role;
    }
    nodes.move(nodes.second, "block_writes");
    EXPECT_EQ(nodes.second.connect("regress_after").error_of("SELECT app.send('mail')"), "");
    conn.exec("SELECT belay.revoke_hub('app', 'regress_after', 'client')");
    EXPECT_EQ(nodes.second.connect("regress_after").error_of("SELECT app.send('mail')"), "42501");
}

// SO-41: back on the coordinator a hub has all that was committed, and is whole.
TEST_F(Citus, ComesBack) {
    nodes.make_app();
    nodes.first.connect().exec(enqueue("0"));
    Conn conn = nodes.coordinator.connect();
    nodes.bring_back("app");
    EXPECT_EQ(conn.value("SELECT is_here FROM belay.hub_location('app')"), "t");
    conn.exec(enqueue("1"));
    EXPECT_EQ(conn.value(kFetch), "0");
    EXPECT_EQ(conn.value(kFetch), "1");
    const Rows problems = conn.exec("SELECT object || ' ' || problem FROM belay.check_hub('app')");
    for (int row = 0; row < problems.size(); ++row) {
        ADD_FAILURE() << *problems.at(row, 0);
    }
    nodes.insist("SELECT belay.distribute_hub('app', " + nodes.second.place() + ")");
    EXPECT_EQ(nodes.second.connect().error_of(enqueue("2")), "");
    nodes.bring_back("app");
    conn.exec("SELECT belay.drop_hub('app', true)");
    EXPECT_EQ(conn.value("SELECT count(*) FROM belay.hubs"), "0");
    EXPECT_EQ(nodes.first.connect().value("SELECT to_regnamespace('app') IS NULL"), "t");
}

// SO-41: from the first table that is copied to the end no call reads or writes on the node.
TEST_F(Citus, ReturnsHoldCallsOff) {
    nodes.make_app();
    nodes.first.connect().exec(enqueue("0"));
    Conn conn = nodes.coordinator.connect();
    conn.exec("SET citus.enable_ddl_propagation = off");
    // The return comes to this table late, and only on the coordinator.
    conn.exec("BEGIN; ALTER TABLE app.worker_queue SET (fillfactor = 90)");
    Waiting back(nodes.coordinator.connect());
    back.send("SELECT belay.undistribute_hub('app'), 'done'");
    Conn watch = nodes.coordinator.connect();
    ASSERT_TRUE(becomes(watch,
                        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE "
                        "'SELECT belay.undistribute%' AND wait_event_type = 'Lock'",
                        "1"));
    Conn here = nodes.first.connect();
    EXPECT_EQ(here.value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = "
                         "8 AND mode = 'ExclusiveLock' AND granted"),
              "1");
    here.exec("SET lock_timeout = 100");
    EXPECT_EQ(here.error_of(enqueue("lost")), "55P03");
    conn.exec("ROLLBACK");
    EXPECT_EQ(back.answer(), " done");
    EXPECT_EQ(conn.value("SELECT count(*) FROM app.worker_queue"), "1");
}

// SO-44: of a schema that was there before the hub, its own tables stay.
TEST_F(Citus, AdoptedSchemasKeepTheirTables) {
    Conn conn = nodes.coordinator.connect();
    conn.exec("CREATE SCHEMA app; CREATE TABLE app.orders (id integer PRIMARY KEY)");
    conn.exec("SELECT belay.create_hub('app', p_adopt => true)");
    nodes.insist("SELECT belay.distribute_hub('app', " + nodes.first.place() + ")");
    nodes.first.connect().exec("INSERT INTO app.orders VALUES (1)");
    nodes.bring_back("app");
    conn.exec("SELECT belay.drop_hub('app')");
    EXPECT_EQ(conn.value("SELECT count(*) FROM belay.hubs"), "0");
    EXPECT_EQ(conn.value("SELECT count(*) FROM app.orders"), "1");
    conn.exec("DROP SCHEMA app CASCADE");
}

const std::string kDistributionWaits =
    "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT belay.distribute%' AND "
    "wait_event_type = 'Lock'";

// SO-41: a call that looks at a table and then writes to it, as duties do, does not end in a
// deadlock with a distribution that has begun in between.
TEST_F(Citus, DistributionsWaitForReaders) {
    Conn conn = nodes.coordinator.connect();
    conn.exec("SELECT belay.create_hub('app')");
    Conn reader = nodes.coordinator.connect();
    reader.exec("BEGIN; SELECT count(*) FROM app.stat_minutes");
    Waiting distribution(nodes.coordinator.connect());
    distribution.send("SELECT belay.distribute_hub('app', " + nodes.first.place() + "), 'done'");
    ASSERT_TRUE(becomes(conn, kDistributionWaits, "1"));
    EXPECT_EQ(reader.error_of("LOCK TABLE app.stat_minutes IN ROW EXCLUSIVE MODE"), "");
    reader.exec("COMMIT");
    EXPECT_EQ(distribution.answer(), " done");
}

// SO-41: where calls and a distribution wait for each other, the distribution begins again.
TEST_F(Citus, DistributionsGiveWay) {
    Conn conn = nodes.coordinator.connect();
    conn.exec("SELECT belay.create_hub('app')");
    Conn reader = nodes.coordinator.connect();
    reader.exec("SET deadlock_timeout = '5 min'; BEGIN; SELECT count(*) FROM app.stat_minutes");
    Waiting distribution(nodes.coordinator.connect());
    distribution.conn.exec("SET deadlock_timeout = '10 s'");  // not before the reader waits
    distribution.send("SELECT belay.distribute_hub('app', " + nodes.first.place() + "), 'done'");
    ASSERT_TRUE(becomes(conn, kDistributionWaits, "1"));
    EXPECT_EQ(reader.error_of("SELECT count(*) FROM app.worker_queue"), "");
    reader.exec("COMMIT");
    EXPECT_EQ(distribution.answer(), " done");
}

// SO-11: where a hub was before it came back, calls name the coordinator.
TEST_F(Citus, FormerNodesNameTheCoordinator) {
    nodes.make_app();
    Conn before = nodes.first.connect();
    before.exec(enqueue("0"));
    nodes.bring_back("app");
    Conn after = nodes.first.connect();
    for (Conn* conn : {&before, &after}) {
        EXPECT_EQ(conn->error_of(enqueue("1")), "QB017");
        const std::string message = PQerrorMessage(conn->raw());
        EXPECT_NE(message.find("\"host\":\"" + nodes.coordinator.host + "\""), std::string::npos)
            << message;
    }
    EXPECT_EQ(Follower(nodes).run(kFetch), "0");
}

// SO-0: with schema-based sharding a new hub is local, and leaves nothing on other nodes.
TEST_F(Citus, NewHubsAreLocal) {
    Conn conn = nodes.coordinator.connect();
    conn.exec("SET citus.enable_schema_based_sharding = on");
    conn.exec("SELECT belay.create_hub('app')");
    EXPECT_EQ(conn.value("SELECT count(*) FROM pg_dist_partition"), "0");
    EXPECT_EQ(nodes.first.connect().value("SELECT to_regnamespace('app') IS NULL"), "t");
    conn.exec(enqueue("0"));
    EXPECT_EQ(conn.value("SELECT host IS NULL AND is_here FROM belay.hub_location('app')"), "t");
}

// SO-39: a foreign key would join tables of two nodes.
TEST_F(Citus, ForeignKeysStayInTheHub) {
    Conn conn = nodes.coordinator.connect();
    conn.exec("SELECT belay.create_hub('app')");
    conn.exec(
        "CREATE TABLE app.orders (id integer PRIMARY KEY, parent integer REFERENCES app.orders)");
    conn.exec("CREATE TABLE outside (id integer PRIMARY KEY REFERENCES app.orders)");
    EXPECT_EQ(conn.error_of("SELECT belay.distribute_hub('app')"), "55000");
    conn.exec("DROP TABLE outside");
    nodes.insist("SELECT belay.distribute_hub('app')");
    nodes.bring_back("app");
    conn.exec("DROP TABLE app.orders");
}

// SO-42: a schema that was distributed by hand, once it is complete; and some of its tables only.
TEST_F(Citus, AdoptsDistributions) {
    Conn conn = nodes.coordinator.connect();
    conn.exec("SELECT belay.create_hub('app')");
    nodes.insist("SELECT citus_schema_distribute('app')");
    EXPECT_EQ(conn.error_of(enqueue("0")), "55000");
    EXPECT_EQ(conn.error_of("SELECT * FROM app.list_tasks()"), "55000");
    EXPECT_EQ(conn.error_of("SELECT * FROM belay.check_hub('app')"), "55000");
    conn.exec("SELECT belay.adopt_distribution('app')");
    EXPECT_EQ(conn.error_of(enqueue("0")), "QB017");
    Follower follower(nodes);
    EXPECT_EQ(follower.run(enqueue("0")), "");
    EXPECT_EQ(follower.run(kFetch), "0");
    conn.exec("SELECT belay.create_hub('odd')");
    conn.exec("SELECT create_distributed_table('odd.tasks', NULL)");
    EXPECT_EQ(conn.error_of("SELECT odd.send('mail')"), "55000");
    EXPECT_EQ(conn.error_of("SELECT * FROM odd.list_tasks()"), "55000");
    conn.exec("SELECT undistribute_table('odd.tasks')");
}

}  // namespace
}  // namespace belay::test
