// Fenced transactions in servers of their own: what is on disk, and what dies.
#include <gtest/gtest.h>

#include "cluster.hpp"

namespace belay::test {
namespace {

// A server whose WAL is written only by sessions that wait for it.
class Guarded : public testing::Test {
 protected:
    Guarded()
        : cluster({.conf = {"autovacuum = off", "wal_writer_delay = 10s",
                            "wal_writer_flush_after = 1GB", "checkpoint_timeout = 1h"}}),
          conn(cluster.connect()) {
        conn.exec("CREATE EXTENSION belay");
        conn.exec("SELECT belay.create_hub('app')");
        conn.exec("SELECT belay.set_hub_option('app', 'max_clock_skew', '0')");
        conn.exec(
            "SELECT app.enqueue_worker_items('[{\"work_item\":{\"ActivityExecute\":{"
            "\"name\":\"a\"}}}]')");
        token = conn.value("SELECT lock_token FROM app.fetch_work_item(3600000)");
        conn.exec("SET belay.async_leases = on");
    }

    // Whether the transaction was on disk when its commit returned.
    bool waits_for_disk(const std::string& statements) {
        conn.exec("BEGIN; " + statements);
        const std::string end = conn.value("SELECT pg_current_wal_insert_lsn()");
        conn.exec("COMMIT");
        return conn.value("SELECT pg_current_wal_flush_lsn() >= '" + end + "'") == "t";
    }

    Cluster cluster;
    Conn conn;
    std::string token;
};

// GD-8: a renewal alone need not wait for the disk; under a guard it does.
TEST_F(Guarded, CommitsWaitForTheDisk) {
    const std::string renew = "SELECT app.renew_work_item_lock('" + token + "', 3600000); ";
    const std::string guard = "SELECT app.guard('" + token + "'); ";
    bool waited = true;
    for (int i = 0; i < 20 && waited; ++i) {
        waited = waits_for_disk(renew);  // something else may have flushed meanwhile, once
    }
    EXPECT_FALSE(waited) << "belay.async_leases has no effect";
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(waits_for_disk(renew + guard));
        EXPECT_TRUE(waits_for_disk(guard + renew));
    }
    // The next transaction is free again.
    waited = true;
    for (int i = 0; i < 20 && waited; ++i) {
        waited = waits_for_disk(renew);
    }
    EXPECT_FALSE(waited);
}

// AL-1: regardless of what else a transaction writes, before or after a lease, with it in one
// statement or through belay itself, waits for the disk as its user asked.
TEST_F(Guarded, OtherWritesAreNotWeakened) {
    conn.exec("CREATE TABLE wrote (what text)");
    conn.exec(
        "CREATE FUNCTION wrapped(t text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM "
        "app.renew_work_item_lock(t, 3600000); INSERT INTO wrote VALUES ('wrapped'); END $$");
    const std::string renew = "app.renew_work_item_lock('" + token + "', 3600000)";
    const std::string write = "INSERT INTO wrote VALUES ('mine'); ";
    const std::string enqueue = "SELECT app.enqueue_worker_work('{\"ActivityExecute\":{}}'); ";
    for (const std::string& statements :
         {write + "SELECT " + renew, "SELECT " + renew + "; " + write,
          "WITH w AS (INSERT INTO wrote VALUES ('cte') RETURNING 1) SELECT " + renew + " FROM w",
          "SELECT wrapped('" + token + "')", "SELECT " + renew + "; " + enqueue,
          enqueue + "SELECT count(*) FROM app.fetch_work_item(1)",
          "SELECT " + renew + "; SAVEPOINT a; " + write + "RELEASE a"}) {
        for (int i = 0; i < 3; ++i) {
            EXPECT_TRUE(waits_for_disk(statements)) << statements;
        }
    }
    bool waited = true;
    for (int i = 0; i < 20 && waited; ++i) {
        waited = waits_for_disk("SELECT " + renew);
    }
    EXPECT_FALSE(waited) << "alone it need not wait";
}

// AL-2: tokens have a random part, epochs and positions of events have none. What gives one away
// waits for the disk: after a crash it would be given to another session.
TEST_F(Guarded, EpochsAndPositionsAreGivenOnce) {
    const auto claim = [this](const std::string& worker) {
        return conn.exec("SELECT task_id, lease_epoch FROM app.claim_tasks('w', '" + worker +
                         "', '{l}', p_lease_ms => 3600000)");
    };
    const auto crash = [this] {
        cluster.kill9();
        cluster.start();
        conn = cluster.connect();
        conn.exec("SET belay.async_leases = on");
    };
    conn.exec("SELECT belay.set_hub_option('app', 'events', 'completion')");
    conn.exec("SELECT app.create_task('l')");
    const Rows first = claim("first");
    ASSERT_EQ(first.size(), 1);
    crash();
    EXPECT_EQ(claim("second").size(), 0) << "the first claim was forgotten";
    const std::string lease =
        "'" + first.at(0, 0).value_or("") + "', " + first.at(0, 1).value_or("");
    EXPECT_EQ(conn.value("SELECT lease_owner FROM app.tasks"), "first");

    // A renewal may be forgotten, unless an event tells of it.
    const std::string renew = "SELECT lease_until_ms FROM app.renew_task(" + lease + ", 3600000)";
    bool waited = true;
    for (int i = 0; i < 20 && waited; ++i) {
        waited = waits_for_disk(renew);
    }
    EXPECT_FALSE(waited) << "alone it need not wait";
    conn.exec("SELECT belay.set_hub_option('app', 'events', 'lease')");
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(waits_for_disk(renew));
    }
    conn.exec(renew);
    const std::string seen = "SELECT max(position) FROM app.outbox_events";
    const std::string before = conn.value(seen);
    crash();
    EXPECT_EQ(conn.value(seen), before) << "an event that could be read is forgotten";
}

