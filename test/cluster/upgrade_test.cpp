// belay.upgrade_hub: what it makes of a hub of an older version, at rest and under load.
//
// The tests make an older version: they take something away from a hub, give it version 0, and
// replace the step file of version 1 by synthetic steps that put it back. Hubs of released versions
// are in frozen_test.cpp.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "cluster.hpp"
#include "hub_shape.hpp"

namespace belay::test {
namespace {

using namespace std::string_literals;

// What the synthetic steps bring: an index and a comment, then options of a table.
constexpr const char* kFirstStep = R"sql(
CREATE INDEX groups_flow ON @hub@.groups (flow_id, downstream_id);
COMMENT ON SEQUENCE @hub@.dead_letters_id IS 'Ids of dead letters.';
)sql";
constexpr const char* kSecondStep = R"sql(
ALTER TABLE @hub@.flows RESET (fillfactor, vacuum_truncate);
ALTER TABLE @hub@.flows SET (fillfactor = 70, vacuum_truncate = off);
)sql";

// A release that changes functions or views alone has a step without statements.
constexpr const char* kThirdStep = "-- Functions and views change.\n";

// Makes a hub of the current version one of version 0, which lacks what the steps bring, a function
// and a view.
void make_older(Conn& owner) {
    owner.exec("DROP INDEX old.groups_flow");
    owner.exec("COMMENT ON SEQUENCE old.dead_letters_id IS NULL");
    owner.exec("ALTER TABLE old.flows SET (fillfactor = 90)");
    owner.exec("DROP FUNCTION old.list_expired_leases");
    owner.exec("DROP VIEW old.dead_letter_summary");
    owner.exec("UPDATE old.belay_hub SET version = 0");
}

// From now on the server's hub files are those of a release whose version 1 has the synthetic
// steps.
void install_synthetic_steps(Cluster& cluster) {
    const std::filesystem::path steps = cluster.hub_steps();
    std::filesystem::remove(steps / "001_hub.sql");
    std::ofstream(steps / "001_a.sql") << kFirstStep;
    std::ofstream(steps / "001_b.sql") << kSecondStep;
    std::ofstream(steps / "001_c.sql") << kThirdStep;
}

// Work of all kinds, and leases that are kept in a table of the test.
void fill_hub(Conn& owner) {
    owner.exec("CREATE TABLE kept (what text PRIMARY KEY, value text)");
    owner.exec(R"sql(
        SELECT old.enqueue_worker_work(format('{"ActivityExecute": {"instance": "i-%s", "execution_id": 1, "id": 1, "name": "A"}}', i))
          FROM generate_series(1, 20) AS i;
        INSERT INTO kept SELECT 'work', lock_token FROM old.fetch_work_item(3600000, 'w');
        SELECT old.start_orchestration('Order', '', 'order-1', '1.0');
        SELECT old.start_orchestration('Order', '', 'order-2', '1.0');
        INSERT INTO kept SELECT 'turn', lock_token FROM old.fetch_orchestration_item(3600000);
        SELECT old.create_task('mail'), old.create_task('mail');
        INSERT INTO kept SELECT 'task', task_id FROM old.claim_tasks('w', 'w-1', '{mail}', p_lease_ms => 3600000);
        INSERT INTO kept SELECT 'epoch', lease_epoch FROM old.tasks WHERE state = 'active';
        SELECT old.create_subscription('audit', NULL);
        SELECT old.create_schedule('report', '* * * * *', '{"queue": "reports"}');
    )sql");
}

std::string kept(const std::string& what) {
    return "(SELECT value FROM kept WHERE what = '" + what + "')";
}

// Both have the same lines.
void expect_same(const std::vector<std::string>& wanted, const std::vector<std::string>& found,
                 const std::string& what) {
    EXPECT_GT(wanted.size(), 0U);
    std::vector<std::string> missing;
    std::set_difference(wanted.begin(), wanted.end(), found.begin(), found.end(),
                        std::back_inserter(missing));
    std::vector<std::string> surplus;
    std::set_difference(found.begin(), found.end(), wanted.begin(), wanted.end(),
                        std::back_inserter(surplus));
    for (const auto& line : missing) {
        ADD_FAILURE() << what << " lacks: " << line;
    }
    for (const auto& line : surplus) {
        ADD_FAILURE() << what << " has too much: " << line;
    }
}

