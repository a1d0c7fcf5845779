// The tool and hubs on other servers: the list, top, and the move of a hub.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "belay/admin.hpp"
#include "dashboard_server.hpp"

namespace belay::test {
namespace {

class ToolPlaces : public WithPrograms {
 protected:
    static Ran belay(std::vector<std::string> words) {
        words.insert(words.begin(), "belay");
        return run(words);
    }

    static json parsed(std::vector<std::string> words) {
        words.push_back("--json");
        const Ran ran = belay(words);
        EXPECT_EQ(ran.code, 0) << ran.err;
        const json value = json::parse(ran.out, nullptr, false);
        EXPECT_FALSE(value.is_discarded()) << ran.out;
        return value;
    }
};

// The catalogs of Citus that say where a hub is, without Citus: this server is node 0, and the hub
// is on node 1.
void imitate_citus(Conn& conn, const std::string& hub) {
    conn.exec("SET allow_system_table_mods = on");
    conn.exec("CREATE TYPE public.imitated_role AS ENUM ('primary')");
    conn.exec(
        "CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid oid, colocationid int);"
        "CREATE TABLE pg_catalog.pg_dist_shard (logicalrelid oid, shardid bigint);"
        "CREATE TABLE pg_catalog.pg_dist_placement (shardid bigint, shardstate int, groupid int);"
        "CREATE TABLE pg_catalog.pg_dist_local_group (groupid int);"
        "CREATE TABLE pg_catalog.pg_dist_node (groupid int, nodename text, nodeport int, noderole "
        "public.imitated_role)");
    conn.exec(
        "INSERT INTO pg_dist_local_group VALUES (0);"
        "INSERT INTO pg_dist_node VALUES (0, 'near', 5432, 'primary'), (1, 'far', 5433, "
        "'primary');"
        "INSERT INTO pg_dist_partition SELECT oid, 1 FROM pg_class WHERE relkind = 'r' AND "
        "relnamespace = '" +
        hub +
        "'::regnamespace;"
        "INSERT INTO pg_dist_shard SELECT logicalrelid, logicalrelid::bigint FROM "
        "pg_dist_partition;"
        "INSERT INTO pg_dist_placement SELECT shardid, 1, 1 FROM pg_dist_shard");
}

void forget_citus(Conn& conn) {
    conn.exec("SET allow_system_table_mods = on");
    conn.exec(
        "DROP TABLE pg_dist_partition, pg_dist_shard, pg_dist_placement, pg_dist_local_group, "
        "pg_dist_node; DROP TYPE public.imitated_role");
}

// SO-50: of a hub on another node of Citus this server knows the name, the owner and the place.
TEST_F(ToolPlaces, ListsHubsOfOtherNodes) {
    Conn conn = cluster->connect();
    conn.exec("SELECT belay.create_hub('here')");
    imitate_citus(conn, "app");
    const auto hubs = Admin(connection_).hubs();
    ASSERT_EQ(hubs.size(), 2U);
    EXPECT_EQ(hubs[0].name, "app");
    EXPECT_EQ(hubs[0].owner, "postgres");
    EXPECT_FALSE(hubs[0].api || hubs[0].version || hubs[0].is_current || hubs[0].paused ||
                 hubs[0].created_at);
    EXPECT_TRUE(hubs[0].paused_queues.empty());
    EXPECT_EQ(hubs[0].place, "far:5433");
    EXPECT_FALSE(hubs[0].is_here);
    EXPECT_EQ(hubs[1].name, "here");
    EXPECT_EQ(hubs[1].is_current, true);
    EXPECT_EQ(hubs[1].paused, false);
    EXPECT_FALSE(hubs[1].place);
    EXPECT_TRUE(hubs[1].is_here);
    const json rows = parsed({"hubs"});
    EXPECT_EQ(rows[0]["place"], "far:5433");
    EXPECT_EQ(rows[0]["is_here"], false);
    for (const char* field : {"api", "version", "is_current", "paused", "paused_queues"}) {
        EXPECT_TRUE(rows[0].contains(field) && rows[0][field].is_null()) << field;
    }
    const std::string table = belay({"hubs"}).out;
    EXPECT_NE(table.find("far:5433"), std::string::npos) << table;
    forget_citus(conn);
    conn.exec("SELECT belay.drop_hub('here')");
}

// SO-50: a hub with a place on a plain server has left its rows here, which are described.
TEST_F(ToolPlaces, ListsPlainPlaces) {
    Conn conn = cluster->connect();
    conn.exec("SELECT belay.set_hub_place('app', 'db2', 5433)");
    const json rows = parsed({"hubs"});
    EXPECT_EQ(rows[0]["place"], "db2:5433");
    EXPECT_EQ(rows[0]["is_here"], false);
    EXPECT_EQ(rows[0]["is_current"], true);
    EXPECT_EQ(rows[0]["paused_queues"], "");
    conn.exec("SELECT belay.remove_hub_place('app')");
}

class DashboardPlaces : public DashboardServer {};

// SO-50
TEST_F(DashboardPlaces, ListsHubsOfOtherNodes) {
    Conn conn = cluster->connect();
    conn.exec("SELECT belay.create_hub('here')");
    imitate_citus(conn, "app");
    start();
    const Viewer viewer = log_in();
    const json rows = get("/api/v1/hubs", viewer).parsed()["rows"];
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0]["name"], "app");
    EXPECT_EQ(rows[0]["place"], "far:5433");
    EXPECT_EQ(rows[0]["here"], false);
    EXPECT_TRUE(rows[0]["version"].is_null() && rows[0]["current"].is_null() &&
                rows[0]["paused_queues"].is_null());
    EXPECT_TRUE(rows[1]["place"].is_null());
    EXPECT_EQ(rows[1]["here"], true);
    EXPECT_TRUE(get("/api/v1/me", viewer).parsed()["hubs"]["app"]["current"].is_null());
    stop();
    const Ran checked = run({"belay", "dashboard", "--check"});
    EXPECT_NE(checked.out.find("; on far:5433, where a dashboard can show it\n"), std::string::npos)
        << checked.out;
    forget_citus(conn);
    conn.exec("SELECT belay.drop_hub('here')");
}

