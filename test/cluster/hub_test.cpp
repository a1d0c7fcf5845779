// Hubs in servers that live, die, copy and move: with and without preloading, crash and restart,
// dump and restore, templates, renames.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "cluster.hpp"

namespace belay::test {
namespace {

// True if the hub is listed and its functions answer.
void expect_works(Conn& conn, const std::string& hub) {
    EXPECT_EQ(
        conn.value("SELECT count(*) FROM belay.hubs WHERE name = '" + hub + "' AND is_current"),
        "1");
    EXPECT_EQ(conn.error_of("SELECT belay.set_hub_option('" + hub + "', 'max_attempts', '7')"), "");
    EXPECT_EQ(conn.value("SELECT value FROM belay.hub_options WHERE hub = '" + hub +
                         "' AND option = 'max_attempts'"),
              "7");
}

// A value that only this hub's row can have.
std::string identity(Conn& conn, const std::string& hub) {
    return conn.value("SELECT uuid FROM " + hub + ".belay_hub");
}

// ---- Preloaded or not ----

class Preload : public testing::TestWithParam<bool> {};

TEST_P(Preload, HubsWork) {
    Cluster cluster({.preload = GetParam()});
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    EXPECT_NE(conn.value("SELECT belay.version()"), "");
    conn.exec("SELECT belay.create_hub('app')");
    expect_works(conn, "app");

    // Another backend has caches of its own.
    Conn other = cluster.connect();
    expect_works(other, "app");

    conn.exec("SELECT belay.drop_hub('app')");
    EXPECT_EQ(other.value("SELECT count(*) FROM belay.hubs"), "0");
    EXPECT_EQ(conn.value("SELECT count(*) FROM pg_namespace WHERE nspname = 'app'"), "0");
}

TEST_P(Preload, RestartKeepsHubs) {
    Cluster cluster({.preload = GetParam()});
    std::string before;
    {
        Conn conn = cluster.connect();
        conn.exec("CREATE EXTENSION belay");
        conn.exec("SELECT belay.create_hub('app')");
        before = identity(conn, "app");
    }
    cluster.restart();
    Conn conn = cluster.connect();
    EXPECT_EQ(identity(conn, "app"), before);
    expect_works(conn, "app");
}

TEST_P(Preload, KilledBackendKeepsHubs) {
    Cluster cluster({.preload = GetParam()});
    {
        Conn conn = cluster.connect();
        conn.exec("CREATE EXTENSION belay");
        conn.exec("SELECT belay.create_hub('app')");
        Conn victim = cluster.connect();
        expect_works(victim, "app");
        victim.exec("BEGIN; SELECT belay.create_hub('lost')");
        ASSERT_EQ(kill(victim.backend_pid(), SIGKILL), 0);
        // The server ends every session once it has noticed; before that it still takes new ones.
        while (conn.error_of("SELECT pg_sleep(0.01)").empty()) {
        }
    }
    cluster.wait_ready();
    Conn conn = cluster.connect();
    expect_works(conn, "app");
    EXPECT_EQ(conn.value("SELECT count(*) FROM belay.hubs"), "1");
    EXPECT_EQ(conn.error_of("SELECT belay.create_hub('lost')"), "");
}

TEST_P(Preload, KilledServerKeepsHubs) {
    Cluster cluster({.preload = GetParam()});
    {
        Conn conn = cluster.connect();
        conn.exec("CREATE EXTENSION belay");
        conn.exec("SELECT belay.create_hub('app')");
    }
    cluster.kill9();
    cluster.start();
    Conn conn = cluster.connect();
    expect_works(conn, "app");
}

TEST_P(Preload, StandbyReadsAndTakesOver) {
    Cluster primary({.preload = GetParam()});
    Conn conn = primary.connect();
    conn.exec("CREATE EXTENSION belay");
    conn.exec("SELECT belay.create_hub('app')");
    const auto standby = primary.make_standby();
    {
        Conn reader = standby->connect();
        EXPECT_EQ(reader.value("SELECT name FROM belay.hubs"), "app");
        EXPECT_EQ(reader.error_of("SELECT belay.create_hub('other')"), "25006");
        EXPECT_EQ(reader.error_of("SELECT belay.set_hub_option('app', 'max_attempts', '3')"),
                  "25006");
    }
    primary.stop("immediate");
    standby->promote();
    Conn heir = standby->connect();
    expect_works(heir, "app");
}

INSTANTIATE_TEST_SUITE_P(, Preload, testing::Bool(),
                         [](const auto& info) { return info.param ? "On" : "Off"; });

// ---- Dump and restore ----

// One server with a hub that belongs to a plain role, in database "source".
class Dump : public testing::Test {
 protected:
    static void SetUpTestSuite() {
        cluster = new Cluster();
        Conn super = cluster->connect();
        super.exec("CREATE ROLE app_owner LOGIN");
        make_database(super, "source");
        Conn owner = cluster->connect("source", "app_owner");
        owner.exec("SELECT belay.create_hub('app')");
        owner.exec("SELECT belay.set_hub_option('app', 'max_body_bytes', '4096')");
    }
    static void TearDownTestSuite() {
        delete cluster;
        cluster = nullptr;
    }

