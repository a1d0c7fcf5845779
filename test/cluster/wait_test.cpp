// Waiting sessions: what they hold, who is woken, and what is left of them.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>
#include <utility>

#include "cluster.hpp"
#include "waiting.hpp"

namespace belay::test {
namespace {

const std::string kItem =
    R"({"ActivityExecute":{"instance":"i","execution_id":1,"id":1,"name":"n","input":""}})";

std::string call_wait(const std::string& queues, int timeout_ms = kLong) {
    return "CALL app.wait_for_work(ARRAY[" + queues + "], " + std::to_string(timeout_ms) + ")";
}

std::string enqueue() {
    return "SELECT app.enqueue_worker_work('" + kItem + "')";
}

// Adds an item and deletes its row in the same transaction: it wakes a waiter like any other, but
// is not there for one who looks later.
std::string enqueue_deleted() {
    return enqueue() + "; DELETE FROM app.worker_queue";
}

class Wait : public testing::Test {
 protected:
    explicit Wait(bool mutants = false)
        : cluster({.preload = true,
                   .mutants = mutants,
                   .conf = {"max_connections = 150", "max_prepared_transactions = 5",
                            "autovacuum = off", "belay.reconcile_interval = 0"}}),
          conn(cluster.connect()) {
        conn.exec("CREATE EXTENSION belay");
        conn.exec("SELECT belay.create_hub('app')");
    }

    void until_waiting(int count) { until_asleep(&conn, count); }

    std::vector<std::unique_ptr<Waiting>> waiting(int count, const std::string& sql) {
        return sleepers(&cluster, &conn, count, sql);
    }

