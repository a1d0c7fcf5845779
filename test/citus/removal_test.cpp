// Distributed hubs that are dropped where they are, alone and as families; and the life of a hub
// that an ordinary role owns.
#include "nodes.hpp"
#include "waiting.hpp"

namespace belay::test {
namespace {

// What is left of a hub on a node: its schema, its relations, and what Citus has of it.
std::string left_of(Server& server, const std::string& hub) {
    Conn conn = server.connect();
    conn.exec("SET citus.override_table_visibility = off");
    return conn.value("SELECT concat_ws(' ', to_regnamespace('" + hub +
                      "'), (SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = "
                      "c.relnamespace WHERE n.nspname = '" +
                      hub +
                      "'), (SELECT count(*) FROM pg_dist_partition), (SELECT count(*) FROM "
                      "pg_dist_object AS o WHERE o.classid = 'pg_proc'::regclass AND o.objid NOT "
                      "IN (SELECT oid FROM pg_proc)))");
}

// SO-70: a distributed hub is dropped on the coordinator. Leases are those of its node; a drop that
// is rolled back has changed nothing; afterwards no node has anything of it.
TEST_F(Citus, DropsWhereTheHubIs) {
    nodes.make_app();
    Conn conn = nodes.coordinator.connect();
    Conn here = nodes.first.connect();
    conn.exec("CREATE ROLE regress_stranger LOGIN");
    here.exec("SELECT app.send('mail')");
    const std::string lease = here.value("SELECT lease FROM app.receive('mail')");
    const std::string drop = "SELECT belay.drop_hub('app')";
    EXPECT_EQ(conn.error_of(drop), "QB003");
    EXPECT_NE(std::string(PQerrorMessage(conn.raw())).find("\"leases\":1"), std::string::npos)
        << PQerrorMessage(conn.raw());
    EXPECT_EQ(nodes.coordinator.connect("regress_stranger").error_of(drop), "42501");
    EXPECT_EQ(nodes.first.connect("regress_stranger").error_of("SELECT belay.live_leases('app')"),
              "42501");
    conn.exec("BEGIN; SELECT belay.drop_hub('app', true); ROLLBACK");
    EXPECT_EQ(here.error_of("SELECT app.complete('" + lease + "')"), "");
    Waiting waiting(nodes.first.connect());
    waiting.send("CALL app.wait_for_work(ARRAY['worker'], 600000)");
    until_asleep(&here, 1);
    // A transaction that has written ends first, and its lease counts.
    here.exec("BEGIN");
    here.exec("SELECT app.send('mail')");
    here.exec("SELECT lease FROM app.receive('mail')");
    Waiting dropping(nodes.coordinator.connect());
    dropping.send(drop + ", 'dropped'");
    EXPECT_FALSE(dropping.answered(1000));
    here.exec("COMMIT");
    EXPECT_EQ(dropping.answer(), "QB003");
    nodes.insist("SELECT belay.drop_hub('app', true)");
    EXPECT_EQ(waiting.answer(), "worker shutdown");
    for (Server* server : nodes.all()) {
        EXPECT_EQ(left_of(*server, "app"), "0 0 0");
    }
    EXPECT_EQ(here.error_of("SELECT app.send('mail')"), "3F000");
    // Another hub of that name begins empty.
    nodes.make_app();
    EXPECT_EQ(here.value("SELECT count(*) FROM app.tasks"), "0");
    EXPECT_EQ(here.error_of("SELECT app.send('mail')"), "");
}

// SO-70: of a schema that was there before the hub, the tables of the application stay on the node.
TEST_F(Citus, DropsOutOfAdoptedSchemas) {
    Conn conn = nodes.coordinator.connect();
    conn.exec("CREATE SCHEMA app; CREATE TABLE app.orders (id integer PRIMARY KEY)");
    conn.exec("SELECT belay.create_hub('app', p_adopt => true)");
    nodes.insist("SELECT belay.distribute_hub('app', " + nodes.first.place() + ")");
    nodes.first.connect().exec("INSERT INTO app.orders VALUES (1)");
    nodes.insist("SELECT belay.drop_hub('app')");
    EXPECT_EQ(conn.value("SELECT count(*) FROM belay.hubs"), "0");
    for (Server* server : nodes.all()) {
        Conn on = server->connect();
        EXPECT_EQ(on.value("SELECT count(*) FROM app.orders"), "1") << server->host;
        EXPECT_EQ(on.value("SELECT count(*) FROM pg_proc WHERE pronamespace = 'app'::regnamespace"),
                  "0");
        EXPECT_EQ(on.value("SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE "
                           "relnamespace = 'app'::regnamespace AND relkind IN ('r', 'v')"),
                  "orders");
    }
    // It can be a hub again.
    conn.exec("SELECT belay.create_hub('app', p_adopt => true)");
    conn.exec("SELECT belay.drop_hub('app')");
    conn.exec("DROP SCHEMA app CASCADE");
}

// SO-71: a family goes with its distributed hubs; a call that meets a live lease stops there, and
// the next one continues.
TEST_F(Citus, DropsFamilies) {
    Conn conn = nodes.coordinator.connect();
    nodes.insist("CALL belay.create_hub_family('f', 3)");
    EXPECT_EQ(nodes.first.connect().error_of("CALL belay.drop_hub_family('f')"), "0A000");
    Follower follower(nodes);
    follower.run("SELECT f_001.send('mail')");
    EXPECT_NE(follower.run("SELECT lease FROM f_001.receive('mail')"), "");
    std::string error = "40P01";
    for (int i = 0; i < 5 && error == "40P01"; ++i) {
        error = conn.error_of("CALL belay.drop_hub_family('f')");
    }
    EXPECT_EQ(error, "QB003");
    EXPECT_EQ(conn.value("SELECT string_agg(hub, ' ' ORDER BY hub) FROM belay.hub_locations"),
              "f_001 f_002");
    nodes.insist("CALL belay.drop_hub_family('f', true)");
    EXPECT_EQ(conn.value("SELECT count(*) FROM belay.hub_families"), "0");
    for (Server* server : nodes.all()) {
        for (const std::string hub : {"f_000", "f_001", "f_002"}) {
            EXPECT_EQ(left_of(*server, hub), "0 0 0") << hub;
        }
    }
}

// SO-72: what an owner does needs no more rights than those on his hub.
TEST_F(Citus, OwnersNeedNoMoreRights) {
    Conn super = nodes.coordinator.connect();
    super.exec("CREATE ROLE regress_owner LOGIN");
    super.exec("GRANT CREATE ON DATABASE postgres TO regress_owner");
    for (Server* server : nodes.all()) {
        server->connect().exec("GRANT USAGE ON LANGUAGE belay TO regress_owner");
    }
    Conn conn = nodes.coordinator.connect("regress_owner");
    conn.exec("SELECT belay.create_hub('app')");
    const auto insist = [&conn](const std::string& sql) {
        std::string error = "40P01";
        for (int i = 0; i < 5 && error == "40P01"; ++i) {
            error = conn.error_of(sql);
        }
        EXPECT_EQ(error, "") << sql << ": " << PQerrorMessage(conn.raw());
    };
    insist("SELECT belay.distribute_hub('app', " + nodes.first.place() + ")");
    conn.exec("CREATE TABLE app.orders (id serial PRIMARY KEY, what text)");
    conn.exec("INSERT INTO app.orders (what) VALUES ('a')");
    for (const std::string mode : {"auto", "force_logical", "block_writes"}) {
        Server& to =
            nodes.other(conn.value("SELECT host FROM belay.hub_location('app')") == nodes.first.host
                            ? nodes.first
                            : nodes.second);
        insist("SELECT belay.move_hub('app', " + to.place() + ", '" + mode + "')");
        EXPECT_EQ(to.connect("regress_owner").error_of("SELECT app.send('mail')"), "");
    }
    insist("SELECT belay.undistribute_hub('app')");
    EXPECT_EQ(conn.value("SELECT count(*) FROM app.tasks"), "3");
    EXPECT_EQ(conn.value("SELECT what FROM app.orders"), "a");
    insist("SELECT belay.distribute_hub('app')");
    insist("SELECT belay.drop_hub('app')");
    EXPECT_EQ(super.value("SELECT count(*) FROM belay.hubs"), "0");
}

}  // namespace
}  // namespace belay::test