// Connections of the dashboard stay: a page of a hub that has moved says where it is.
TEST_F(DashboardPlaces, StaysOnItsServer) {
    Cluster second({.preload = true});
    second.connect().exec("CREATE EXTENSION belay");
    second.connect().exec("SELECT belay.create_hub('app')");
    Conn conn = cluster->connect();
    conn.exec("SELECT belay.create_hub('here')");
    {
        const Connection far({.conninfo = second.conninfo()});
        conn.exec("SELECT belay.set_hub_place('app', '" + std::string(PQhost(far.raw())) + "', " +
                  PQport(far.raw()) + ")");
    }
    start();
    const Viewer viewer = log_in();
    const Answer answer = get("/api/v1/h/app/glance", viewer);
    EXPECT_NE(answer.status, 200);
    EXPECT_EQ(answer.parsed()["sqlstate"], "QB017") << answer.body;
    EXPECT_EQ(get("/api/v1/hubs", viewer).parsed()["rows"].size(), 2U);
    stop();
    conn.exec("SELECT belay.remove_hub_place('app'), belay.drop_hub('here')");
}

// `top` shows one server: the hubs that are there, and with --hub the server that has the hub.
TEST_F(ToolPlaces, TopStaysOnOneServer) {
    Cluster second({.preload = true});
    Conn there = second.connect();
    there.exec("CREATE EXTENSION belay");
    there.exec("SELECT belay.create_hub('app'), belay.create_hub('beside')");
    there.exec("SELECT app.send('mail')");
    Conn conn = cluster->connect();
    conn.exec("SELECT belay.create_hub('here')");
    {
        const Connection far({.conninfo = second.conninfo()});
        conn.exec("SELECT belay.set_hub_place('app', '" + std::string(PQhost(far.raw())) + "', " +
                  PQport(far.raw()) + ")");
    }
    const auto hubs_of = [](const json& sample) {
        std::set<std::string> names;
        for (const auto& row : sample["queues"]) {
            names.insert(row["hub"].get<std::string>());
        }
        return names;
    };
    std::istringstream samples(belay({"top", "--count", "2", "--interval", "0.05", "--json"}).out);
    int count = 0;
    for (std::string line; std::getline(samples, line); ++count) {
        EXPECT_EQ(hubs_of(json::parse(line)), std::set<std::string>{"here"}) << line;
    }
    EXPECT_EQ(count, 2);
    const json followed = parsed({"top", "--once", "--hub", "app"});
    EXPECT_EQ(hubs_of(followed), std::set<std::string>{"app"});
    EXPECT_EQ(followed["task_queues"].size(), 1U) << followed;
    conn.exec("SELECT belay.remove_hub_place('app'), belay.drop_hub('here')");
}

