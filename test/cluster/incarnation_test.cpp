// Leases in hubs that find themselves elsewhere: promotion, restored dump, template, copied data;
// and in one that only crashed.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "cluster.hpp"

namespace belay::test {
namespace {

// What a worker holds: a work item, a turn, a session and the slots of the worker queue.
struct Held {
    std::string work;
    std::string turn;
};

void make_hub(Conn& conn) {
    conn.exec("CREATE EXTENSION IF NOT EXISTS belay");
    conn.exec("SELECT belay.create_hub('app')");
    conn.exec("CREATE TABLE app.wrote (what text)");
}

void put_work(Conn& conn) {
    conn.exec(
        "SELECT app.enqueue_worker_items('[{\"work_item\":{\"ActivityExecute\":{\"name\":\"a\"}},"
        "\"session_id\":\"s\"}]')");
    conn.exec("SELECT app.start_orchestration('O', '', 'i', '1')");
}

std::string fetch_work(Conn& conn, const std::string& owner) {
    return conn.value("SELECT lock_token FROM app.fetch_work_item(3600000, '" + owner +
                      "', 3600000)");
}

Held take_all(Conn& conn, const std::string& owner) {
    Held held;
    held.work = fetch_work(conn, owner);
    held.turn = conn.value("SELECT lock_token FROM app.fetch_orchestration_item(3600000)");
    EXPECT_EQ(conn.value("SELECT app.acquire_slots('" + owner + "', 'worker', 1, 3600000)"), "{0}");
    return held;
}

std::string guarded(const std::string& token) {
    return "BEGIN; SELECT app.guard('" + token +
           "'); INSERT INTO app.wrote VALUES ('late'); COMMIT";
}

// IC-3: nothing that was granted before counts, and everything can be had at once by another owner,
// with its attempts counted.
void expect_lost(Conn& conn, const Held& old, const std::string& attempts) {
    EXPECT_EQ(conn.error_of("SELECT app.guard('" + old.work + "')"), "QB001");
    EXPECT_EQ(conn.error_of("SELECT app.renew_work_item_lock('" + old.work + "', 1000)"), "QB001");
    EXPECT_EQ(conn.error_of("SELECT app.ack_worker('" + old.work + "')"), "QB001");
    EXPECT_EQ(conn.error_of("SELECT app.abandon_work_item('" + old.work + "')"), "QB001");
    EXPECT_EQ(conn.error_of("SELECT app.ack_orchestration_item('" + old.turn +
                            "', 1, '[]', '[]', '[]', '{}')"),
              "QB001");
    EXPECT_EQ(conn.error_of(guarded(old.turn)), "QB001");
    conn.exec("ROLLBACK");
    const Held fresh = take_all(conn, "heir");
    EXPECT_NE(fresh.work, "");
    EXPECT_NE(fresh.work, old.work);
    EXPECT_EQ(conn.value("SELECT attempt_count FROM app.work_items"), attempts);
    EXPECT_EQ(conn.value("SELECT attempt_count FROM app.messages"), attempts);
    // The old tokens still open nothing, also under the new leases.
    EXPECT_EQ(conn.error_of("SELECT app.ack_worker('" + old.work + "')"), "QB001");
    EXPECT_EQ(conn.error_of(guarded(old.work)), "QB001");
    conn.exec("ROLLBACK");
    EXPECT_EQ(conn.value("SELECT count(*) FROM app.wrote"), "0");
    EXPECT_EQ(conn.error_of(guarded(fresh.work)), "");
    EXPECT_EQ(conn.error_of("SELECT app.ack_worker('" + fresh.work + "')"), "");
    EXPECT_EQ(conn.error_of("SELECT app.ack_orchestration_item('" + fresh.turn +
                            "', 1, '[]', '[]', '[]', '{\"orchestration_name\":\"O\","
                            "\"orchestration_version\":\"1\",\"status\":\"Completed\"}')"),
              "");
}

// IC-1: the number, the uuid, the floor of epochs.
struct Life {
    std::string incarnation;
    std::string uuid;
    std::string epoch_floor;
};

Life life(Conn& conn) {
    const Rows row = conn.exec("SELECT incarnation, uuid, epoch_floor FROM app.belay_hub");
    return {row.at(0, 0).value_or(""), row.at(0, 1).value_or(""), row.at(0, 2).value_or("")};
}

void expect_new_life(Conn& conn, const Life& before) {
    const Life after = life(conn);
    EXPECT_EQ(after.incarnation, "2");
    EXPECT_NE(after.uuid, before.uuid);
    EXPECT_EQ(before.epoch_floor, "0");
    EXPECT_EQ(after.epoch_floor, "70368744177664");
}

void wait_for_replay(Cluster& primary, Cluster& standby) {
    const std::string end = primary.connect().value("SELECT pg_current_wal_lsn()");
    Conn conn = standby.connect();
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (conn.value("SELECT pg_last_wal_replay_lsn() >= '" + end + "'") != "t") {
        ASSERT_LT(std::chrono::steady_clock::now(), limit) << "the standby does not follow";
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

class Promotion : public testing::TestWithParam<bool> {};

// IC-2: leases that the standby knows are over when it becomes the primary.
TEST_P(Promotion, EndsReplicatedLeases) {
    Cluster primary({.preload = GetParam(), .conf = {"belay.reconcile_interval = 0"}});
    Conn conn = primary.connect();
    make_hub(conn);
    put_work(conn);
    const auto standby = primary.make_standby();
    const Held held = take_all(conn, "old");
    const Life before = life(conn);
    wait_for_replay(primary, *standby);
    {
        // On the standby the leases still stand: nothing has happened to the primary yet.
        Conn reader = standby->connect();
        EXPECT_EQ(reader.error_of("SELECT app.guard('" + held.work + "')"), "");
        EXPECT_EQ(reader.error_of("SELECT app.ack_worker('" + held.work + "')"), "25006");
        EXPECT_EQ(reader.error_of("SELECT app.acquire_slots('old', 'worker')"), "25006");
    }
    primary.stop("immediate");
    standby->promote();
    Conn heir = standby->connect();
    expect_lost(heir, held, "2");
    expect_new_life(heir, before);
}

// IC-2: leases that the primary granted and the standby never heard of are refused by the new
// primary, though it hands out the same items, for the first time as far as it knows.
TEST_P(Promotion, RefusesLeasesThatWereLost) {
    Cluster primary({.preload = GetParam(), .conf = {"belay.reconcile_interval = 0"}});
    Conn conn = primary.connect();
    make_hub(conn);
    put_work(conn);
    const Life before = life(conn);
    const auto standby = primary.make_standby();
    wait_for_replay(primary, *standby);
    standby->stop();
    const Held held = take_all(conn, "old");
    primary.stop("immediate");
    standby->start();
    standby->promote();
    Conn heir = standby->connect();
    expect_lost(heir, held, "1");
    expect_new_life(heir, before);
}

INSTANTIATE_TEST_SUITE_P(, Promotion, testing::Bool(), [](const auto& info) {
    return info.param ? "Preloaded" : "NotPreloaded";
});

// One server with a hub whose leases are held, in a database that is then copied.
class Copy : public testing::Test {
 protected:
    void SetUp() override {
        Conn super = cluster.connect();
        super.exec("CREATE DATABASE original");
        Conn conn = cluster.connect("original");
        make_hub(conn);
        put_work(conn);
        held = take_all(conn, "old");
        before = life(conn);
    }

    // Where the hub was made, the leases continue.
    void expect_original_works() {
        Conn conn = cluster.connect("original");
        EXPECT_EQ(life(conn).incarnation, "1");
        EXPECT_EQ(conn.error_of(guarded(held.work)), "");
        EXPECT_EQ(conn.error_of("SELECT app.ack_worker('" + held.work + "')"), "");
        EXPECT_EQ(conn.value("SELECT app.acquire_slots('other', 'worker')"), "{}");
    }

    Cluster cluster;
    Held held;
    Life before;
};

// IC-2.
TEST_F(Copy, ByDumpAndRestore) {
    const std::string dump = cluster.file("app.dump");
    cluster.run({"pg_dump", "-Fc", "-f", dump, "original"});
    cluster.connect().exec("CREATE DATABASE restored");
    cluster.run({"pg_restore", "--exit-on-error", "-d", "restored", dump});
    Conn conn = cluster.connect("restored");
    expect_lost(conn, held, "2");
    expect_new_life(conn, before);
    expect_original_works();
}

// IC-2.
TEST_F(Copy, ByTemplate) {
    cluster.connect().exec("CREATE DATABASE copied TEMPLATE original");
    Conn conn = cluster.connect("copied");
    expect_lost(conn, held, "2");
    expect_new_life(conn, before);
    expect_original_works();
}

// IC-2.
TEST_F(Copy, ByPgUpgrade) {
    Cluster heir({.own_identity = true});
    cluster.stop();
    heir.stop();
    // It leaves a script behind, where it is called; and its servers need a short path.
    const auto here = std::filesystem::current_path();
    std::filesystem::current_path(heir.file(""));
    std::string sockets = "/tmp/belay-XXXXXX";
    ASSERT_NE(mkdtemp(sockets.data()), nullptr);
    const std::string programs = std::getenv("BELAY_BINDIR");
    const Output output =
        run_program({"pg_upgrade", "-b", programs, "-B", programs, "-d", cluster.data(), "-D",
                     heir.data(), "-s", sockets, "-U", "postgres", "--no-sync"});
    std::filesystem::current_path(here);
    std::filesystem::remove_all(sockets);
    ASSERT_EQ(output.code, 0) << output.text;
    heir.start();
    Conn conn = heir.connect("original");
    expect_lost(conn, held, "2");
    expect_new_life(conn, before);
    cluster.start();
    expect_original_works();
}

// IC-4: a copy of the files of a server that was stopped cannot be told from the original that was
// started again: the leases continue until new_incarnation is called.
TEST_F(Copy, OfTheFilesNeedsAWord) {
    cluster.stop();
    cluster.start();
    Conn conn = cluster.connect("original");
    EXPECT_EQ(conn.error_of(guarded(held.work)), "");
    conn.exec("TRUNCATE app.wrote");
    EXPECT_EQ(conn.value("SELECT belay.new_incarnation()"), "1");
    expect_lost(conn, held, "2");
    expect_new_life(conn, before);
}

// IC-5: after a crash the leases are those that were committed; it is the same life of the hub.
TEST_F(Copy, CrashKeepsLeases) {
    cluster.kill9();
    cluster.start();
    Conn conn = cluster.connect("original");
    EXPECT_EQ(conn.value("SELECT attempt_count FROM app.work_items"), "1");
    EXPECT_EQ(conn.value("SELECT count(*) FROM app.fetch_work_item(1000, 'other', 1000)"), "0");
    expect_original_works();
}

}  // namespace
}  // namespace belay::test