    // What an administrator does for a role that is to own hubs.
    static void make_database(Conn& super, const std::string& name) {
        super.exec("CREATE DATABASE " + name + " TEMPLATE template0");
        super.exec("GRANT CREATE ON DATABASE " + name + " TO app_owner");
        Conn there = cluster->connect(name);
        there.exec("CREATE EXTENSION belay");
        there.exec("GRANT USAGE ON LANGUAGE belay TO app_owner");
    }

    // Restores a dump of "source" as app_owner and expects the hub to be there and to work.
    static void expect_restored(const std::string& dump, const std::string& database) {
        Conn super = cluster->connect();
        make_database(super, database);

        // The administrator has made the extension; its entries are not the owner's to restore.
        std::istringstream entries(cluster->run({"pg_restore", "-l", dump}));
        const std::string list = cluster->file(database + ".list");
        std::ofstream wanted(list);
        for (std::string line; std::getline(entries, line);) {
            if (line.find(" EXTENSION ") == std::string::npos &&
                line.find(" SCHEMA - belay ") == std::string::npos &&
                line.find(" LANGUAGE belay ") == std::string::npos &&
                line.find(" SCHEMA belay ") == std::string::npos &&
                line.find(" TABLE DATA belay ") == std::string::npos) {
                wanted << line << '\n';
            }
        }
        wanted.close();
        cluster->run(
            {"pg_restore", "--exit-on-error", "-U", "app_owner", "-d", database, "-L", list, dump});

        Conn source = cluster->connect("source", "app_owner");
        Conn owner = cluster->connect(database, "app_owner");
        EXPECT_EQ(identity(owner, "app"), identity(source, "app"));
        EXPECT_EQ(owner.value("SELECT owner FROM belay.hubs WHERE name = 'app'"), "app_owner");
        EXPECT_EQ(owner.value("SELECT value FROM belay.hub_options WHERE hub = 'app' AND option = "
                              "'max_body_bytes'"),
                  "4096");
        expect_works(owner, "app");
        // Not only the row: every function of the hub came along.
        const std::string functions =
            "SELECT count(*) FROM pg_proc WHERE pronamespace = 'app'::regnamespace";
        EXPECT_EQ(owner.value(functions), source.value(functions));
        EXPECT_EQ(owner.error_of("SELECT belay.drop_hub('app')"), "");
    }

    static Cluster* cluster;
};

Cluster* Dump::cluster = nullptr;

TEST_F(Dump, BySuperuserRestoredByOwner) {
    const std::string dump = cluster->file("super.dump");
    cluster->run({"pg_dump", "-Fc", "-f", dump, "source"});
    expect_restored(dump, "from_super");
}

TEST_F(Dump, ByOwnerRestoredByOwner) {
    const std::string dump = cluster->file("owner.dump");
    cluster->run({"pg_dump", "-Fc", "-U", "app_owner", "-n", "app", "-f", dump, "source"});
    expect_restored(dump, "from_owner");
}

TEST_F(Dump, BySuperuserRestoredBySuperuserWithPsql) {
    const std::string dump = cluster->file("plain.sql");
    cluster->run({"pg_dump", "-f", dump, "source"});
    cluster->connect().exec("CREATE DATABASE from_plain TEMPLATE template0");
    cluster->run({"psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", "from_plain", "-f", dump});
    Conn owner = cluster->connect("from_plain", "app_owner");
    expect_works(owner, "app");
}

TEST_F(Dump, WithoutLanguageTheOwnerCannotRestore) {
    const std::string dump = cluster->file("refused.dump");
    cluster->run({"pg_dump", "-Fc", "-n", "app", "-f", dump, "source"});
    Conn super = cluster->connect();
    make_database(super, "refusing");
    cluster->connect("refusing").exec("REVOKE USAGE ON LANGUAGE belay FROM app_owner");
    const Output output = cluster->try_run(
        {"pg_restore", "--exit-on-error", "-U", "app_owner", "-d", "refusing", dump});
    EXPECT_NE(output.code, 0);
    EXPECT_NE(output.text.find("permission denied"), std::string::npos) << output.text;
}

// ---- The extension, templates, renames ----

class Hub : public testing::Test {
 protected:
    static void SetUpTestSuite() { cluster = new Cluster(); }
    static void TearDownTestSuite() {
        delete cluster;
        cluster = nullptr;
    }