// The rows, but for the hub's own, whose version changes.
std::map<std::string, std::vector<std::string>> rows_of(Conn& conn) {
    auto all = contents(conn);
    all.erase("belay_hub");
    return all;
}

void upgrade(Cluster& cluster, const std::string& database) {
    Conn owner = cluster.connect(database, "upgrade_owner");
    owner.exec("SELECT belay.upgrade_hub('old')");
    EXPECT_EQ(owner.value("SELECT is_current FROM belay.hubs WHERE name = 'old'"), "t");
    EXPECT_EQ(owner.exec("SELECT * FROM belay.check_hub('old')").size(), 0);
}

// HB-5: upgraded; restored and upgraded; upgraded and restored: each is what create_hub makes, and
// has the rows that the old hub had. Its leases are live before and after.
TEST(Upgrade, EqualsFreshAndKeepsRowsAndLeases) {
    Cluster cluster(
        {.preload = true, .own_hub_files = true, .conf = {"belay.reconcile_interval = 0"}});
    make_upgrade_roles(cluster);
    make_fresh(cluster, "fresh");
    make_fresh(cluster, "upgraded");
    std::vector<std::string> wanted;
    std::map<std::string, std::vector<std::string>> rows;
    {
        Conn fresh = cluster.connect("fresh");
        wanted = shape(fresh);
        Conn owner = cluster.connect("upgraded");
        owner.exec("GRANT CREATE ON SCHEMA public TO upgrade_owner");
        Conn hub_owner = cluster.connect("upgraded", "upgrade_owner");
        fill_hub(hub_owner);
        make_older(hub_owner);
        rows = rows_of(owner);
        EXPECT_NE(shape(owner), wanted);
        EXPECT_EQ(owner.value("SELECT version FROM belay.hubs WHERE name = 'old'"), "0");
        EXPECT_NE(owner.exec("SELECT * FROM belay.check_hub('old')").size(), 0);
        // The old hub is served as it is.
        EXPECT_EQ(
            hub_owner.error_of("SELECT old.renew_work_item_lock(" + kept("work") + ", 3600000)"),
            "");
        rows = rows_of(owner);
    }
    install_synthetic_steps(cluster);
    dump_and_restore(cluster, "upgraded", "moved");
    upgrade(cluster, "upgraded");
    dump_and_restore(cluster, "upgraded", "restored");
    upgrade(cluster, "moved");
    upgrade(cluster, "restored");  // once more changes nothing
    for (const std::string database : {"upgraded", "moved", "restored"}) {
        Conn conn = cluster.connect(database);
        expect_same(wanted, shape(conn), database);
        const auto now = rows_of(conn);
        for (const auto& [table, before] : rows) {
            EXPECT_EQ(now.at(table), before) << table << " of " << database;
        }
    }
    Conn conn = cluster.connect("upgraded", "upgrade_owner");
    for (const std::string& sql :
         {"SELECT old.renew_work_item_lock(" + kept("work") + ", 3600000)",
          "SELECT old.ack_worker(" + kept("work") + ", NULL, NULL)",
          "SELECT old.renew_orchestration_item_lock(" + kept("turn") + ", 3600000)",
          "SELECT old.complete_task(" + kept("task") + "::uuid, " + kept("epoch") +
              "::bigint, '{}')"}) {
        EXPECT_EQ(conn.error_of(sql), "") << sql;
    }
    // The levels of roles now include what the upgrade brought.
    Conn monitor = cluster.connect("upgraded", "upgrade_monitor");
    EXPECT_EQ(monitor.error_of("SELECT * FROM old.dead_letter_summary"), "");
}

// ---- Upgrade under load ----