// SO-66: hubs of all servers in one picture; one that is away is shown as such.
TEST_F(ToolPlaces, TopShowsAllServers) {
    Cluster second({.preload = true});
    Conn there = second.connect();
    there.exec("CREATE EXTENSION belay");
    there.exec("SELECT belay.create_hub('far')");
    there.exec("SELECT far.send('mail'), far.send('mail')");
    Conn conn = cluster->connect();
    std::string place;
    {
        const Connection far({.conninfo = second.conninfo()});
        place = std::string(PQhost(far.raw())) + ":" + PQport(far.raw());
        conn.exec("SELECT belay.set_hub_place('far', '" + std::string(PQhost(far.raw())) + "', " +
                  PQport(far.raw()) + ")");
    }
    const auto hubs_of = [](const json& sample) {
        std::set<std::string> names;
        for (const auto& row : sample["queues"]) {
            names.insert(row["hub"].get<std::string>());
        }
        return names;
    };
    EXPECT_EQ(hubs_of(parsed({"top", "--once"})), std::set<std::string>{"app"});
    const json all = parsed({"top", "--once", "--all-nodes"});
    EXPECT_EQ(hubs_of(all), (std::set<std::string>{"app", "far"}));
    ASSERT_EQ(all["nodes"].size(), 2U) << all;
    EXPECT_EQ(all["nodes"][0]["hubs"], 1);
    EXPECT_EQ(all["nodes"][1]["place"], place);
    EXPECT_EQ(all["nodes"][1]["hubs"], 1);
    EXPECT_EQ(all["nodes"][1]["away"], false);
    ASSERT_EQ(all["task_queues"].size(), 1U) << all;
    EXPECT_EQ(all["task_queues"][0]["ready"], 2);
    EXPECT_EQ(hubs_of(parsed({"top", "--once", "--all-nodes", "--hub", "far"})),
              std::set<std::string>{"far"});
    // Both pictures of one run: rates, on the same connections.
    EXPECT_EQ(belay({"top", "--all-nodes", "--count", "2", "--interval", "0.05"}).code, 0);
    second.stop();
    const json left = parsed({"top", "--once", "--all-nodes"});
    EXPECT_EQ(hubs_of(left), std::set<std::string>{"app"});
    EXPECT_EQ(left["nodes"][1]["away"], true);
    EXPECT_TRUE(left["nodes"][1]["hubs"].is_null());
    const std::string picture = belay({"top", "--once", "--all-nodes"}).out;
    EXPECT_NE(picture.find("away: "), std::string::npos) << picture;
    conn.exec("SELECT belay.remove_hub_place('far')");
}

// SO-66: a hub that is not there is an error, not an empty picture.
TEST_F(ToolPlaces, TopOfNoHubIsAnError) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"--hub", "nowhere", "top", "--once"},
          {"--hub", "nowhere", "top", "--once", "--all-nodes"},
          {"--hub", "nowhere", "top", "--once", "--json"}}) {
        const Ran ran = belay(words);
        EXPECT_EQ(ran.code, 1);
        EXPECT_EQ(ran.out, "");
        EXPECT_NE(ran.err.find("has no hub \"nowhere\""), std::string::npos) << ran.err;
    }
}