    // A database with the extension and the hub "app".
    static Conn make(const std::string& database) {
        cluster->connect().exec("CREATE DATABASE " + database);
        Conn conn = cluster->connect(database);
        conn.exec("CREATE EXTENSION belay");
        conn.exec("SELECT belay.create_hub('app')");
        return conn;
    }

    static Cluster* cluster;
};

Cluster* Hub::cluster = nullptr;

// What an extension script makes becomes a member of the extension and is left out of dumps.
TEST_F(Hub, IsNotMadeFromAnExtensionScript) {
    Conn conn = make("in_script");
    EXPECT_EQ(conn.error_of("CREATE EXTENSION belay_script"), "0A000");
    EXPECT_EQ(conn.value("SELECT count(*) FROM belay.hubs WHERE name = 'from_script'"), "0");
}

// HB-1: keys and payloads are any Unicode.
TEST_F(Hub, NeedsUtf8) {
    cluster->connect().exec(
        "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
    Conn conn = cluster->connect("latin");
    conn.exec("CREATE EXTENSION belay");
    EXPECT_EQ(conn.error_of("SELECT belay.create_hub('app')"), "QB006");
    EXPECT_EQ(conn.value("SELECT count(*) FROM pg_namespace WHERE nspname = 'app'"), "0");
}

TEST_F(Hub, DropExtensionRefusesWhileOneExists) {
    Conn conn = make("refuse_drop");
    EXPECT_EQ(conn.error_of("DROP EXTENSION belay"), "2BP01");
    expect_works(conn, "app");
    conn.exec("SELECT belay.drop_hub('app')");
    EXPECT_EQ(conn.error_of("DROP EXTENSION belay"), "");
    EXPECT_EQ(conn.error_of("CREATE EXTENSION belay"), "");
}

// Where belay is preloaded, the error names the hubs and the way to remove them instead of hundreds
// of objects, and no empty schema is left behind; one with something in it stays.
TEST(DropExtension, SpeaksOfHubs) {
    Cluster cluster({.preload = true});
    Conn conn = cluster.connect();
    conn.exec(
        "CREATE FUNCTION public.error_of(statement text) RETURNS text LANGUAGE plpgsql AS $$"
        "DECLARE d text; h text; "
        "BEGIN EXECUTE statement; RETURN 'none'; "
        "EXCEPTION WHEN OTHERS THEN GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL, h = "
        "PG_EXCEPTION_HINT; RETURN SQLSTATE || ' ' || SQLERRM || '|' || d || '|' || h; END $$");
    conn.exec("CREATE EXTENSION belay");
    conn.exec("SELECT belay.create_hub('b_hub'), belay.create_hub('a_hub')");
    const std::string error = conn.value("SELECT public.error_of('DROP EXTENSION belay')");
    EXPECT_NE(error.find("2BP01 cannot drop extension belay because hubs depend on it|Hubs of this "
                         "database: a_hub, b_hub.|"),
              std::string::npos)
        << error;
    EXPECT_NE(error.find("belay.drop_hub"), std::string::npos) << error;
    EXPECT_EQ(conn.value("SELECT public.error_of('DROP EXTENSION IF EXISTS other')"), "none");
    conn.exec("SELECT belay.drop_hub('a_hub'), belay.drop_hub('b_hub')");
    EXPECT_EQ(conn.error_of("DROP EXTENSION belay"), "");
    EXPECT_EQ(conn.value("SELECT count(*) FROM pg_namespace WHERE nspname = 'belay'"), "0");
    EXPECT_EQ(conn.error_of("CREATE EXTENSION belay"), "");
    conn.exec("CREATE TABLE belay.mine ()");
    EXPECT_EQ(conn.error_of("DROP EXTENSION belay"), "");
    EXPECT_EQ(conn.value("SELECT to_regclass('belay.mine')"), "belay.mine");
    EXPECT_EQ(conn.error_of("CREATE EXTENSION belay"), "");
    // With CASCADE the tables of hubs stay.
    conn.exec("SELECT belay.create_hub('c_hub')");
    EXPECT_EQ(conn.error_of("DROP EXTENSION belay CASCADE"), "");
    EXPECT_EQ(conn.value("SELECT count(*) FROM c_hub.belay_hub"), "1");
}

TEST_F(Hub, DropExtensionCascadeKeepsTables) {
    Conn conn = make("cascade");
    conn.exec("DROP EXTENSION belay CASCADE");
    EXPECT_EQ(conn.value("SELECT count(*) FROM app.belay_hub"), "1");
    EXPECT_EQ(conn.value("SELECT count(*) FROM pg_proc WHERE pronamespace = 'app'::regnamespace"),
              "0");
}

TEST_F(Hub, DatabaseFromTemplateHasIt) {
    { Conn conn = make("original"); }
    cluster->connect().exec("CREATE DATABASE copy TEMPLATE original");
    Conn conn = cluster->connect("copy");
    expect_works(conn, "app");
    // The two go their own ways.
    conn.exec("SELECT belay.drop_hub('app')");
    Conn original = cluster->connect("original");
    expect_works(original, "app");
}

// HB-3.
TEST_F(Hub, SchemaRenameRenamesIt) {
    Conn conn = make("renamed");
    Conn other = cluster->connect("renamed");
    expect_works(other, "app");
    conn.exec("ALTER SCHEMA app RENAME TO app2");
    expect_works(conn, "app2");
    expect_works(other, "app2");
    EXPECT_EQ(other.value("SELECT count(*) FROM belay.hubs WHERE name = 'app'"), "0");
    // The old name is free again.
    conn.exec("SELECT belay.create_hub('app')");
    expect_works(other, "app");
    EXPECT_EQ(other.value("SELECT count(*) FROM belay.hubs"), "2");
}

TEST_F(Hub, DroppedAndMadeAgainInOneBackend) {
    Conn conn = make("again");
    Conn other = cluster->connect("again");
    expect_works(other, "app");
    const std::string before = identity(conn, "app");
    conn.exec("SELECT belay.drop_hub('app')");
    conn.exec("SELECT belay.create_hub('app')");
    EXPECT_NE(identity(other, "app"), before);
    expect_works(conn, "app");
    expect_works(other, "app");
}

// HB-6.
TEST_F(Hub, DropSchemaCascadeLeavesNothing) {
    Conn conn = make("gone");
    conn.exec("DROP SCHEMA app CASCADE");
    EXPECT_EQ(conn.value("SELECT count(*) FROM belay.hubs"), "0");
    EXPECT_EQ(conn.error_of("DROP EXTENSION belay"), "");
}

// ---- Citus ----

// create_hub makes a local hub, also where Citus makes new schemas its own. (Its settings are
// imitated.)
TEST(Distributed, NewHubsAreLocal) {
    Cluster cluster;
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    conn.exec("CREATE TABLE seen (settings text)");
    conn.exec(
        "CREATE FUNCTION look() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO "
        "public.seen VALUES (concat_ws(' ', current_setting('citus.enable_ddl_propagation', true), "
        "current_setting('citus.enable_schema_based_sharding', true))); END $$");
    conn.exec(
        "CREATE EVENT TRIGGER look ON ddl_command_end WHEN TAG IN ('CREATE SCHEMA', 'CREATE "
        "TABLE') EXECUTE FUNCTION look()");
    conn.exec("SET citus.enable_ddl_propagation = on");
    conn.exec("SET citus.enable_schema_based_sharding = on");
    conn.exec("SELECT belay.create_hub('app')");
    EXPECT_EQ(conn.value("SELECT string_agg(DISTINCT settings, ',') FROM seen"), "off off");
    EXPECT_EQ(conn.value("SHOW citus.enable_ddl_propagation"), "on");
}

// SO-0: a hub of which Citus has some tables, or each by itself, is refused by every function, and
// left out of lists; the background worker leaves it alone. (The catalog of Citus is imitated: the
// extension need not be there.)
TEST(Distributed, IsRefused) {
    Cluster cluster({.preload = true, .conf = {"belay.reconcile_interval = 20ms"}});
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    conn.exec("SELECT belay.create_hub('app'), belay.create_hub('other')");
    conn.exec("SET allow_system_table_mods = on");
    conn.exec("CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid oid)");
    expect_works(conn, "app");
    conn.exec("INSERT INTO pg_dist_partition VALUES ('app.belay_hub'::regclass)");
    // As Citus does.
    conn.exec(
        "COMMENT ON COLUMN app.belay_hub.uuid IS 'x'; ALTER TABLE app.belay_hub SET (fillfactor = "
        "99)");
    const Rows calls = conn.exec(R"sql(
        SELECT format('%s app.%I(%s)', CASE p.prokind WHEN 'p' THEN 'CALL' ELSE 'SELECT' END, p.proname,
                      (SELECT string_agg('NULL::' || format_type(t, NULL), ', ' ORDER BY n)
                         FROM unnest(p.proargtypes) WITH ORDINALITY AS a (t, n)))
          FROM pg_proc AS p WHERE p.pronamespace = 'app'::regnamespace)sql");
    EXPECT_GT(calls.size(), 100);
    for (int row = 0; row < calls.size(); ++row) {
        EXPECT_EQ(conn.error_of(*calls.at(row, 0)), "55000") << *calls.at(row, 0);
    }
    for (const std::string sql :
         {"SELECT belay.drop_hub('app')", "SELECT belay.upgrade_hub('app')",
          "SELECT belay.check_hub('app')",
          "SELECT belay.set_hub_option('app', 'max_attempts', '8')",
          "SELECT belay.new_incarnation('app')", "SELECT belay.set_hub_place('app', 'far', 5432)",
          "SELECT belay.grant_hub('app', 'postgres', 'client')",
          "SELECT belay.revoke_hub('app', 'postgres', 'client')"}) {
        EXPECT_EQ(conn.error_of(sql), "55000") << sql;
    }
    EXPECT_EQ(conn.value("SELECT string_agg(name, ',') FROM belay.hubs"), "other");
    expect_works(conn, "other");
    EXPECT_EQ(conn.value("SELECT coalesce(sum(errors), 0) FROM belay.pg_stat_belay_duty"), "0");
    // Of a hub of which Citus has a single table, nothing is served either.
    conn.exec(
        "DELETE FROM pg_dist_partition; INSERT INTO pg_dist_partition VALUES "
        "('app.worker_queue'::regclass)");
    for (const std::string sql : {"SELECT app.pause_hub()", "SELECT * FROM app.fetch_work_item(1)",
                                  "SELECT belay.check_hub('app')"}) {
        EXPECT_EQ(cluster.connect().error_of(sql), "55000") << sql;
    }
    // Also by a session that knows the hub, whichever table it is.
    const Rows tables = conn.exec(
        "SELECT relname FROM pg_class WHERE relnamespace = 'app'::regnamespace AND relkind = 'r'");
    EXPECT_GT(tables.size(), 30);
    for (int row = 0; row < tables.size(); ++row) {
        const std::string table = "app." + *tables.at(row, 0);
        SCOPED_TRACE(table);
        conn.exec("DELETE FROM pg_dist_partition");
        EXPECT_EQ(conn.error_of("SELECT * FROM app.fetch_work_item(1)"), "");
        conn.exec("INSERT INTO pg_dist_partition VALUES ('" + table + "'::regclass); ALTER TABLE " +
                  table + " SET (fillfactor = 99)");
        EXPECT_EQ(conn.error_of("SELECT * FROM app.fetch_work_item(1)"), "55000");
        conn.exec("ALTER TABLE " + table + " RESET (fillfactor)");
    }
    // Local again, it works as before.
    conn.exec("DELETE FROM pg_dist_partition; ALTER TABLE app.belay_hub RESET (fillfactor)");
    expect_works(conn, "app");
}

}  // namespace
}  // namespace belay::test
