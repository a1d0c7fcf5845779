// The background worker: where it runs, when it leaves, what it does for whom, and what it
// survives.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include "cluster.hpp"

namespace belay::test {
namespace {

using namespace std::string_literals;

bool long_form() {
    const char* value = std::getenv("BELAY_LONG");
    return value != nullptr && value == "1"s;
}

// Calls ready until it is true; two minutes on a loaded machine are not too long.
template <typename Ready>
testing::AssertionResult eventually(Ready ready) {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::minutes(long_form() ? 20 : 2);
    while (!ready()) {
        if (std::chrono::steady_clock::now() > deadline) {
            return testing::AssertionFailure() << "waited in vain";
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return testing::AssertionSuccess();
}

// The pid of the worker in a database, 0 if there is none. Calls nothing of belay.
pid_t worker_of(Conn& conn, const std::string& database) {
    const Rows rows = conn.exec(
        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'belay worker' AND datname = '" +
        database + "'");
    EXPECT_LE(rows.size(), 1);
    return rows.size() == 0 ? 0 : std::stoi(*rows.at(0, 0));
}

testing::AssertionResult comes(Conn& conn, const std::string& database) {
    return eventually([&] { return worker_of(conn, database) != 0; });
}

testing::AssertionResult goes(Conn& conn, const std::string& database) {
    return eventually([&] { return worker_of(conn, database) == 0; });
}

// Runs a statement that needs the database to itself.
void expect_ok(Conn& conn, const std::string& sql) {
    EXPECT_NO_THROW(conn.exec(sql)) << sql;
}

long count_in(const std::string& text, const std::string& part) {
    long count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++count;
    }
    return count;
}

Cluster::Options preloaded(std::vector<std::string> conf = {}) {
    conf.insert(conf.begin(), {"max_worker_processes = 40", "belay.max_workers = 30"});
    return {.preload = true, .conf = std::move(conf)};
}

// A database with the extension.
Conn make_database(Cluster& cluster, const std::string& name) {
    cluster.connect().exec("CREATE DATABASE " + name);
    Conn conn = cluster.connect(name);
    conn.exec("CREATE EXTENSION belay");
    return conn;
}

// Rows that duty dead_letters deletes at once.
void add_old_letters(Conn& conn, const std::string& hub, int count) {
    conn.exec("SELECT belay.set_hub_option('" + hub + "', 'dead_letter_retention', '0')");
    conn.exec("INSERT INTO " + hub +
              ".dead_letters (id, queue, source_id, work_item, attempt_count, reason, "
              "enqueued_at, dead_at) SELECT nextval('" +
              hub +
              ".dead_letters_id'), 'worker', i, '{}', 1, 'max_attempts', now(), now() - interval "
              "'1 day' FROM generate_series(1, " +
              std::to_string(count) + ") AS i");
}

// Makes duty session_cleanup fail. It reads the table only if that has a page.
void break_sessions(Conn& conn, const std::string& hub) {
    conn.exec("INSERT INTO " + hub + ".sessions VALUES ('s', 'w', 9000000000000000, 0, 0)");
    conn.exec("ALTER TABLE " + hub + ".sessions RENAME COLUMN locked_until TO broken");
}

std::string letters(Conn& conn, const std::string& hub) {
    return conn.value("SELECT count(*) FROM " + hub + ".dead_letters");
}

long total(Conn& conn, const std::string& column, const std::string& duty) {
    return std::stol(conn.value("SELECT coalesce(sum(" + column +
                                "), 0) FROM belay.workers WHERE duty = '" + duty +
                                "' AND database = current_database()"));
}

// ---- Where it runs ----

class Worker : public testing::Test {
 protected:
    static void SetUpTestSuite() {
        cluster = new Cluster(preloaded({"allow_in_place_tablespaces = on"}));
    }
    static void TearDownTestSuite() {
        delete cluster;
        cluster = nullptr;
    }
    static Cluster* cluster;
};

Cluster* Worker::cluster = nullptr;

TEST_F(Worker, IsThereAfterARestartWithoutAnyCall) {
    { Conn conn = make_database(*cluster, "at_start"); }
    cluster->restart();
    Conn conn = cluster->connect();
    EXPECT_TRUE(comes(conn, "at_start"));
    // One that comes to look does not stay.
    EXPECT_TRUE(goes(conn, "postgres"));
    EXPECT_TRUE(goes(conn, "template1"));
}

TEST_F(Worker, ComesWithTheExtension) {
    Conn conn = make_database(*cluster, "later");
    EXPECT_TRUE(comes(conn, "later"));
    EXPECT_EQ(conn.value("SELECT application_name FROM pg_stat_activity WHERE pid = " +
                         std::to_string(worker_of(conn, "later"))),
              "belay worker");
    EXPECT_EQ(conn.value("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'belay "
                         "launcher' AND application_name = 'belay launcher'"),
              "1");
    EXPECT_TRUE(eventually([&] {
        return conn.exec(
                       "SELECT FROM belay.workers WHERE database = 'later' AND state = 'idle' "
                       "AND started_at IS NOT NULL AND last_loop_at IS NOT NULL")
                   .size() > 0;
    }));
}

TEST_F(Worker, ComesWithAPreparedExtension) {
    cluster->connect().exec("CREATE DATABASE prepared");
    Conn conn = cluster->connect("prepared");
    conn.exec("BEGIN; CREATE EXTENSION belay; PREPARE TRANSACTION 'extension'");
    conn.exec("COMMIT PREPARED 'extension'");
    EXPECT_TRUE(comes(conn, "prepared"));
}

TEST_F(Worker, GoesWithTheExtension) {
    Conn conn = make_database(*cluster, "dropped");
    conn.exec("SELECT belay.create_hub('app')");
    EXPECT_TRUE(comes(conn, "dropped"));
    conn.exec("DROP EXTENSION belay CASCADE");
    EXPECT_TRUE(goes(conn, "dropped"));
    conn.exec("CREATE EXTENSION belay");
    EXPECT_TRUE(comes(conn, "dropped"));
    // Over and over, without losing it.
    for (int i = 0; i < 10; ++i) {
        conn.exec("DROP EXTENSION belay");
        conn.exec("CREATE EXTENSION belay");
    }
    EXPECT_TRUE(comes(conn, "dropped"));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_TRUE(comes(conn, "dropped"));
}

TEST_F(Worker, MakesRoomForCommandsOnItsDatabase) {
    Conn conn = cluster->connect();
    conn.exec("CREATE TABLESPACE other LOCATION ''");
    { Conn made = make_database(*cluster, "moved"); }
    EXPECT_TRUE(comes(conn, "moved"));

    expect_ok(conn, "ALTER DATABASE moved RENAME TO renamed");
    EXPECT_TRUE(comes(conn, "renamed"));
    expect_ok(conn, "ALTER DATABASE renamed SET TABLESPACE other");
    EXPECT_TRUE(comes(conn, "renamed"));
    expect_ok(conn, "CREATE DATABASE copied TEMPLATE renamed");
    EXPECT_TRUE(comes(conn, "renamed"));
    EXPECT_TRUE(comes(conn, "copied"));
    expect_ok(conn, "DROP DATABASE copied");
    EXPECT_EQ(worker_of(conn, "copied"), 0);

    // A command that fails, and one that is rolled back.
    EXPECT_EQ(conn.error_of("ALTER DATABASE renamed RENAME TO postgres"), "42P04");
    EXPECT_TRUE(comes(conn, "renamed"));
    conn.exec("BEGIN; ALTER DATABASE renamed RENAME TO never; ROLLBACK");
    EXPECT_TRUE(comes(conn, "renamed"));
    {
        Conn user = cluster->connect("renamed");
        EXPECT_EQ(conn.error_of("DROP DATABASE renamed"), "55006");
    }
    EXPECT_TRUE(comes(conn, "renamed"));
    expect_ok(conn, "DROP DATABASE renamed WITH (FORCE)");
}

// A worker that is on its way when its database is dropped does not look for it.
TEST_F(Worker, DoesNotComeToADroppedDatabase) {
    Conn conn = cluster->connect();
    pid_t postmaster = 0;
    std::ifstream(cluster->data() + "/postmaster.pid") >> postmaster;
    ASSERT_GT(postmaster, 0);
    // Databases are visited one after the other: when one has a worker, those before it had theirs.
    for (const char* name : {"before", "between", "behind"}) {
        Conn other = make_database(*cluster, name);
        EXPECT_TRUE(comes(other, name));
        // The launcher asks for a process, and gets it when the database is gone.
        kill(postmaster, SIGSTOP);
        EXPECT_NO_THROW(conn.exec("CREATE DATABASE brief"));
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        EXPECT_NO_THROW(conn.exec("DROP DATABASE brief"));
        kill(postmaster, SIGCONT);
    }
    Conn last = make_database(*cluster, "last");
    EXPECT_TRUE(comes(last, "last"));
    EXPECT_EQ(count_in(cluster->log(), "FATAL:  database "), 0);
}

TEST_F(Worker, IsNotDisturbedByThoseWhoMayNot) {
    Conn conn = make_database(*cluster, "theirs");
    conn.exec("CREATE ROLE nobody LOGIN");
    EXPECT_TRUE(comes(conn, "theirs"));
    const pid_t before = worker_of(conn, "theirs");
    Conn nobody = cluster->connect("postgres", "nobody");
    EXPECT_EQ(nobody.error_of("DROP DATABASE theirs"), "42501");
    EXPECT_EQ(nobody.error_of("ALTER DATABASE theirs RENAME TO mine"), "42501");
    EXPECT_EQ(nobody.error_of("CREATE DATABASE mine TEMPLATE theirs"), "42501");
    EXPECT_EQ(worker_of(conn, "theirs"), before);
}

TEST_F(Worker, SurvivesCancelAndTerminate) {
    Conn conn = make_database(*cluster, "cancelled");
    EXPECT_TRUE(comes(conn, "cancelled"));
    for (int i = 0; i < 20; ++i) {
        conn.exec(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE backend_type LIKE "
            "'belay%'");
    }
    EXPECT_TRUE(comes(conn, "cancelled"));
    const pid_t before = worker_of(conn, "cancelled");
    conn.exec("SELECT pg_terminate_backend(" + std::to_string(before) + ")");
    EXPECT_TRUE(eventually([&] {
        const pid_t now = worker_of(conn, "cancelled");
        return now != 0 && now != before;
    }));
}

TEST_F(Worker, OutlivesItsLauncher) {
    Conn conn = make_database(*cluster, "launched");
    EXPECT_TRUE(comes(conn, "launched"));
    const pid_t worker = worker_of(conn, "launched");
    const auto launcher = [&] {
        const Rows rows =
            conn.exec("SELECT pid FROM pg_stat_activity WHERE backend_type = 'belay launcher'");
        return rows.size() == 0 ? ""s : *rows.at(0, 0);
    };
    const std::string before = launcher();
    conn.exec("SELECT pg_terminate_backend(" + before + ")");
    EXPECT_TRUE(eventually([&] { return !launcher().empty() && launcher() != before; }));
    EXPECT_EQ(worker_of(conn, "launched"), worker);
    // The new one watches over it.
    conn.exec("SELECT pg_terminate_backend(" + std::to_string(worker) + ")");
    EXPECT_TRUE(eventually([&] {
        const pid_t now = worker_of(conn, "launched");
        return now != 0 && now != worker;
    }));
}

TEST_F(Worker, IsSeenByMonitorsOnly) {
    Conn conn = make_database(*cluster, "seen");
    conn.exec("CREATE ROLE plain LOGIN; CREATE ROLE watcher LOGIN IN ROLE pg_monitor");
    EXPECT_TRUE(comes(conn, "seen"));
    Conn watcher = cluster->connect("seen", "watcher");
    EXPECT_TRUE(eventually([&] {
        return watcher.exec("SELECT FROM belay.workers WHERE database = 'seen'").size() > 0;
    }));
    Conn plain = cluster->connect("seen", "plain");
    EXPECT_EQ(plain.error_of("SELECT * FROM belay.workers"), "42501");
    EXPECT_EQ(plain.error_of("SELECT * FROM belay.worker_rows()"), "42501");
    EXPECT_EQ(plain.error_of("SELECT belay.start_worker()"), "42501");
    EXPECT_EQ(plain.error_of("SELECT belay.stop_worker()"), "42501");
    // The launcher does that here.
    EXPECT_EQ(conn.error_of("SELECT belay.start_worker()"), "55000");
    EXPECT_EQ(conn.error_of("SELECT belay.stop_worker()"), "55000");
}

// ---- Crashes, standbys, small servers ----

TEST(WorkerLife, GoesOnAfterItWasKilled) {
    Cluster cluster(preloaded({"belay.reconcile_interval = 50"}));
    pid_t before = 0;
    {
        Conn conn = cluster.connect();
        conn.exec("CREATE EXTENSION belay");
        conn.exec("SELECT belay.create_hub('app')");
        add_old_letters(conn, "app", 10);
        EXPECT_TRUE(comes(conn, "postgres"));
        before = worker_of(conn, "postgres");
        ASSERT_EQ(kill(before, SIGKILL), 0);
        while (conn.error_of("SELECT pg_sleep(0.01)").empty()) {
        }
    }
    cluster.wait_ready();
    Conn conn = cluster.connect();
    EXPECT_TRUE(comes(conn, "postgres"));
    EXPECT_NE(worker_of(conn, "postgres"), before);
    EXPECT_TRUE(eventually([&] { return letters(conn, "app") == "0"; }));
}

TEST(WorkerLife, WaitsForPromotion) {
    Cluster primary(preloaded({"belay.reconcile_interval = 50"}));
    Conn conn = primary.connect();
    conn.exec("CREATE EXTENSION belay");
    conn.exec("SELECT belay.create_hub('app')");
    EXPECT_TRUE(comes(conn, "postgres"));
    const auto standby = primary.make_standby();
    {
        Conn reader = standby->connect();
        EXPECT_EQ(reader.value("SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE "
                               "'belay%'"),
                  "0");
        EXPECT_EQ(reader.exec("SELECT * FROM belay.workers").size(), 0);
    }
    primary.stop("immediate");
    standby->promote();
    Conn heir = standby->connect();
    EXPECT_TRUE(comes(heir, "postgres"));
    // It begins the new incarnation by itself.
    EXPECT_TRUE(
        eventually([&] { return heir.value("SELECT incarnation FROM app.belay_hub") == "2"; }));
}

TEST(WorkerLife, ServesInTurnIfThereAreTooFewProcesses) {
    // One is the server's own, one the launcher: one is left.
    Cluster cluster(preloaded({"max_worker_processes = 3", "belay.reconcile_interval = 50"}));
    for (const auto* name : {"one", "two", "three"}) {
        Conn conn = make_database(cluster, name);
        conn.exec("SELECT belay.create_hub('app')");
        add_old_letters(conn, "app", 10);
    }
    Conn conn = cluster.connect();
    std::set<std::string> left{"one", "two", "three"};
    EXPECT_TRUE(eventually([&] {
        for (const std::string name : {"one", "two", "three"}) {
            Conn there = cluster.connect(name);
            if (letters(there, "app") == "0") {
                left.erase(name);
            }
        }
        return left.empty();
    }));
    EXPECT_EQ(count_in(cluster.log(), "not enough background workers for belay"), 1);
}

TEST(WorkerLife, TakesAQuarterOfTheProcesses) {
    Cluster cluster({.preload = true, .conf = {"max_worker_processes = 8"}});
    Conn conn = cluster.connect();
    EXPECT_EQ(conn.value("SHOW belay.max_workers"), "2");
    cluster.configure("max_worker_processes = 3");
    cluster.restart();
    conn = cluster.connect();
    EXPECT_EQ(conn.value("SHOW belay.max_workers"), "1");
}

// WP-5: however many databases there are, no more workers than allowed run, and each gets its turn.
TEST(WorkerLife, KeepsToItsShare) {
    Cluster cluster(preloaded({"belay.max_workers = 2", "belay.reconcile_interval = 50"}));
    const std::vector<std::string> names{"one", "two", "three", "four", "five"};
    std::vector<Conn> conns;
    for (const auto& name : names) {
        conns.push_back(make_database(cluster, name));
        conns.back().exec("SELECT belay.create_hub('app')");
    }
    Conn conn = std::move(conns.front());
    conns.front() = cluster.connect("one");
    int most = 0;
    for (int round = 0; round < 2; ++round) {
        for (auto& there : conns) {
            add_old_letters(there, "app", 10);
        }
        EXPECT_TRUE(eventually([&] {
            most =
                std::max(most, std::stoi(conn.value("SELECT count(*) FROM pg_stat_activity WHERE "
                                                    "backend_type = 'belay worker'")));
            for (auto& there : conns) {
                if (letters(there, "app") != "0") {
                    return false;
                }
            }
            return true;
        }));
    }
    EXPECT_EQ(most, 2);
    EXPECT_TRUE(eventually([&] {
        return conn.value(
                   "SELECT count(DISTINCT database) FROM belay.workers WHERE state = "
                   "'waiting' AND pid IS NULL") == "3";
    }));
    EXPECT_EQ(count_in(cluster.log(), "WARNING:  there are not enough background workers"), 1);
    // Room for all: no session waits.
    cluster.configure("belay.max_workers = 5");
    conn.exec("SELECT pg_reload_conf()");
    EXPECT_TRUE(eventually([&] {
        return conn.value(
                   "SELECT count(DISTINCT pid) FROM belay.workers WHERE state <> "
                   "'waiting'") == "5";
    }));
    EXPECT_TRUE(eventually([&] {
        return conn.value("SELECT count(*) FROM belay.workers WHERE state = 'waiting'") == "0";
    }));
}

// ---- What it does ----

// A server whose worker is in a hurry.
class Duties : public testing::Test {
 protected:
    static void SetUpTestSuite() {
        cluster = new Cluster(preloaded({"belay.reconcile_interval = 20"}));
    }
    static void TearDownTestSuite() {
        delete cluster;
        cluster = nullptr;
    }
    static Cluster* cluster;
};

Cluster* Duties::cluster = nullptr;

TEST_F(Duties, AreDoneInEveryHub) {
    Conn conn = make_database(*cluster, "every");
    for (const std::string hub : {"a", "b", "c"}) {
        conn.exec("SELECT belay.create_hub('" + hub + "')");
        add_old_letters(conn, hub, 2500);
    }
    for (const std::string hub : {"a", "b", "c"}) {
        EXPECT_TRUE(eventually([&] { return letters(conn, hub) == "0"; }));
    }
    EXPECT_TRUE(eventually([&] { return total(conn, "rows", "dead_letters") == 7500; }));
    EXPECT_EQ(total(conn, "errors", "dead_letters"), 0);
    // A hub that goes takes its duties along.
    conn.exec("SELECT belay.drop_hub('b')");
    conn.exec("DROP SCHEMA c CASCADE");
    const long runs = total(conn, "runs", "session_cleanup");
    EXPECT_TRUE(eventually([&] { return total(conn, "runs", "session_cleanup") > runs + 3; }));
    EXPECT_EQ(total(conn, "errors", "session_cleanup"), 0);
}

// A large backlog in the hub that comes first; each hub gets a portion in turn.
TEST_F(Duties, AreFair) {
    Conn conn = make_database(*cluster, "fair");
    conn.exec("CREATE TABLE public.steps (step bigint GENERATED ALWAYS AS IDENTITY, hub text)");
    conn.exec(
        "CREATE FUNCTION public.note_step() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF EXISTS (SELECT FROM gone) THEN INSERT INTO public.steps (hub) VALUES "
        "(TG_TABLE_SCHEMA); END IF; RETURN NULL; END $$");
    conn.exec("ALTER SYSTEM SET belay.reconcile_interval = 0");
    conn.exec("SELECT pg_reload_conf()");
    EXPECT_TRUE(eventually([&] {
        return conn.exec("SELECT FROM belay.workers WHERE database = 'fair' AND state = 'resting'")
                   .size() > 0;
    }));
    for (const std::string hub : {"a_large", "b_small", "c_small"}) {
        conn.exec("SELECT belay.create_hub('" + hub + "')");
        add_old_letters(conn, hub, hub == "a_large" ? 10000 : 10);
        conn.exec("CREATE TRIGGER note AFTER DELETE ON " + hub +
                  ".dead_letters REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE "
                  "FUNCTION public.note_step()");
    }
    conn.exec("ALTER SYSTEM RESET belay.reconcile_interval");
    conn.exec("SELECT pg_reload_conf()");
    EXPECT_TRUE(eventually([&] { return letters(conn, "a_large") == "0"; }));
    EXPECT_EQ(conn.value("SELECT string_agg(hub, ' ' ORDER BY step) FROM (SELECT * FROM "
                         "public.steps ORDER BY step LIMIT 4) AS first"),
              "a_large b_small c_small a_large");
}

// SC-10: the worker hears of a schedule, and sleeps until it is due, however long its interval.
TEST(Schedules, RunWhenTheyAreDue) {
    Cluster cluster(preloaded({"belay.reconcile_interval = '10min'"}));
    Conn conn = make_database(cluster, "due");
    conn.exec("SELECT belay.create_hub('app')");
    EXPECT_TRUE(comes(conn, "due"));
    // What has fallen due before it is made known runs at once.
    conn.exec("SELECT belay.set_hub_option('app', 'max_clock_skew', '0')");
    conn.exec("SELECT app.create_schedule('s', '* * * * *', '{\"queue\":\"l\"}', p_now_ms => 0)");
    EXPECT_TRUE(eventually([&] { return conn.value("SELECT count(*) FROM app.tasks") == "1"; }));
    // Minutes are too long for a test: one that is to be looked at in three seconds.
    conn.exec(
        "BEGIN; UPDATE app.schedules SET next_run_ms = extract(epoch FROM clock_timestamp() + "
        "'3 s') * 1000; SELECT app.create_schedule('t', '0 0 1 1 *', '{\"queue\":\"l\"}'); COMMIT");
    const std::string looked = conn.value("SELECT next_run_ms FROM app.schedules WHERE name = 's'");
    EXPECT_TRUE(eventually([&] {
        return conn.value("SELECT next_run_ms FROM app.schedules WHERE name = 's'") != looked;
    }));
    EXPECT_LT(std::stol(conn.value(
                  "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint - " + looked)),
              60000);
}

// One hub's duty always fails: the others keep their pace, and the log stays readable.
TEST_F(Duties, FailAlone) {
    Conn conn = make_database(*cluster, "alone");
    conn.exec("SELECT belay.create_hub('bad')");
    conn.exec("SELECT belay.create_hub('good')");
    break_sessions(conn, "bad");
    EXPECT_TRUE(eventually([&] { return total(conn, "errors", "session_cleanup") >= 4; }));
    const long runs = total(conn, "runs", "session_cleanup");
    EXPECT_TRUE(eventually([&] { return total(conn, "runs", "session_cleanup") >= runs + 20; }));
    EXPECT_EQ(conn.value("SELECT last_error_hub FROM belay.workers WHERE duty = "
                         "'session_cleanup' AND database = 'alone'"),
              "bad");
    EXPECT_NE(conn.value("SELECT last_error FROM belay.workers WHERE duty = 'session_cleanup' AND "
                         "database = 'alone'"),
              "");
    EXPECT_EQ(count_in(cluster->log(), "duty session_cleanup of hub \"bad\""), 1);
    // Pushed back further and further: it fails less often than the other is done.
    EXPECT_LT(total(conn, "errors", "session_cleanup"),
              total(conn, "runs", "session_cleanup") / 2 + 5);
    // Other duties of that hub continue.
    add_old_letters(conn, "bad", 10);
    EXPECT_TRUE(eventually([&] { return letters(conn, "bad") == "0"; }));

    conn.exec("ALTER TABLE bad.sessions RENAME COLUMN broken TO locked_until");
    EXPECT_TRUE(eventually([&] {
        return count_in(cluster->log(), "duty session_cleanup of hub \"bad\" succeeded after") == 1;
    }));
}

TEST_F(Duties, SurviveInjectedFaults) {
    Conn conn = make_database(*cluster, "faults");
    conn.exec("SELECT belay.create_hub('app')");
    for (const std::string duty : {"dead_letters", "instance_retention", "lock_cleanup",
                                   "orphan_messages", "session_cleanup", "xmin_watch"}) {
        conn.exec("SELECT belay.inject_fault('duty." + duty + "', 1)");
        EXPECT_EQ(
            conn.value("SELECT count(*) FROM belay.faults() WHERE point = 'duty." + duty + "'"),
            "1");
    }
    // Any worker of the server passes them; what counts is that all continues.
    EXPECT_TRUE(eventually([&] {
        return conn.value("SELECT sum(count) FROM belay.faults() WHERE point LIKE 'duty.%'") == "0";
    }));
    add_old_letters(conn, "app", 10);
    EXPECT_TRUE(eventually([&] { return letters(conn, "app") == "0"; }));
}

// Locks on the tables of one hub do not stop the others.
TEST_F(Duties, DoNotWaitForLocks) {
    Conn conn = make_database(*cluster, "locked");
    conn.exec("SELECT belay.create_hub('held')");
    conn.exec("SELECT belay.create_hub('free')");
    add_old_letters(conn, "held", 1);
    add_old_letters(conn, "free", 1);
    Conn holder = cluster->connect("locked");
    holder.exec(
        "BEGIN; LOCK TABLE held.worker_queue, held.orchestrator_queue, held.sessions, "
        "held.instance_locks, held.dead_letters, held.belay_hub IN ACCESS EXCLUSIVE MODE");
    EXPECT_TRUE(eventually([&] { return letters(conn, "free") == "0"; }));
    add_old_letters(conn, "free", 1);
    EXPECT_TRUE(eventually([&] { return letters(conn, "free") == "0"; }));
    holder.exec("COMMIT");
    EXPECT_TRUE(eventually([&] { return letters(conn, "held") == "0"; }));
}

TEST_F(Duties, RestWhenToldTo) {
    Conn conn = make_database(*cluster, "rest");
    conn.exec("SELECT belay.create_hub('app')");
    conn.exec("ALTER SYSTEM SET belay.reconcile_interval = 0");
    conn.exec("SELECT pg_reload_conf()");
    EXPECT_TRUE(eventually([&] {
        return conn.exec("SELECT FROM belay.workers WHERE database = 'rest' AND state = 'resting'")
                   .size() > 0;
    }));
    add_old_letters(conn, "app", 10);
    // A resting worker, too, makes room and notices that the extension goes.
    { Conn made = make_database(*cluster, "resting"); }
    EXPECT_TRUE(comes(conn, "resting"));
    expect_ok(conn, "DROP DATABASE resting");
    EXPECT_EQ(letters(conn, "app"), "10");
    conn.exec("ALTER SYSTEM RESET belay.reconcile_interval");
    conn.exec("SELECT pg_reload_conf()");
    EXPECT_TRUE(eventually([&] { return letters(conn, "app") == "0"; }));
}

// The resident memory of a process, in kB.
long resident(pid_t pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind("VmRSS:", 0) == 0) {
            return std::stol(line.substr(6));
        }
    }
    return 0;
}

TEST(WorkerMemory, StaysFlat) {
    Cluster cluster(preloaded({"belay.reconcile_interval = 1"}));
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    conn.exec("SELECT belay.create_hub('good')");
    conn.exec("SELECT belay.create_hub('bad')");
    break_sessions(conn, "bad");
    const long rounds = long_form() ? 10000 : 1000;
    const auto after = [&](long runs) {
        return eventually([&] { return total(conn, "runs", "session_cleanup") >= runs; });
    };
    ASSERT_TRUE(after(rounds / 5));
    const pid_t pid = worker_of(conn, "postgres");
    const long before = resident(pid);
    ASSERT_TRUE(after(rounds + rounds / 5));
    EXPECT_EQ(worker_of(conn, "postgres"), pid);
    EXPECT_LT(resident(pid), before + 1024) << "kB before: " << before;
}

// The bytes that the process has from PostgreSQL's allocator, as it writes them into the log
// itself.
long allocated(Cluster& cluster, Conn& conn, pid_t pid) {
    const std::string word = "Grand total: ";
    const long before = count_in(cluster.log(), word);
    conn.exec("SELECT pg_log_backend_memory_contexts(" + std::to_string(pid) + ")");
    EXPECT_TRUE(eventually([&] { return count_in(cluster.log(), word) > before; }));
    const std::string log = cluster.log();
    return std::stol(log.substr(log.rfind(word) + word.size()));
}

// Hubs hub_<first> to hub_<last>, empty or with tasks of which none is due.
void make_hubs(Conn& conn, int first, int last, bool empty) {
    for (int i = first; i <= last; ++i) {
        const std::string hub = "hub_" + std::to_string(i);
        conn.exec("SELECT belay.create_hub('" + hub + "')");
        if (!empty) {
            conn.exec("SELECT FROM " + hub + ".create_task('q')");
            conn.exec("SELECT FROM " + hub + ".create_task('q', p_delay_ms => 3600000)");
            conn.exec("SELECT FROM " + hub + ".claim_tasks('w', 'w-1', p_lease_ms => 3600000)");
        }
    }
}

testing::AssertionResult runs_on(Conn& conn, const char* duty, long portions) {
    const long runs = total(conn, "runs", duty);
    return eventually([&] { return total(conn, "runs", duty) >= runs + portions; });
}

// WP-6: the worker plans nothing for a hub with empty tables, and keeps little of it.
TEST(WorkerMemory, GrowsLittleWithHubs) {
    Cluster cluster(preloaded({"belay.reconcile_interval = '2s'"}));
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    // What the worker has when the duties that are due in every interval have run in each hub.
    const auto with_hubs = [&](int first, int last) {
        make_hubs(conn, first, last, true);
        EXPECT_TRUE(runs_on(conn, "schedules", 2L * last));
        return allocated(cluster, conn, worker_of(conn, "postgres"));
    };
    const long few = with_hubs(1, 10);
    const long many = with_hubs(11, 40);
    EXPECT_LT((many - few) / 30, 1 << 18) << few << " bytes with 10 hubs, " << many << " with 40";
}

// WP-7: what the worker keeps of all hubs is dropped when it is too much, and not again when it is
// little. Each time, it would read the columns of tables again.
TEST(WorkerMemory, KeepsToItsCache) {
    Cluster cluster(preloaded(
        {"belay.reconcile_interval = 20", "belay.worker_cache = '2MB'", "autovacuum = off"}));
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    const auto reads = [&] {
        return std::stol(conn.value(
            "SELECT idx_scan FROM pg_stat_sys_tables WHERE relid = 'pg_attribute'::regclass"));
    };
    make_hubs(conn, 1, 40, false);
    EXPECT_TRUE(runs_on(conn, "lease_expiry", 200));
    EXPECT_LT(allocated(cluster, conn, worker_of(conn, "postgres")), 9L << 20);
    long before = reads();
    EXPECT_TRUE(eventually([&] { return reads() > before + 1000; }));
    for (int i = 2; i <= 40; ++i) {
        conn.exec("SELECT belay.drop_hub('hub_" + std::to_string(i) + "', true)");
    }
    EXPECT_TRUE(runs_on(conn, "lease_expiry", 200));
    before = reads();
    EXPECT_TRUE(runs_on(conn, "lease_expiry", 500));
    EXPECT_LT(reads() - before, 500);
}

// ---- Rights ----

// The owner of a hub plants code in it that the worker runs.
class Malice : public testing::Test {
 protected:
    static void SetUpTestSuite() {
        cluster = new Cluster(preloaded({"belay.reconcile_interval = 20"}));
        Conn super = cluster->connect();
        super.exec("CREATE ROLE mallory LOGIN");
    }
    static void TearDownTestSuite() {
        delete cluster;
        cluster = nullptr;
    }