// Calls ready until it is true; two minutes on a loaded machine are not too long.
template <typename Ready>
testing::AssertionResult eventually(Ready ready) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!ready()) {
        if (std::chrono::steady_clock::now() > deadline) {
            return testing::AssertionFailure() << "waited in vain";
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return testing::AssertionSuccess();
}

// The message of the error that the statement raises; "" if it succeeds.
std::string message_of(Conn& conn, const std::string& sql) {
    try {
        conn.exec(sql);
        return "";
    } catch (const std::runtime_error& error) {
        return error.what();
    }
}

// Clients that enqueue, fetch, renew and ack without a pause, and remember what they know.
class Load {
 public:
    Load(Cluster* cluster, std::string database, int clients)
        : cluster_(cluster), database_(std::move(database)) {
        for (int i = 0; i < clients; ++i) {
            threads_.emplace_back([this] { run(); });
        }
    }
    ~Load() { stop(); }

    void stop() {
        stopping_ = true;
        for (auto& thread : threads_) {
            thread.join();
        }
        threads_.clear();
    }

    // Until the clients have finished some more items.
    testing::AssertionResult goes_on() {
        const int64_t before = acked_;
        return eventually([this, before] { return acked_ > before + 20; });
    }

    // While it is true, connections may break.
    std::atomic<bool> crashing = false;

    // Items that were enqueued for certain, and those that may have been.
    std::set<int64_t> enqueued;
    std::set<int64_t> unsure;
    std::vector<std::string> complaints;

 private:
    struct Answer {
        std::string state;  // "" if it went well, "lost" if it is unknown
        std::vector<std::string> row;
    };

    Answer ask(const std::string& sql) {
        thread_local std::unique_ptr<Conn> conn;
        thread_local Load* owner = nullptr;
        if (owner != this) {
            conn = nullptr;
            owner = this;
        }
        for (int i = 0; conn == nullptr; ++i) {
            try {
                conn = std::make_unique<Conn>(cluster_->conninfo(database_, "upgrade_operator"));
            } catch (const std::runtime_error& error) {
                if (!crashing && i > 200) {
                    return {error.what(), {}};
                }
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
            }
        }
        PGresult* result = PQexec(conn->raw(), sql.c_str());
        Answer answer;
        const auto status = PQresultStatus(result);
        if (status == PGRES_TUPLES_OK) {
            for (int i = 0; PQntuples(result) > 0 && i < PQnfields(result); ++i) {
                answer.row.push_back(PQgetvalue(result, 0, i));
            }
        } else {
            const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
            // The server ends all sessions after a process was killed.
            const bool lost = PQstatus(conn->raw()) == CONNECTION_BAD || state == nullptr ||
                              std::string(state).substr(0, 3) == "57P";
            answer.state = lost && crashing ? "lost" : PQerrorMessage(conn->raw());
            if (lost) {
                conn = nullptr;
            }
        }
        PQclear(result);
        return answer;
    }

    void complain(const std::string& text) {
        const std::lock_guard lock(mutex_);
        if (complaints.size() < 10) {
            complaints.push_back(text);
        }
    }

    void enqueue() {
        const int64_t number = ++numbers_;
        const Answer answer =
            ask(R"(SELECT old.enqueue_worker_work('{"ActivityExecute": {"instance": "load-)" +
                std::to_string(number) + R"(", "execution_id": 1, "id": 1}}'))");
        const std::lock_guard lock(mutex_);
        if (answer.state.empty()) {
            enqueued.insert(number);
        } else {
            unsure.insert(number);
            if (answer.state != "lost") {
                complaints.push_back("enqueue: " + answer.state);
            }
        }
    }

    void work() {
        const Answer fetched =
            ask("SELECT lock_token, work_item::jsonb #>> '{ActivityExecute,instance}' FROM "
                "old.fetch_work_item(600000, 'load')");
        if (!fetched.state.empty() || fetched.row.empty()) {
            if (!fetched.state.empty() && fetched.state != "lost") {
                complain("fetch: " + fetched.state);
            }
            return;
        }
        const std::string& token = fetched.row[0];
        const std::string& instance = fetched.row[1];
        const Answer renewed = ask("SELECT old.renew_work_item_lock('" + token + "', 600000)");
        if (!renewed.state.empty() && renewed.state != "lost") {
            complain("renew: " + renewed.state);
        }
        const std::string completion = instance.substr(0, 5) == "load-"
                                           ? R"('{"ActivityCompleted": {"instance": ")" + instance +
                                                 R"(", "execution_id": 1, "id": 1, "result": ""}}')"
                                           : "NULL";
        bool lost = false;
        while (true) {
            const Answer acked =
                ask("SELECT old.ack_worker('" + token + "', NULL, " + completion + ")");
            if (acked.state != "lost") {
                // After an ack whose outcome is not known, the lease may be over.
                if (!acked.state.empty() &&
                    !(lost && acked.state.find("\"code_detail\":\"gone\"") != std::string::npos)) {
                    complain("ack: " + acked.state);
                }
                break;
            }
            lost = true;
        }
        ++acked_;
    }

    void run() {
        for (int turn = 0; !stopping_; ++turn) {
            enqueue();
            work();
            if (turn % 8 == 0) {
                const Answer listed = ask("SELECT count(*) FROM old.list_work_items()");
                if (!listed.state.empty() && listed.state != "lost") {
                    complain("list: " + listed.state);
                }
            }
        }
    }

    Cluster* cluster_;
    std::string database_;
    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::atomic<bool> stopping_ = false;
    std::atomic<int64_t> numbers_ = 0;
    std::atomic<int64_t> acked_ = 0;
};