// GD-2: a guarded transaction whose session hangs for ever, or dies, holds up no session.
TEST_F(Guarded, HangingSessionHoldsUpNobody) {
    conn.exec("CREATE TABLE wrote (what text)");
    Conn hanging = cluster.connect();
    hanging.exec("BEGIN; SELECT app.guard('" + token + "'); INSERT INTO wrote VALUES ('late')");
    conn.exec("SET lock_timeout = '5s'");
    EXPECT_EQ(conn.error_of("SELECT app.renew_work_item_lock('" + token + "', 3600000)"), "");
    EXPECT_EQ(conn.error_of("SELECT app.ack_worker('" + token + "')"), "");
    EXPECT_EQ(conn.error_of("SELECT belay.drop_hub('app')"), "");
    EXPECT_EQ(hanging.error_of("COMMIT"), "QB001");
    EXPECT_EQ(conn.value("SELECT count(*) FROM wrote"), "0");
}

// GD-1: statements that come in one message share a transaction, and a parallel query in it changes
// nothing.
TEST_F(Guarded, ParallelWorkersDoNotCheck) {
    conn.exec("CREATE TABLE many AS SELECT generate_series(1, 20000) AS n");
    conn.exec(
        "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET "
        "min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2");
    EXPECT_EQ(conn.value("BEGIN; SELECT app.guard('" + token +
                         "'); INSERT INTO many VALUES (1); SELECT count(*) FROM many"),
              "20001");
    EXPECT_EQ(conn.error_of("COMMIT"), "");
    EXPECT_EQ(conn.error_of("SELECT app.guard('" + token +
                            "'); INSERT INTO many VALUES (2); SELECT count(*) FROM many; "
                            "SELECT app.renew_work_item_lock('" +
                            token + "', 1, p_now_ms => 1000)"),
              "QB001");
    EXPECT_EQ(conn.value("SELECT count(*) FROM many"), "20001");
}

}  // namespace
}  // namespace belay::test