    // Mallory's hub "app" in a database of its own.
    static Conn make(const std::string& database) {
        Conn super = make_database(*cluster, database);
        super.exec("GRANT USAGE ON LANGUAGE belay TO mallory");
        super.exec("GRANT CREATE ON DATABASE " + database + " TO mallory");
        Conn mallory = cluster->connect(database, "mallory");
        mallory.exec("SELECT belay.create_hub('app')");
        mallory.exec("CREATE TABLE app.evidence (who text, login text, got text)");
        // Each attempt says what came of it.
        mallory.exec(R"sql(
            CREATE FUNCTION app.attempt() RETURNS trigger LANGUAGE plpgsql AS $body$
            DECLARE
                trick text;
            BEGIN
                FOREACH trick IN ARRAY ARRAY[
                    'ALTER ROLE mallory SUPERUSER', 'RESET ROLE', 'SET ROLE postgres',
                    'RESET SESSION AUTHORIZATION', 'SET SESSION AUTHORIZATION postgres',
                    $$SELECT set_config('role', 'postgres', false)$$,
                    $$COPY app.evidence TO PROGRAM 'true'$$,
                    'CREATE TEMP TABLE t ()'] LOOP
                    BEGIN
                        EXECUTE trick;
                        INSERT INTO app.evidence VALUES (current_user, session_user, 'ok: ' || trick);
                    EXCEPTION WHEN OTHERS THEN
                        INSERT INTO app.evidence VALUES (current_user, session_user, SQLSTATE);
                    END;
                END LOOP;
                RETURN OLD;
            END $body$)sql");
        return mallory;
    }