class UpgradeUnderLoad : public testing::Test {
 protected:
    UpgradeUnderLoad() : cluster({.preload = true, .own_hub_files = true}) {
        make_upgrade_roles(cluster);
        make_fresh(cluster, "fresh");
        make_fresh(cluster, "busy");
        Conn super = cluster.connect("busy");
        super.exec("GRANT CREATE ON SCHEMA public TO upgrade_owner");
        Conn owner = cluster.connect("busy", "upgrade_owner");
        owner.exec(R"sql(
            CREATE TABLE kept (what text PRIMARY KEY, value text);
            SELECT old.enqueue_worker_work('{"ActivityExecute": {"instance": "kept", "execution_id": 1, "id": 1, "name": "A"}}');
            INSERT INTO kept SELECT 'work', lock_token FROM old.fetch_work_item(36000000, 'w');
        )sql");
        make_older(owner);
        install_synthetic_steps(cluster);
        // A session that sets upgrade.at stops behind that command of DDL, until lock 42 is free.
        super.exec(R"sql(
            CREATE FUNCTION public.stop_here() RETURNS event_trigger LANGUAGE plpgsql AS $$
            DECLARE
                goal int := nullif(current_setting('upgrade.at', true), '');
                now int := coalesce(nullif(current_setting('upgrade.done', true), '')::int, 0) + 1;
            BEGIN
                IF goal IS NOT NULL THEN
                    PERFORM set_config('upgrade.done', now::text, false);
                    IF now = goal THEN
                        PERFORM pg_advisory_lock(42);
                    END IF;
                END IF;
            END $$;
            CREATE EVENT TRIGGER stop_here ON ddl_command_end EXECUTE FUNCTION public.stop_here())sql");
    }

    void expect_still_old() {
        Conn conn = cluster.connect("busy");
        EXPECT_EQ(conn.value("SELECT version FROM old.belay_hub"), "0");
        EXPECT_EQ(conn.value("SELECT to_regclass('old.groups_flow') IS NULL"), "t");
        EXPECT_EQ(conn.error_of("SELECT old.renew_work_item_lock(" + kept("work") + ", 36000000)"),
                  "");
    }