    // How many of them have been answered, once those that will be have been.
    static int answered(std::vector<std::unique_ptr<Waiting>>& all, int expected) {
        int count = 0;
        for (int round = 0; round < 6000 && count < expected; ++round) {
            count = 0;
            for (auto& one : all) {
                count += one->answered(0) ? 1 : 0;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        count = 0;
        for (auto& one : all) {
            count += one->answered(0) ? 1 : 0;
        }
        return count;
    }

    Cluster cluster;
    Conn conn;
};

TEST_F(Wait, HoldsNothing) {
    auto all = waiting(100, call_wait("'worker', 'orchestrator'"));
    EXPECT_EQ(conn.value("SELECT waiters FROM belay.shared_memory()"), "200");
    // Once their first looks are over none begins another transaction, for longer than a recheck
    // takes to come.
    const auto transactions = [&] {
        return conn.value(
            "SELECT string_agg(l.virtualtransaction, ' ' ORDER BY a.pid) FROM pg_locks AS l JOIN "
            "pg_stat_activity AS a USING (pid) WHERE a.query LIKE 'CALL app.wait%'");
    };
    bool quiet = false;
    for (int round = 0; round < 24 && !quiet; ++round) {
        const std::string before = transactions();
        std::this_thread::sleep_for(std::chrono::milliseconds(2500));
        quiet = transactions() == before;
    }
    EXPECT_TRUE(quiet) << "sessions that wait run transactions";
    EXPECT_EQ(conn.value("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CALL app.wait%' "
                         "AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)"),
              "0");
    EXPECT_EQ(conn.value("SELECT string_agg(DISTINCT locktype, ' ') FROM pg_locks AS l JOIN "
                         "pg_stat_activity AS a USING (pid) WHERE a.query LIKE 'CALL app.wait%'"),
              "virtualxid");
    for (auto& one : all) {
        one->conn.raw();
    }
}

TEST_F(Wait, OneItemWakesOne) {
    auto all = waiting(10, call_wait("'worker'"));
    conn.exec("BEGIN; " + enqueue_deleted() + "; COMMIT");
    EXPECT_EQ(answered(all, 1), 1);
    conn.exec("BEGIN; " + enqueue_deleted() + "; COMMIT");
    EXPECT_EQ(answered(all, 2), 2);
    for (auto& one : all) {
        if (one->answered(0)) {
            EXPECT_EQ(one->answer(), "worker work");
        }
    }
}

// The session that keeps the time next must not meet what the one that was woken is about to fetch.
// That one has a second for it, which a busy machine may use up before it fetches: then once more.
TEST_F(Wait, OneItemWakesOneAfterALongSleep) {
    using std::chrono::steady_clock;
    bool in_time = false;
    for (int round = 0; round < 20 && !in_time; ++round) {
        auto all = waiting(20, call_wait("'worker'"));
        conn.exec("SELECT pg_sleep(1.2)");  // the last look at the table is older than a recheck
        const auto begin = steady_clock::now();
        conn.exec("BEGIN; " + enqueue() +
                  "; COMMIT; SELECT pg_sleep(0.2); SELECT * FROM app.fetch_work_item(600000)");
        in_time = steady_clock::now() - begin < std::chrono::milliseconds(900);
        conn.exec("SELECT pg_sleep(1.5)");  // the recheck has been
        const int woken = answered(all, 1);
        EXPECT_TRUE(woken == 1 || !in_time) << woken;
        for (auto& one : all) {
            if (one->answered(0)) {
                EXPECT_EQ(one->answer(), "worker work");
            }
        }
    }
    EXPECT_TRUE(in_time) << "the machine is too slow for this test";
}

TEST_F(Wait, ManyItemsWakeAllOnce) {
    auto all = waiting(20, call_wait("'worker'"));
    conn.exec("BEGIN; SELECT count(app.enqueue_worker_work('" + kItem +
              "')) FROM generate_series(1, 1000); COMMIT");
    EXPECT_EQ(answered(all, 20), 20);
    for (auto& one : all) {
        EXPECT_EQ(one->answer(), "worker work");
    }
    EXPECT_EQ(conn.value("SELECT waiters FROM belay.shared_memory()"), "0");
}

// CC-12: one session looks at the items of all tags; those that wait after it do not.
TEST_F(Wait, ManyTagsAreLookedAtOnce) {
    const int tags = 300;
    conn.exec("SELECT app.enqueue_worker_work('" + kItem + "', p_tag => 't' || i) FROM " +
              "generate_series(1, " + std::to_string(tags) + ") AS i");
    conn.exec("SELECT count(*) FROM app.fetch_work_items(600000, 'me', NULL, NULL, 'any', 1000)");
    const auto scans = [this] {
        return std::stol(
            conn.value("SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE "
                       "schemaname = 'app' AND relname = 'worker_queue'"));
    };
    // A session that has not looked at the queue looks before it sleeps.
    const auto wait_in_new_session = [this] {
        Conn other = cluster.connect();
        other.exec(call_wait("'worker'", 1));
        other.exec("SELECT pg_stat_force_next_flush()");
        other.exec("SELECT 1");
    };
    wait_in_new_session();
    const long before = scans();
    for (int i = 0; i < 5; ++i) {
        wait_in_new_session();
    }
    EXPECT_LT(scans() - before, tags);
    // What becomes free is seen by the next one.
    conn.exec(enqueue());
    EXPECT_EQ(cluster.connect().value(call_wait("'worker'")), "worker");
}

TEST_F(Wait, RollbackWakesNobody) {
    auto all = waiting(5, call_wait("'worker'"));
    conn.exec("BEGIN; " + enqueue() + "; ROLLBACK");
    conn.exec("BEGIN; SAVEPOINT s; " + enqueue() + "; ROLLBACK TO s; COMMIT");
    EXPECT_EQ(answered(all, 0), 0);
    // Of a kept and an undone one the kept one counts.
    conn.exec("BEGIN; SAVEPOINT s; " + enqueue_deleted() + "; RELEASE s; SAVEPOINT t; " +
              enqueue() + "; ROLLBACK TO t; COMMIT");
    EXPECT_EQ(answered(all, 1), 1);
}

TEST_F(Wait, NothingBetweenFetchAndWaitIsMissed) {
    Conn consumer = cluster.connect();
    EXPECT_EQ(consumer.exec("SELECT * FROM app.fetch_work_item(30000)").size(), 0);
    conn.exec(enqueue());
    // One connection cannot tell a return at once from a wake-up; the timeout can.
    const Rows rows = consumer.exec(call_wait("'worker'"));
    EXPECT_EQ(rows.at(0, 1), "work");
    EXPECT_EQ(consumer.exec("SELECT * FROM app.fetch_work_item(30000)").size(), 1);
    // Its own fetch took it: nothing is new.
    EXPECT_EQ(consumer.exec("SELECT * FROM app.fetch_work_item(30000)").size(), 0);
    EXPECT_EQ(consumer.exec(call_wait("'worker'", 50)).at(0, 1), "timeout");
}

// The library can lose a wake-up.
class WaitOfMutant : public Wait {
 protected:
    WaitOfMutant() : Wait(true) {}
};

TEST_F(WaitOfMutant, ALostWakeUpCostsTheRecheckOnly) {
    auto all = waiting(1, call_wait("'worker'"));
    conn.exec("SELECT belay.inject_fault('wake.skip', 1)");
    conn.exec(enqueue());
    EXPECT_EQ(all[0]->answer(), "worker timer");
}

TEST_F(Wait, DueTimesAndLeasesWake) {
    auto all = waiting(1, call_wait("'worker'"));
    conn.exec(R"(SELECT app.enqueue_worker_items('[{"work_item":)" + kItem +
              R"(,"delay_ms":200}]'))");
    EXPECT_EQ(all[0]->answer(), "worker timer");
    EXPECT_EQ(conn.exec("SELECT * FROM app.fetch_work_item(700)").size(), 1);
    EXPECT_EQ(conn.exec("SELECT * FROM app.fetch_work_item(30000)").size(), 0);
    EXPECT_EQ(conn.exec(call_wait("'worker'")).at(0, 1), "lease_expired");
    // A renewed lease does not wake at its old deadline.
    const std::string token = conn.value("SELECT lock_token FROM app.fetch_work_item(300)");
    conn.exec("SELECT app.renew_work_item_lock('" + token + "', 30000)");
    EXPECT_EQ(conn.exec("SELECT * FROM app.fetch_work_item(30000)").size(), 0);
    EXPECT_EQ(conn.exec(call_wait("'worker'", 800)).at(0, 1), "timeout");
    conn.exec("SELECT app.abandon_work_item('" + token + "')");
    EXPECT_EQ(conn.exec(call_wait("'worker'")).at(0, 1), "work");
}

TEST_F(Wait, DueTimesAndLeasesAreKnownAfterARestart) {
    conn.exec(R"(SELECT app.enqueue_worker_items('[{"work_item":)" + kItem +
              R"(,"delay_ms":6000}]'))");
    conn.exec("SELECT app.start_orchestration('O', '', 'o')");
    conn.exec("SELECT * FROM app.fetch_orchestration_item(7000)");
    cluster.restart();
    conn = cluster.connect();
    EXPECT_EQ(conn.exec("SELECT * FROM app.fetch_work_item(30000)").size(), 0);
    EXPECT_EQ(conn.exec(call_wait("'worker'")).at(0, 1), "timer");
    EXPECT_EQ(conn.exec("SELECT * FROM app.fetch_orchestration_item(30000)").size(), 0);
    // If the lease ended before the first look, the look finds the message.
    const auto reason = conn.exec(call_wait("'orchestrator'")).at(0, 1);
    EXPECT_TRUE(reason == "lease_expired" || reason == "timer") << *reason;
}

TEST_F(Wait, AnUndoneFetchWakes) {
    conn.exec(call_wait("'worker'", 0));  // from now on no session has to look at the tables
    conn.exec(enqueue());
    Conn fetcher = cluster.connect();
    fetcher.exec("BEGIN; SELECT * FROM app.fetch_work_item(30000)");
    Waiting other(cluster.connect());
    EXPECT_EQ(other.conn.exec("SELECT * FROM app.fetch_work_item(30000)").size(), 0);
    other.send(call_wait("'worker'"));
    until_waiting(1);
    fetcher.exec("ROLLBACK");
    EXPECT_EQ(other.answer(), "worker work");
}

TEST_F(Wait, AWakeUpReachesTheConsumerThatServesTheTag) {
    conn.exec(call_wait("'worker'", 0));
    // Consumers that cannot take the item wait longest; they look, find nothing, and wait again.
    auto others = waiting(4, call_wait("'worker'"));
    Waiting right(cluster.connect());
    right.send(call_wait("'worker'"));
    until_waiting(5);
    conn.exec("SELECT app.enqueue_worker_work('" + kItem + "', p_tag => 'b')");
    int looked = 0;
    for (int round = 0; round < 3000 && !right.answered(10); ++round) {
        for (auto& other : others) {
            if (other->answered(0)) {
                other->answer();
                EXPECT_EQ(other->conn.exec("SELECT * FROM app.fetch_work_item(1000)").size(), 0);
                other->send(call_wait("'worker'"));
                ++looked;
            }
        }
    }
    EXPECT_EQ(right.answer(), "worker work");
    EXPECT_EQ(looked, 4);
    // No session is woken for it any more.
    EXPECT_EQ(answered(others, 0), 0);
}

TEST_F(Wait, AMessageSentDuringATurnIsNotForgotten) {
    conn.exec("SELECT app.start_orchestration('O', '', 'o')");
    const std::string token =
        conn.value("SELECT lock_token FROM app.fetch_orchestration_item(60000)");
    Waiting other(cluster.connect());
    // Sent while the ack is open: it meets the lock, and a session that looks for it finds nothing.
    Conn acker = cluster.connect();
    acker.exec("BEGIN; SELECT app.ack_orchestration_item('" + token +
               "', 1, '[]', '[]', '[]', '{\"orchestration_name\":\"O\","
               "\"orchestration_version\":\"1\"}')");
    conn.exec("SELECT app.raise_event('o', 'e')");
    EXPECT_EQ(other.conn.exec("SELECT * FROM app.fetch_orchestration_item(30000)").size(), 0);
    other.send(call_wait("'orchestrator'"));
    until_waiting(1);
    acker.exec("COMMIT");
    EXPECT_EQ(other.answer(), "orchestrator work");
    EXPECT_EQ(other.conn.exec("SELECT * FROM app.fetch_orchestration_item(30000)").size(), 1);
}

TEST_F(Wait, PreparedTransactions) {
    auto all = waiting(2, call_wait("'worker'"));
    conn.exec("BEGIN; " + enqueue_deleted() + "; PREPARE TRANSACTION 'p'");
    EXPECT_EQ(answered(all, 0), 0);
    conn.exec("COMMIT PREPARED 'p'");
    EXPECT_EQ(answered(all, 1), 1);
}

TEST_F(Wait, InstancesAndOwners) {
    Waiting client(cluster.connect());
    conn.exec("SELECT app.start_orchestration('O', '', 'o')");
    const auto turn = [this](const std::string& items, const std::string& metadata,
                             const std::string& cancelled) {
        const std::string token =
            conn.value("SELECT lock_token FROM app.fetch_orchestration_item(60000)");
        conn.exec("SELECT app.ack_orchestration_item('" + token + "', 1, '[]', '" + items +
                  "', '[]', '{\"orchestration_name\":\"O\",\"orchestration_version\":\"1\"" +
                  metadata + "}', '" + cancelled + "')");
    };
    turn("[" + kItem + "]", "", "[]");
    EXPECT_EQ(conn.exec("SELECT * FROM app.fetch_work_item(60000, 'me')").size(), 1);

    // What changed since the session looked at the instance is told at once.
    client.conn.exec("SELECT * FROM app.get_instance_info('o')");
    client.send(call_wait("'instance:o'"));
    until_waiting(1);
    conn.exec("SELECT app.raise_event('o', 'e')");
    turn("[]", R"(,"custom_status_action":"set","custom_status_value":"half")", "[]");
    EXPECT_EQ(client.answer(), "instance:o changed");
    client.conn.exec("SELECT * FROM app.get_custom_status('o', 0)");
    EXPECT_EQ(client.conn.exec(call_wait("'instance:o'", 50)).at(0, 1), "timeout");

    client.send(call_wait("'worker', 'owner:me'"));
    until_waiting(1);
    conn.exec("SELECT app.raise_event('o', 'e')");
    turn("[]", "", R"([{"instance":"i","execution_id":1,"activity_id":1}])");
    EXPECT_EQ(client.answer(), "owner:me cancelled");

    conn.exec("SELECT app.raise_event('o', 'e')");
    turn("[]", R"(,"status":"Completed")", "[]");
    // No session waited: the session knows what it saw.
    EXPECT_EQ(client.conn.exec(call_wait("'instance:o'")).at(0, 1), "changed");
}

// A cancellation that comes between two waits, or with work that ends the wait, is told by the
// next.
TEST_F(Wait, OwnersAreToldOfWhatCameBetweenWaits) {
    Waiting client(cluster.connect());
    const std::string cancel =
        R"(SELECT app.cancel_activities('[{"instance":"i","execution_id":1,"activity_id":1}]'))";
    const auto lease = [&] {
        conn.exec(enqueue());
        EXPECT_EQ(conn.exec("SELECT * FROM app.fetch_work_item(60000, 'me')").size(), 1);
    };
    const auto wait = [&](int timeout) {
        const auto row = client.conn.exec(call_wait("'owner:me', 'worker'", timeout));
        return row.at(0, 0).value_or("") + " " + row.at(0, 1).value_or("");
    };
    lease();
    client.conn.exec("SELECT * FROM app.fetch_work_item(60000, 'me')");
    EXPECT_EQ(wait(0), " timeout");
    conn.exec(cancel);
    EXPECT_EQ(wait(30000), "owner:me cancelled");
    EXPECT_EQ(wait(50), " timeout");

    lease();
    client.conn.exec("SELECT * FROM app.fetch_work_item(60000, 'me')");
    client.send(call_wait("'worker', 'owner:me'"));
    until_waiting(1);
    conn.exec("BEGIN; SELECT app.enqueue_worker_work('{\"ActivityExecute\":{\"name\":\"n\"}}'); " +
              cancel + "; COMMIT");
    EXPECT_EQ(client.answer(), "worker work");
    client.conn.exec("SELECT * FROM app.fetch_work_item(60000, 'me')");
    EXPECT_EQ(wait(30000), "owner:me cancelled");
}

TEST_F(Wait, PausedQueuesSleepOn) {
    auto all = waiting(2, call_wait("'worker'"));
    conn.exec("SELECT app.pause_hub('worker')");
    conn.exec(enqueue());
    EXPECT_EQ(answered(all, 0), 0);
    conn.exec("SELECT app.resume_hub()");
    EXPECT_EQ(answered(all, 2), 2);
}

TEST_F(Wait, DroppedHubEndsTheWait) {
    auto all = waiting(2, call_wait("'worker'"));
    conn.exec("SELECT belay.drop_hub('app')");
    for (auto& one : all) {
        EXPECT_EQ(one->answer(), "worker shutdown");
    }
}

// DR-1: await is woken by a send, await_result by the end of the task or instance and by nothing
// before. Both hold nothing while they wait.
TEST_F(Wait, FrontDoor) {
    auto worker = waiting(1, "CALL app.await('mail', '10 min')");
    const std::string task = conn.value("SELECT app.send('mail')");
    EXPECT_EQ(worker[0]->answer(), "mail work");

    conn.exec("SELECT app.start('O', id => 'i')");
    Waiting client(cluster.connect());
    Waiting by_text(cluster.connect());
    Waiting of_instance(cluster.connect());
    client.send("CALL app.await_result('" + task + "'::uuid, '10 min')");
    by_text.send("CALL app.await_result('" + task + "', '10 min')");
    of_instance.send("CALL app.await_result('i', '10 min')");
    until_waiting(3);
    EXPECT_EQ(conn.value("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CALL app.await%' "
                         "AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)"),
              "0");
    const std::string lease = conn.value("SELECT lease FROM app.receive('mail')");
    conn.exec("SELECT app.extend('" + lease + "')");
    EXPECT_FALSE(client.answered(300));
    conn.exec("SELECT app.complete('" + lease + "', '42')");
    EXPECT_EQ(client.answer(), "completed 42");
    EXPECT_EQ(by_text.answer(), "completed 42");

    // The instance is born, and ends with the next turn.
    const std::string fetch = "SELECT lock_token FROM app.fetch_orchestration_item(60000)";
    const auto ack = [&](const std::string& status) {
        conn.exec("SELECT app.ack_orchestration_item('" + conn.value(fetch) +
                  "', 1, '[]', '[]', '[]', '{\"orchestration_name\":\"O\","
                  "\"orchestration_version\":\"1\"" +
                  status + "}')");
    };
    ack("");
    EXPECT_FALSE(of_instance.answered(300));
    conn.exec("SELECT app.raise('i', 'e')");
    ack(",\"status\":\"Completed\",\"output\":\"7\"");
    EXPECT_EQ(of_instance.answer(), "completed 7");
    EXPECT_EQ(conn.value("SELECT waiters FROM belay.shared_memory()"), "0");
}

// DR-1: a hub that is dropped while a result is awaited ends the wait with an error.
TEST_F(Wait, DroppedHubEndsTheWaitForAResult) {
    const std::string task = conn.value("SELECT app.send('mail')");
    Waiting client(cluster.connect());
    client.send("CALL app.await_result('" + task + "'::uuid, '10 min')");
    until_waiting(1);
    conn.exec("SELECT belay.drop_hub('app')");
    EXPECT_EQ(client.answer(), "55000");
}

TEST_F(Wait, CancelAndTerminateLeaveNothing) {
    auto all = waiting(4, call_wait("'worker', 'orchestrator', 'instance:x'"));
    conn.exec("SELECT pg_cancel_backend(" + std::to_string(all[0]->conn.backend_pid()) + ")");
    EXPECT_EQ(all[0]->answer(), "57014");
    conn.exec("SELECT pg_terminate_backend(" + std::to_string(all[1]->conn.backend_pid()) + ")");
    EXPECT_EQ(all[1]->answer(), "57P01");
    until_waiting(2);
    EXPECT_EQ(conn.value("SELECT waiters FROM belay.shared_memory()"), "6");
    // The session that was cancelled waits again.
    all[0]->send(call_wait("'worker'", 20));
    EXPECT_EQ(all[0]->answer(), " timeout");
    conn.exec("SET statement_timeout = 100");
    EXPECT_EQ(conn.error_of(call_wait("'worker'")), "57014");
    conn.exec("RESET statement_timeout");
    EXPECT_EQ(conn.value("SELECT waiters FROM belay.shared_memory()"), "6");
    cluster.stop("fast");
    EXPECT_EQ(all[2]->answer(), "57P01");
}

TEST_F(Wait, ShortWaitsLeakNothing) {
    const std::string before =
        conn.value("SELECT waiters || ' ' || channels FROM belay.shared_memory()");
    conn.exec(call_wait("'worker', 'instance:a'", 0));
    const std::string first =
        conn.value("SELECT waiters || ' ' || channels FROM belay.shared_memory()");
    const int cycles = std::getenv("BELAY_LONG") != nullptr ? 10000 : 1000;
    for (int i = 0; i < cycles; ++i) {
        conn.exec(call_wait("'worker', 'instance:a', 'owner:b'", 0));
    }
    EXPECT_EQ(conn.value("SELECT waiters || ' ' || channels FROM belay.shared_memory()"), first);
}

TEST_F(Wait, PostmasterDeathEndsTheWait) {
    auto all = waiting(2, call_wait("'worker'"));
    cluster.kill9();
    for (auto& one : all) {
        EXPECT_EQ(one->answer(), "08006");
    }
    cluster.start();
}

// TV-6: what can be claimed or fetched at once says how many sessions wait for it. It is created by
// a transaction that is not committed, so that no session is woken.
TEST_F(Wait, ExplanationsCountTheSessionsThatWait) {
    const auto all = waiting(3, call_wait("'worker', 'queue:mail', 'queue:*'"));
    conn.exec("BEGIN; " + enqueue());
    EXPECT_EQ(conn.value("SELECT string_agg(e.reason || ' ' || e.detail, '; ') FROM "
                         "app.worker_queue AS w, app.explain_work_item(w.id) AS e"),
              "fetchable waiting sessions: 3");
    conn.exec("SELECT app.create_task('mail')");
    EXPECT_EQ(
        conn.value("SELECT string_agg(e.reason || ' ' || e.detail, '; ') FROM app.tasks AS t, "
                   "app.explain_claim(t.id) AS e"),
        "claimable {\"waiting_sessions\": 3}");
    conn.exec("ROLLBACK");
}

// ER-6
TEST_F(Wait, AQueueThatWasNeverUsedIsToldOnce) {
    std::vector<std::string> notices;
    PQsetNoticeReceiver(
        conn.raw(),
        [](void* to, const PGresult* notice) {
            static_cast<std::vector<std::string>*>(to)->emplace_back(
                PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY));
        },
        &notices);
    conn.exec("SELECT app.create_task('mail')");
    conn.exec("CALL app.wait_for_work('{queue:mial,queue:mail,queue:*}', 0)");
    EXPECT_EQ(notices, std::vector<std::string>{"queue \"mial\" of hub \"app\" never had a task"});
    conn.exec("CALL app.wait_for_work('{queue:mial}', 0)");
    EXPECT_EQ(notices.size(), 1u);
    PQsetNoticeReceiver(
        conn.raw(), [](void*, const PGresult*) {}, nullptr);
}

TEST_F(Wait, LevelsDecide) {
    conn.exec("CREATE ROLE client; SELECT belay.grant_hub('app', 'client', 'client')");
    conn.exec("CREATE ROLE worker; SELECT belay.grant_hub('app', 'worker', 'worker')");
    conn.exec("CREATE ROLE nobody; GRANT USAGE ON SCHEMA app TO nobody");
    conn.exec("SET ROLE client");
    EXPECT_EQ(conn.error_of(call_wait("'worker'", 0)), "42501");
    EXPECT_EQ(conn.error_of(call_wait("'orchestrator'", 0)), "42501");
    EXPECT_EQ(conn.error_of(call_wait("'owner:x'", 0)), "42501");
    EXPECT_EQ(conn.error_of(call_wait("'instance:x'", 0)), "");
    conn.exec("SET ROLE worker");
    EXPECT_EQ(conn.error_of(call_wait("'worker', 'orchestrator', 'owner:x', 'instance:y'", 0)), "");
    EXPECT_EQ(conn.value("SELECT current_user"), "worker");
    conn.exec("SET ROLE nobody");
    EXPECT_EQ(conn.error_of(call_wait("'instance:x'", 0)), "42501");
}

// SO-65: one session waits for queues of several hubs, and is told which one has work.
TEST_F(Wait, ManyHubs) {
    conn.exec("SELECT belay.create_hub('bpp')");
    const std::string both = call_wait("'worker', 'bpp.worker', 'bpp.queue:*'");
    auto all = waiting(1, both);
    conn.exec("SELECT bpp.enqueue_worker_work('" + kItem + "')");
    EXPECT_EQ(all[0]->answer(), "bpp.worker work");
    conn.exec("SELECT * FROM bpp.fetch_work_item(600000)");
    all = waiting(1, both);
    conn.exec(enqueue());
    EXPECT_EQ(all[0]->answer(), "worker work");
    // A hub that leaves, or goes, ends the wait for all, by any of its queues.
    const auto is_of_bpp = [](const std::string& answer, const std::string& reason) {
        return answer == "bpp.worker " + reason || answer == "bpp.queue:* " + reason;
    };
    conn.exec("SELECT * FROM app.fetch_work_item(600000)");
    all = waiting(1, both);
    conn.exec("SELECT belay.set_hub_place('bpp', 'other', 5432)");
    EXPECT_TRUE(is_of_bpp(all[0]->answer(), "moved"));
    conn.exec("SELECT belay.remove_hub_place('bpp')");
    all = waiting(1, both);
    conn.exec("SELECT belay.drop_hub('bpp', true)");
    EXPECT_TRUE(is_of_bpp(all[0]->answer(), "shutdown"));
}

// SO-65: what a session has found empty in the other hubs it does not read again at its next wait,
// but if something has come there it does.
TEST_F(Wait, HubsThatWereFoundEmptyAreNotReadAgain) {
    conn.exec("SELECT belay.create_hub('bpp')");
    conn.exec(enqueue());
    const std::string both = call_wait("'bpp.worker', 'worker'", 0);
    const auto scans = [&] {
        return conn.value(
            "SELECT sum(idx_scan + seq_scan) FROM pg_stat_user_tables WHERE schemaname = 'bpp'");
    };
    Conn other = cluster.connect();
    const auto wait_often = [&] {
        for (int i = 0; i < 5; ++i) {
            EXPECT_EQ(other.value(both), "worker");
        }
        other.exec("SELECT pg_stat_force_next_flush()");
        other.exec("SELECT 1");
    };
    wait_often();
    const std::string before = scans();
    wait_often();
    EXPECT_EQ(scans(), before);
    conn.exec("SELECT bpp.enqueue_worker_work('" + kItem + "')");
    EXPECT_EQ(other.value(both), "bpp.worker");
}

// All leases of a queue lie in one partition, which has room for 64 of them at least. The oldest is
// forgotten; its end is found in the tables.
TEST(WaitWithFewLeases, AForgottenLeaseEndsAsWell) {
    Cluster cluster(
        {.preload = true,
         .conf = {"autovacuum = off", "belay.lease_slots = 1024", "belay.reconcile_interval = 0"}});
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    conn.exec("SELECT belay.create_hub('app')");
    conn.exec(call_wait("'worker'", 0));  // the tables are read before there are leases
    conn.exec("SELECT app.enqueue_worker_work('" + kItem + "') FROM generate_series(1, 100)");
    EXPECT_EQ(conn.exec("SELECT * FROM app.fetch_work_item(5000)").size(), 1);
    EXPECT_EQ(conn.exec("SELECT * FROM app.fetch_work_items(600000, p_max_items => 99)").size(),
              99);
    EXPECT_EQ(conn.value("SELECT leases FROM belay.shared_memory()"), "64");
    EXPECT_NE(conn.exec(call_wait("'worker'")).at(0, 1), "timeout");
    EXPECT_EQ(conn.exec("SELECT * FROM app.fetch_work_item(600000)").size(), 1);
}

TEST(Notify, TheWorkerTellsListeners) {
    Cluster cluster({.preload = true, .conf = {"belay.notify = on"}});
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    Conn listener = cluster.connect();
    listener.exec("LISTEN \"belay.app\"");
    conn.exec("SELECT belay.create_hub('app')");
    // When the worker meets the hub it says everything, this last.
    ASSERT_EQ(notification(listener, "queue:*"), "queue:*");
    conn.exec(enqueue());
    EXPECT_EQ(next_notification(listener), "worker");
    conn.exec("SELECT app.start_orchestration('O')");
    EXPECT_EQ(next_notification(listener), "orchestrator");
    conn.exec(R"(SELECT app.enqueue_worker_items('[{"work_item":)" + kItem +
              R"(,"delay_ms":1500}]'))");
    EXPECT_EQ(next_notification(listener), "worker");
    // A lease that ends: it is counted, though no session waits and no session has taken the item
    // over.
    conn.exec("SELECT * FROM app.fetch_work_item(500)");
    EXPECT_EQ(next_notification(listener), "worker");
    EXPECT_EQ(conn.value("SELECT expired FROM belay.pg_stat_belay_queue "
                         "WHERE hub = 'app' AND queue = 'worker'"),
              "1");
}

TEST(WaitWithoutPreload, Works) {
    Cluster cluster;
    Conn conn = cluster.connect();
    conn.exec("CREATE EXTENSION belay");
    conn.exec("SELECT belay.create_hub('app')");
    EXPECT_EQ(conn.exec(call_wait("'worker'", 100)).at(0, 1), "timeout");
    Waiting consumer(cluster.connect());
    EXPECT_EQ(consumer.conn.exec("SELECT * FROM app.fetch_work_item(1000)").size(), 0);
    consumer.send(call_wait("'worker'"));
    conn.exec(enqueue());
    EXPECT_EQ(consumer.answer(), "worker work");
    EXPECT_EQ(conn.value("SELECT count(*) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND "
                         "pid <> pg_backend_pid()"),
              "0");
}

}  // namespace
}  // namespace belay::test