    static void expect_nothing_gained(Conn& mallory) {
        EXPECT_EQ(mallory.value("SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'"), "f");
        EXPECT_EQ(mallory.value("SELECT string_agg(DISTINCT who, ' ') FROM app.evidence"),
                  "mallory");
        EXPECT_EQ(mallory.value("SELECT coalesce(string_agg(DISTINCT got, ' '), '') FROM "
                                "app.evidence WHERE got <> '42501'"),
                  "");
    }

    static Cluster* cluster;
};

Cluster* Malice::cluster = nullptr;

TEST_F(Malice, ATriggerRunsAsTheOwner) {
    Conn mallory = make("by_trigger");
    mallory.exec(
        "CREATE TRIGGER t BEFORE DELETE ON app.dead_letters FOR EACH ROW EXECUTE "
        "FUNCTION app.attempt()");
    add_old_letters(mallory, "app", 2);
    EXPECT_TRUE(eventually([&] { return letters(mallory, "app") == "0"; }));
    EXPECT_EQ(mallory.value("SELECT count(*) FROM app.evidence"), "16");
    expect_nothing_gained(mallory);
}

TEST_F(Malice, ADeferredTriggerRaises) {
    Conn mallory = make("by_deferred");
    mallory.exec(
        "CREATE CONSTRAINT TRIGGER t AFTER DELETE ON app.dead_letters DEFERRABLE "
        "INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.attempt()");
    add_old_letters(mallory, "app", 2);
    Conn super = cluster->connect("by_deferred");
    EXPECT_TRUE(eventually([&] { return total(super, "errors", "dead_letters") > 0; }));
    EXPECT_NE(super
                  .value("SELECT last_error FROM belay.workers WHERE duty = 'dead_letters' AND "
                         "database = 'by_deferred'")
                  .find("security-restricted operation"),
              std::string::npos);
    EXPECT_EQ(letters(mallory, "app"), "2");
    EXPECT_EQ(mallory.value("SELECT count(*) FROM app.evidence"), "0");
    EXPECT_EQ(mallory.value("SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'"), "f");
}

// The worker moves an orphaned message into dead_letters, whose index calls a function.
TEST_F(Malice, AnIndexExpressionRunsAsTheOwner) {
    Conn mallory = make("by_index");
    mallory.exec(R"sql(
        CREATE FUNCTION app.who(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
            RAISE EXCEPTION 'run by % of %', current_user,
                current_setting('application_name');
        END $$)sql");
    mallory.exec("CREATE INDEX ON app.dead_letters (app.who(reason))");
    mallory.exec("SELECT belay.set_hub_option('app', 'orphan_retention', '0')");
    mallory.exec("SELECT app.raise_event('nobody', 'e', '1')");
    mallory.exec("SELECT * FROM app.fetch_orchestration_item(1000)");
    Conn super = cluster->connect("by_index");
    EXPECT_TRUE(eventually([&] { return total(super, "errors", "orphan_messages") > 0; }));
    EXPECT_EQ(super.value("SELECT last_error FROM belay.workers WHERE duty = 'orphan_messages' "
                          "AND database = 'by_index'"),
              "run by mallory of belay worker");
}

// A new incarnation is begun before the duty runs: with the owner's rights, too.
TEST_F(Malice, ATriggerOnTheHubRowRunsAsTheOwner) {
    Conn mallory = make("by_hub_row");
    mallory.exec(
        "CREATE TRIGGER t AFTER UPDATE ON app.belay_hub FOR EACH ROW EXECUTE FUNCTION "
        "app.attempt()");
    // Together: the worker may begin the new incarnation as soon as it sees the mark.
    mallory.exec("BEGIN; UPDATE app.belay_hub SET mark = '1/1/1/1'; TRUNCATE app.evidence; COMMIT");
    EXPECT_TRUE(eventually([&] {
        return mallory.value("SELECT count(*) FROM app.evidence WHERE login = 'postgres'") != "0";
    }));
    expect_nothing_gained(mallory);
}

// Settings of the database and the role must not reach the worker.
TEST_F(Malice, SettingsOfTheDatabaseDoNotReachIt) {
    Conn mallory = make("by_setting");
    Conn super = cluster->connect("by_setting");
    super.exec("ALTER DATABASE by_setting SET search_path = app, pg_catalog");
    super.exec("ALTER DATABASE by_setting SET statement_timeout = 1");
    super.exec("ALTER DATABASE by_setting SET default_transaction_read_only = on");
    super.exec("ALTER DATABASE by_setting SET default_transaction_isolation = 'serializable'");
    mallory.exec(R"sql(
        CREATE FUNCTION app.settings() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO app.evidence VALUES (current_user,
                current_setting('transaction_isolation'), current_setting('search_path'));
            RETURN OLD;
        END $$)sql");
    mallory.exec(
        "CREATE TRIGGER t BEFORE DELETE ON app.dead_letters FOR EACH ROW EXECUTE "
        "FUNCTION app.settings()");
    const pid_t before = worker_of(super, "by_setting");
    super.exec("SELECT pg_terminate_backend(" + std::to_string(before) + ")");
    add_old_letters(mallory, "app", 1);
    EXPECT_TRUE(eventually([&] { return letters(mallory, "app") == "0"; }));
    EXPECT_EQ(mallory.value("SELECT who || ',' || login || ',' || got FROM app.evidence"),
              "mallory,read committed,");
}

// ---- An old snapshot ----

// ---- Portions that take too long ----

// A server that allows half a second for a portion, with a database that two owners share.
class TimeLimit : public testing::Test {
 protected:
    TimeLimit()
        : cluster_(preloaded({"belay.reconcile_interval = 20", "belay.duty_timeout = 500",
                              "belay.intent_age = 0"})),
          super_(make_database(cluster_, "shared")),
          mallory_(login(cluster_, super_)) {
        super_.exec("SELECT belay.create_hub('good')");
        mallory_.exec("SELECT belay.create_hub('bad')");
        mallory_.exec(R"sql(
            CREATE FUNCTION bad.hang() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                LOOP
                    BEGIN
                        PERFORM pg_sleep(3600);
                    EXCEPTION WHEN query_canceled THEN NULL;
                    END;
                END LOOP;
            END $$)sql");
    }

    static Conn login(Cluster& cluster, Conn& super) {
        super.exec("CREATE ROLE mallory LOGIN");
        super.exec("GRANT CREATE ON DATABASE shared TO mallory");
        super.exec("GRANT USAGE ON LANGUAGE belay TO mallory");
        return cluster.connect("shared", "mallory");
    }

    void hang(const std::string& when) {
        mallory_.exec("CREATE TRIGGER t BEFORE " + when +
                      " FOR EACH ROW EXECUTE FUNCTION bad.hang()");
    }

    testing::AssertionResult serves(Conn& conn, const std::string& hub) {
        add_old_letters(conn, hub, 1);
        return eventually([&] { return letters(conn, hub) == "0"; });
    }

    testing::AssertionResult rests(const std::string& hub, int times) {
        return eventually([&] {
            return super_.value(
                       "SELECT count(*) FROM belay.pg_stat_belay_quarantine WHERE hub = '" + hub +
                       "' AND until > now() AND times >= " + std::to_string(times)) == "1";
        });
    }

    Cluster cluster_;
    Conn super_;
    Conn mallory_;
};

// WP-1, WP-2: no exception handler of a hub's owner keeps the worker from the other hubs.
TEST_F(TimeLimit, EndsWhatCatchesCancellations) {
    hang("DELETE ON bad.dead_letters");
    add_old_letters(mallory_, "bad", 1);
    EXPECT_TRUE(rests("bad", 1));
    EXPECT_TRUE(serves(super_, "good"));
    EXPECT_EQ(mallory_.value("SELECT count(*) FROM belay.check_hub('bad') WHERE object = "
                             "'belay_hub' AND problem = 'is left alone by the background worker: "
                             "dead_letters took longer than belay.duty_timeout'"),
              "1");
    // The pause grows, and the totals outlive the process.
    EXPECT_TRUE(rests("bad", 3));
    EXPECT_TRUE(serves(super_, "good"));
    EXPECT_TRUE(eventually([&] {
        return super_.value(
                   "SELECT count(*) FROM belay.pg_stat_belay_duty WHERE duty = "
                   "'dead_letters' AND timeouts >= 3 AND errors >= 3 AND last_error = "
                   "'took longer than belay.duty_timeout' AND last_error_hub = "
                   "'bad'") == "1";
    }));
    EXPECT_NE(cluster_.log().find("WARNING:  dead_letters of hub \"bad\" took longer than "
                                  "belay.duty_timeout"),
              std::string::npos);
    EXPECT_EQ(super_.value("SELECT count(*) FROM belay.check_hub('good')"), "0");

    mallory_.exec("DROP TRIGGER t ON bad.dead_letters");
    EXPECT_TRUE(eventually([&] { return letters(mallory_, "bad") == "0"; }));
    EXPECT_TRUE(eventually([&] {
        return super_.value("SELECT count(*) FROM belay.pg_stat_belay_quarantine") == "0";
    }));
}

// WP-3: a process that does not even end is replaced. Its owner's hubs rest until it is gone.
TEST_F(TimeLimit, ReplacesAProcessThatDoesNotEnd) {
    mallory_.exec("SELECT belay.create_hub('other')");
    hang("DELETE ON bad.dead_letters");
    add_old_letters(mallory_, "bad", 1);
    // Stopped inside of the portion, it hears no signal.
    pid_t stopped = 0;
    EXPECT_TRUE(eventually([&] {
        const Rows rows = super_.exec(
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'belay worker' AND datname = "
            "'shared' AND query = 'duty dead_letters of hub bad' AND wait_event = 'PgSleep'");
        if (rows.size() == 1) {
            stopped = std::stoi(*rows.at(0, 0));
            kill(stopped, SIGSTOP);
        }
        return stopped != 0 && super_.value("SELECT count(*) FROM pg_stat_activity WHERE pid = " +
                                            std::to_string(stopped)) == "1";
    }));
    EXPECT_TRUE(eventually([&] {
        return super_.value("SELECT count(*) FROM belay.workers WHERE state = 'stuck' AND pid = " +
                            std::to_string(stopped)) == "1";
    }));
    EXPECT_EQ(
        super_.value("SELECT stuck_pid FROM belay.pg_stat_belay_quarantine WHERE hub = 'bad'"),
        std::to_string(stopped));
    add_old_letters(mallory_, "other", 1);
    EXPECT_TRUE(serves(super_, "good"));
    EXPECT_TRUE(serves(super_, "good"));
    EXPECT_EQ(letters(mallory_, "other"), "1");
    EXPECT_EQ(count_in(cluster_.log(), "does not end"), 1);
    kill(stopped, SIGCONT);
    mallory_.exec("DROP TRIGGER t ON bad.dead_letters");
    EXPECT_TRUE(eventually([&] { return letters(mallory_, "other") == "0"; }));
    EXPECT_TRUE(eventually([&] { return letters(mallory_, "bad") == "0"; }));
    EXPECT_EQ(super_.value("SELECT count(*) FROM belay.workers WHERE state = 'stuck'"), "0");
}

// WP-4: the owner of the target answers for the code that runs there, not the owner of the source.
TEST_F(TimeLimit, BlamesTheHubWhoseCodeRuns) {
    mallory_.exec("SELECT belay.grant_hub('bad', 'postgres', 'client')");
    super_.exec("SELECT belay.create_hub('best')");
    hang("INSERT ON bad.intents_received");
    const std::string item =
        R"('{"ActivityExecute":{"instance":"i","execution_id":1,"id":1,"name":"n","input":""}}')";
    super_.exec("SELECT good.send_to_hub('bad', 'worker', " + item + ")");
    EXPECT_TRUE(rests("bad", 1));
    super_.exec("SELECT good.send_to_hub('best', 'worker', " + item + ")");
    EXPECT_TRUE(
        eventually([&] { return super_.value("SELECT count(*) FROM best.worker_queue") == "1"; }));
    EXPECT_EQ(super_.value("SELECT count(*) FROM belay.pg_stat_belay_quarantine WHERE hub = "
                           "'good'"),
              "0");
    mallory_.exec("DROP TRIGGER t ON bad.intents_received");
    EXPECT_TRUE(
        eventually([&] { return mallory_.value("SELECT count(*) FROM bad.worker_queue") == "1"; }));
}

TEST(XminWatch, NamesTheProcessOnce) {
    Cluster cluster(preloaded({"belay.reconcile_interval = 0", "autovacuum = off"}));
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    conn.exec("SELECT belay.create_hub('app')");
    conn.exec("SELECT belay.set_hub_option('app', 'max_clock_skew', '0')");
    Conn old = cluster.connect();
    old.exec("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    conn.exec(
        "SELECT app.enqueue_worker_work('{\"ActivityExecute\":{\"instance\":\"i\",\"execution_id\":"
        "1,\"id\":' || i || ',\"name\":\"n\",\"input\":\"\"}}') FROM generate_series(1, 1500) AS "
        "i");
    conn.exec("DELETE FROM app.worker_queue");
    const std::string watch =
        "SELECT rows FROM app.reconcile('{xmin_watch}', p_now_ms => " +
        std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count()) +
        " + $age$)";
    const auto watch_at = [&](const std::string& age) {
        std::string sql = watch;
        return conn.value(sql.replace(sql.find("$age$"), 5, age));
    };
    EXPECT_TRUE(eventually([&] {
        return conn.value(
                   "SELECT n_dead_tup >= 1000 FROM pg_stat_user_tables WHERE relid = "
                   "'app.worker_queue'::regclass") == "t";
    }));
    EXPECT_EQ(watch_at("0"), "0");
    EXPECT_EQ(watch_at("3600000"), "1");
    EXPECT_EQ(watch_at("3600000"), "0");
    const std::string line =
        "process " + std::to_string(old.backend_pid()) + " holds an old snapshot";
    EXPECT_EQ(count_in(cluster.log(), line), 1);
    old.exec("COMMIT; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    EXPECT_EQ(watch_at("7200000"), "1");
}

// ---- Not preloaded ----

TEST(WorkerByHand, IsStartedAndStopped) {
    Cluster cluster(Cluster::Options{.conf = {"belay.reconcile_interval = 20"}});
    Conn conn = make_database(cluster, "here");
    conn.exec("SELECT belay.create_hub('app')");
    EXPECT_EQ(worker_of(conn, "here"), 0);
    EXPECT_EQ(conn.value("SELECT belay.start_worker()"), "t");
    EXPECT_NE(worker_of(conn, "here"), 0);
    EXPECT_EQ(conn.value("SELECT belay.start_worker()"), "f");
    add_old_letters(conn, "app", 10);
    EXPECT_TRUE(eventually([&] { return letters(conn, "app") == "0"; }));
    const bool has_memory = PQserverVersion(conn.raw()) >= 170000;
    EXPECT_EQ(conn.exec("SELECT FROM belay.workers WHERE database = 'here' AND pid = " +
                        std::to_string(worker_of(conn, "here")))
                      .size() > 0,
              has_memory);
    EXPECT_EQ(conn.value("SELECT belay.stop_worker()"), "t");
    EXPECT_EQ(worker_of(conn, "here"), 0);
    EXPECT_EQ(conn.value("SELECT belay.stop_worker()"), "f");
    // Started again, it ends with the extension.
    EXPECT_EQ(conn.value("SELECT belay.start_worker()"), "t");
    conn.exec("DROP EXTENSION belay CASCADE");
    EXPECT_TRUE(goes(conn, "here"));
}

// Two sessions at once start one worker.
TEST(WorkerByHand, IsAlone) {
    Cluster cluster(Cluster::Options{.conf = {"belay.reconcile_interval = 20"}});
    Conn conn = make_database(cluster, "here");
    std::vector<std::thread> starters;
    for (int i = 0; i < 4; ++i) {
        starters.emplace_back([&] {
            Conn other = cluster.connect("here");
            (void)other.error_of("SELECT belay.start_worker()");
        });
    }
    for (auto& starter : starters) {
        starter.join();
    }
    EXPECT_TRUE(eventually([&] {
        return conn.value(
                   "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'belay "
                   "worker'") == "1";
    }));
    EXPECT_EQ(conn.value("SELECT belay.stop_worker()"), "t");
}

}  // namespace
}  // namespace belay::test