    // Starts an upgrade that stops in the middle of its work. Waits until it has.
    std::unique_ptr<Conn> stopped_upgrade(Conn& watcher, int at) {
        auto conn = std::make_unique<Conn>(cluster.conninfo("busy", "upgrade_owner"));
        conn->exec("SET upgrade.at = " + std::to_string(at));
        EXPECT_EQ(PQsendQuery(conn->raw(), "SELECT belay.upgrade_hub('old')"), 1);
        EXPECT_TRUE(eventually([&watcher] {
            return watcher.value(
                       "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND "
                       "objid = 42 AND NOT granted") == "1";
        }));
        return conn;
    }

    Cluster cluster;
};

// HB-5: an upgrade that fails at any step, that waits too long for a lock, or whose process is
// killed in the middle, has done nothing; clients continue meanwhile, nothing is lost or done
// twice, and leases stay live.
TEST_F(UpgradeUnderLoad, LosesNothing) {
    Load load(&cluster, "busy", 3);
    EXPECT_TRUE(load.goes_on());
    {
        Conn super = cluster.connect("busy");
        Conn owner = cluster.connect("busy", "upgrade_owner");
        // At each step.
        int failed = 0;
        for (int step = 0;; ++step) {
            super.exec("SELECT belay.inject_fault('upgrade.step', 1, " + std::to_string(step) +
                       ")");
            const std::string result = message_of(owner, "BEGIN; SELECT belay.upgrade_hub('old')");
            owner.exec("ROLLBACK");
            if (result.find("injected fault") == std::string::npos) {
                EXPECT_EQ(result, "") << "after the last step there is none";
                super.exec("SELECT belay.inject_fault('upgrade.step', 0)");
                break;
            }
            ++failed;
            expect_still_old();
        }
        EXPECT_EQ(failed, 3);
        EXPECT_TRUE(load.goes_on());

        // With another transaction in the way.
        Conn other = cluster.connect("busy", "upgrade_operator");
        other.exec("BEGIN; SELECT old.pause_hub('tasks', 'in the way')");
        EXPECT_EQ(owner.error_of("SET lock_timeout = '50ms'; SELECT belay.upgrade_hub('old')"),
                  "55P03");
        owner.exec("RESET lock_timeout");
        other.exec("ROLLBACK");
        expect_still_old();
    }
    // Killed in the middle, at several places. As long as it stands there, the clients continue.
    for (const int at : {1, 40, 110}) {
        {
            Conn watcher = cluster.connect("busy");
            watcher.exec("SELECT pg_advisory_lock(42)");
            const auto upgrade = stopped_upgrade(watcher, at);
            EXPECT_TRUE(load.goes_on()) << "beside an upgrade that stands at command " << at;
            load.crashing = true;
            ASSERT_EQ(kill(upgrade->backend_pid(), SIGKILL), 0);
            while (watcher.error_of("SELECT pg_sleep(0.01)").empty()) {
            }
        }
        cluster.wait_ready();
        expect_still_old();
        EXPECT_TRUE(load.goes_on());
        load.crashing = false;
    }
    // And at last to its end, with the clients at work.
    {
        Conn watcher = cluster.connect("busy");
        watcher.exec("SELECT pg_advisory_lock(42)");
        const auto upgrade = stopped_upgrade(watcher, 90);
        EXPECT_TRUE(load.goes_on());
        watcher.exec("SELECT pg_advisory_unlock(42)");
        PGresult* result = PQgetResult(upgrade->raw());
        EXPECT_EQ(PQresultStatus(result), PGRES_TUPLES_OK) << PQerrorMessage(upgrade->raw());
        PQclear(result);
    }
    EXPECT_TRUE(load.goes_on());
    load.stop();
    for (const auto& complaint : load.complaints) {
        ADD_FAILURE() << complaint;
    }

    Conn conn = cluster.connect("busy");
    conn.exec("DROP EVENT TRIGGER stop_here");
    EXPECT_EQ(conn.value("SELECT is_current FROM belay.hubs WHERE name = 'old'"), "t");
    Conn fresh = cluster.connect("fresh");
    EXPECT_EQ(shape(conn), shape(fresh));
    Conn owner = cluster.connect("busy", "upgrade_owner");
    EXPECT_EQ(owner.exec("SELECT * FROM belay.check_hub('old')").size(), 0);
    // The lease of old is live, and what a lost connection left behind can be fetched: as of an
    // hour later, when its lease has expired.
    EXPECT_EQ(owner.error_of("SELECT old.ack_worker(" + kept("work") + ", NULL, NULL)"), "");
    owner.exec("SELECT belay.new_incarnation('old')");
    for (int i = 0; i < 10000; ++i) {
        const Rows row = owner.exec(
            "SELECT lock_token, work_item::jsonb #>> '{ActivityExecute,instance}' FROM "
            "old.fetch_work_item(600000, 'last')");
        if (row.size() == 0) {
            break;
        }
        const std::string instance = row.at(0, 1).value_or("");
        owner.exec("SELECT old.ack_worker('" + *row.at(0, 0) + "', NULL, " +
                   (instance.substr(0, 5) == "load-"
                        ? R"('{"ActivityCompleted": {"instance": ")" + instance +
                              R"(", "execution_id": 1, "id": 1, "result": ""}}')"
                        : "NULL") +
                   ")");
    }
    EXPECT_EQ(conn.value("SELECT count(*) FROM old.worker_queue WHERE instance_id LIKE 'load-%'"),
              "0");
    // Exactly one completion of each item.
    std::multiset<int64_t> done;
    const Rows messages = conn.exec(
        "SELECT substr(instance_id, 6) FROM old.orchestrator_queue WHERE instance_id LIKE "
        "'load-%'");
    for (int row = 0; row < messages.size(); ++row) {
        done.insert(std::stoll(*messages.at(row, 0)));
    }
    EXPECT_GT(load.enqueued.size(), 50U);
    for (const int64_t number : load.enqueued) {
        EXPECT_EQ(done.count(number), 1U) << number;
    }
    for (const int64_t number : load.unsure) {
        EXPECT_LE(done.count(number), 1U) << number;
    }
    EXPECT_LE(done.size(), load.enqueued.size() + load.unsure.size());
}