// SO-52: without Citus, the steps, with this hub and this place.
TEST_F(ToolPlaces, MoveSaysWhatToDoOnPlainServers) {
    const Ran ran = belay({"move", "app", "db2:5433"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_EQ(ran.out, "");
    EXPECT_TRUE(ran.err.starts_with("belay: database postgres has no extension citus")) << ran.err;
    for (const char* step :
         {"SELECT belay.set_hub_place('app', 'db2', 5433);", "pg_dump of schema app",
          "SELECT belay.remove_hub_place('app');", "SELECT belay.drop_hub('app');"}) {
        EXPECT_NE(ran.err.find(step), std::string::npos) << ran.err;
    }
    EXPECT_NE(belay({"move", "nowhere", "db2:5433"}).err.find("hub \"nowhere\" does not exist"),
              std::string::npos);
}

TEST_F(ToolPlaces, MoveReadsItsArguments) {
    for (const char* place : {"db2", "db2:", ":5432", "db2:0", "db2:65536", "db2:x"}) {
        const Ran ran = belay({"move", "app", place});
        EXPECT_EQ(ran.code, 2) << place;
        EXPECT_NE(ran.err.find("is not HOST:PORT"), std::string::npos) << ran.err;
    }
    EXPECT_EQ(belay({"move", "app"}).code, 2);
    EXPECT_EQ(belay({"move", "app", "db2:5433", "--mode", "fast"}).code, 2);
    EXPECT_NE(belay({"move", "app", "[fe80::1]:5433"}).err.find("'fe80::1', 5433"),
              std::string::npos);
}

// What a move does is the server's; suite citus tests it. Here the function is imitated.
class ToolMove : public ToolPlaces {
 protected:
    void SetUp() override {
        ToolPlaces::SetUp();
        conn_.exec("CREATE DATABASE moves");
        Conn conn = moves();
        conn.exec("CREATE EXTENSION belay");
        conn.exec("SELECT belay.create_hub('app')");
        imitate_citus(conn, "app");
        conn.exec(
            "INSERT INTO pg_dist_node VALUES (2, 'third', 5434, 'primary');"
            "INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, "
            "extversion) VALUES (4000000000, 'citus', 10, 11, false, '13');"
            "CREATE TABLE public.moves (hub name, host text, port int, mode text);"
            "GRANT ALL ON public.moves TO PUBLIC");
    }
    void TearDown() override {
        conn_.exec("DROP DATABASE moves WITH (FORCE)");
        ToolPlaces::TearDown();
    }
    static Conn moves() { return cluster->connect("moves"); }

    // What belay.move_hub does.
    static void define_move(const std::string& body) {
        moves().exec(
            "CREATE OR REPLACE FUNCTION belay.move_hub(p_name name, p_host text, p_port integer, "
            "p_mode text DEFAULT 'auto') RETURNS void LANGUAGE plpgsql AS $$ BEGIN " +
            body + " END $$");
    }

    static Ran move(std::vector<std::string> words) {
        words.insert(words.begin(), {"move", "--dsn", cluster->conninfo("moves")});
        return belay(words);
    }

    Conn conn_ = cluster->connect();
};

TEST_F(ToolMove, CallsTheServer) {
    define_move(
        "INSERT INTO public.moves VALUES (p_name, p_host, p_port, p_mode);"
        "UPDATE pg_catalog.pg_dist_placement SET groupid = (SELECT n.groupid FROM "
        "pg_catalog.pg_dist_node AS n WHERE n.nodename = p_host);");
    const Ran moved = move({"app", "third:5434"});
    EXPECT_EQ(moved.code, 0) << moved.err;
    EXPECT_EQ(moved.out, "moved hub app to third:5434\n");
    EXPECT_EQ(moved.err, "moving hub app from far:5433; Ctrl-C cancels\n");
    const Ran again = move({"app", "third:5434", "--mode", "block_writes", "--json"});
    const json object = json::parse(again.out);
    EXPECT_EQ(object["moved"], false);
    EXPECT_EQ(object["from"], "third:5434");
    EXPECT_EQ(object["to"], "third:5434");
    EXPECT_GE(object["took_ms"], 0);
    EXPECT_EQ(
        moves().value(
            "SELECT string_agg(concat_ws(' ', hub, host, port, mode), ', ' ORDER BY mode) FROM "
            "public.moves AS m"),
        "app third 5434 auto, app third 5434 block_writes");
}

TEST_F(ToolMove, ShowsTheServersError) {
    define_move(
        "RAISE 'hub \"app\" is not distributed' USING ERRCODE = '55000', HINT = 'Distribute it.';");
    const Ran ran = move({"app", "third:5434"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.err.find("belay: hub \"app\" is not distributed"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("hint: Distribute it."), std::string::npos) << ran.err;
}

// SO-52: a signal cancels the statement, so that nothing has moved.
TEST_F(ToolMove, ASignalCancelsIt) {
    define_move("INSERT INTO public.moves VALUES (p_name); PERFORM pg_sleep(120);");
    std::thread stopper([&] {
        await([&] {
            return conn_.value(
                       "SELECT count(*) FROM pg_stat_activity WHERE datname = 'moves' AND "
                       "wait_event = 'PgSleep'") == "1";
        });
        kill(running_pid(), SIGINT);
    });
    const Ran ran = move({"app", "third:5434"});
    stopper.join();
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.err.find("the move was cancelled"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("still on far:5433"), std::string::npos) << ran.err;
    EXPECT_EQ(moves().value("SELECT count(*) FROM public.moves"), "0");
}

}  // namespace
}  // namespace belay::test