// ---- The extension's own update ----

// ALTER EXTENSION … UPDATE never touches hubs; an update script cannot upgrade them either.
TEST(ExtensionUpdate, LeavesHubsAlone) {
    Cluster cluster(
        {.preload = true, .own_hub_files = true, .conf = {"belay.reconcile_interval = 0"}});
    make_upgrade_roles(cluster);
    make_fresh(cluster, "busy");
    Conn super = cluster.connect("busy");
    Conn owner = cluster.connect("busy", "upgrade_owner");
    make_older(owner);
    install_synthetic_steps(cluster);
    const std::string version =
        super.value("SELECT extversion FROM pg_extension WHERE extname = 'belay'");
    const auto before = contents(super);
    const auto parts = shape(super);
    EXPECT_EQ(super.error_of("ALTER EXTENSION belay UPDATE"), "") << "there is nothing newer";
    EXPECT_EQ(super.error_of("ALTER EXTENSION belay UPDATE TO 'test_hubs'"), "0A000");
    EXPECT_EQ(super.value("SELECT extversion FROM pg_extension WHERE extname = 'belay'"), version);
    EXPECT_EQ(super.error_of("ALTER EXTENSION belay UPDATE TO 'test'"), "");
    EXPECT_EQ(super.value("SELECT extversion FROM pg_extension WHERE extname = 'belay'"), "test");
    EXPECT_EQ(super.value("SELECT belay.added_by_update()"), "42");
    EXPECT_EQ(contents(super), before);
    EXPECT_EQ(shape(super), parts);
    EXPECT_EQ(super.value("SELECT version FROM belay.hubs WHERE name = 'old'"), "0");
    EXPECT_EQ(owner.error_of("SELECT belay.upgrade_hub('old')"), "");
    EXPECT_EQ(super.value("SELECT version FROM belay.hubs WHERE name = 'old'"), "1");
}

}  // namespace
}  // namespace belay::test
