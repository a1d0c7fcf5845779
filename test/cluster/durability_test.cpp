// What is promised beyond a transaction survives a crash, regardless of synchronous_commit; and
// what was never committed is refused.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "cluster.hpp"

namespace belay::test {
namespace {

using std::to_string;

// Asynchronous commits reach the disk only after ten seconds, unless they are made to.
const std::vector<std::string> kLazyDisk = {"synchronous_commit = off", "wal_writer_delay = '10s'",
                                            "belay.reconcile_interval = 0", "autovacuum = off"};

std::vector<std::string> with(std::vector<std::string> lines, const std::string& line) {
    lines.push_back(line);
    return lines;
}

template <typename Ready>
bool wait_until(Ready ready) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!ready()) {
        if (std::chrono::steady_clock::now() > deadline) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
}

struct Claim {
    std::string task;
    std::string epoch;
    std::string lease_id;

    std::string fence() const { return "'" + task + "', " + epoch; }
};

Claim claim(Conn* conn) {
    const Rows rows =
        conn->exec("SELECT task_id, lease_epoch, lease_id FROM app.claim_tasks('w', 'w-1')");
    if (rows.size() != 1) {
        throw std::runtime_error("nothing was claimed");
    }
    return {*rows.at(0, 0), *rows.at(0, 1), *rows.at(0, 2)};
}

class Durability : public testing::Test {
 protected:
    static void make_hub(Conn* conn) {
        conn->exec("CREATE EXTENSION belay");
        conn->exec("SELECT belay.create_hub('app')");
        conn->exec("SELECT FROM app.create_task('queue')");
        conn->exec("CHECKPOINT");
    }
    // Kills the server as a power failure would, and starts it again.
    static Conn after_crash(Cluster* cluster) {
        cluster->kill9();
        cluster->start();
        return cluster->connect();
    }
};

// AL-2: without steps between epochs, only the flush keeps the next claim from getting the epoch.
TEST_F(Durability, AClaimIsOnDiskBeforeItIsAnswered) {
    Cluster cluster({.preload = true, .conf = kLazyDisk});
    Conn conn = cluster.connect();
    make_hub(&conn);
    const Claim first = claim(&conn);
    Conn after = after_crash(&cluster);
    EXPECT_EQ(after.value("SELECT lease_epoch FROM app.tasks WHERE state = 'active'"), first.epoch);
    EXPECT_EQ(after.value("SELECT result FROM app.complete_task(" + first.fence() + ")"),
              "completed");
}

// AL-2: a killed backend takes the server down, too, and with it what was not written.
TEST_F(Durability, AClaimSurvivesItsBackend) {
    Cluster cluster({.preload = true, .conf = kLazyDisk});
    Conn conn = cluster.connect();
    make_hub(&conn);
    const Claim first = claim(&conn);
    kill(conn.backend_pid(), SIGKILL);
    ASSERT_TRUE(wait_until([&] {
        try {
            return cluster.connect().value(
                       "SELECT lease_epoch FROM app.tasks WHERE state = 'active'") == first.epoch;
        } catch (const std::runtime_error&) {
            return false;  // being restarted
        }
    }));
}

// TL-5: a claim that was rolled back, prepared or not, or that a crash forgot, has no successor
// with its epoch; calls with it are refused, and the new holder's are not.
TEST_F(Durability, AClaimThatWasNotCommittedIsRefused) {
    Cluster cluster({.preload = true, .conf = with(kLazyDisk, "belay.dense_epochs = off")});
    Conn setup = cluster.connect();
    make_hub(&setup);
    for (const std::string end : {"ROLLBACK", "ROLLBACK PREPARED", "crash"}) {
        SCOPED_TRACE(end);
        Claim first;
        {
            Conn conn = cluster.connect();
            conn.exec("BEGIN");
            first = claim(&conn);
            if (end == "ROLLBACK PREPARED") {
                conn.exec("PREPARE TRANSACTION 'p'");
                conn.exec("ROLLBACK PREPARED 'p'");
            } else if (end == "ROLLBACK") {
                conn.exec("ROLLBACK");
            } else {
                (void)after_crash(&cluster);
            }
        }
        Conn conn = cluster.connect();
        const Claim second = claim(&conn);
        ASSERT_EQ(second.task, first.task);
        EXPECT_NE(second.epoch, first.epoch);
        EXPECT_NE(second.lease_id, first.lease_id);
        for (const char* verb : {"complete_task", "release_task", "guard_task"}) {
            EXPECT_EQ(conn.error_of(std::string("SELECT app.") + verb + "(" + first.fence() + ")"),
                      "QB001")
                << verb;
        }
        EXPECT_EQ(conn.value("SELECT state FROM app.release_task(" + second.fence() + ")"),
                  "ready");
        conn.exec("CHECKPOINT");  // a release need not be on disk, and the next round may crash
    }
}

// LE-5: a lease that a crash forgot is rejected, also while the next one has the same epoch.
TEST_F(Durability, ALeaseThatACrashForgotIsRejected) {
    Cluster cluster({.preload = true, .conf = kLazyDisk});
    Conn setup = cluster.connect();
    make_hub(&setup);
    std::string lost;
    std::string lost_epoch;
    {
        Conn conn = cluster.connect();
        conn.exec("BEGIN");
        lost = conn.value("SELECT lease FROM app.receive('queue', lease => '1 h')");
        lost_epoch = conn.value("SELECT lease_epoch FROM app.tasks");
        (void)after_crash(&cluster);
    }
    Conn conn = cluster.connect();
    const std::string lease = conn.value("SELECT lease FROM app.receive('queue', lease => '1 h')");
    ASSERT_EQ(conn.value("SELECT lease_epoch FROM app.tasks"), lost_epoch);
    ASSERT_NE(lease, lost);
    for (const char* call :
         {"extend($)", "progress($, 1)", "fail($, 'e')", "release($)", "complete($)"}) {
        std::string sql = std::string("SELECT app.") + call;
        EXPECT_EQ(conn.error_of(sql.replace(sql.find('$'), 1, "'" + lost + "'")), "QB001") << call;
    }
    EXPECT_EQ(conn.error_of("SELECT app.complete('" + lease + "')"), "");
}

// TL-6: the id that a claim returns has random bits that no other call shows.
TEST_F(Durability, ALeaseIdCannotBeGuessed) {
    Cluster cluster({.preload = true, .conf = kLazyDisk});
    Conn conn = cluster.connect();
    make_hub(&conn);
    const Claim first = claim(&conn);
    conn.exec("SELECT app.release_task(" + first.fence() + ")");
    const Claim second = claim(&conn);
    const auto nonce_of = [](const Claim& lease) {
        return lease.lease_id.substr(lease.lease_id.rfind(':') + 1);
    };
    EXPECT_EQ(nonce_of(first).size(), 32u);
    EXPECT_NE(nonce_of(first), nonce_of(second));
    EXPECT_LE(first.lease_id.size(), 120u);
    const std::string shown =
        conn.value("SELECT app.get_task('" + second.task + "') #>> '{lease,lease_id}'");
    EXPECT_EQ(second.lease_id, shown + ":1:" + nonce_of(second));
    EXPECT_EQ(conn.value("SELECT reason FROM app.revoke_lease('" + second.task +
                         "', p_expected_lease_id => '" + first.lease_id + "')"),
              "lease_id_mismatch");
    std::string other = second.lease_id;
    other.back() = other.back() == '0' ? '1' : '0';
    EXPECT_EQ(conn.value("SELECT reason FROM app.revoke_lease('" + second.task +
                         "', p_expected_lease_id => '" + other + "')"),
              "lease_id_mismatch");
    EXPECT_EQ(conn.value("SELECT result FROM app.revoke_lease('" + second.task +
                         "', p_expected_lease_id => '" + second.lease_id + "')"),
              "revoked");
}

// AL-2: an event that was read is there after the crash, and its position is not given again.
TEST_F(Durability, AnEventIsOnDiskBeforeItIsRead) {
    Cluster cluster({.preload = true, .conf = kLazyDisk});
    Conn conn = cluster.connect();
    make_hub(&conn);
    conn.exec("SELECT app.create_subscription('sub')");
    conn.exec("CHECKPOINT");
    const Rows task = conn.exec("SELECT task_id FROM app.create_task('other')");
    conn.exec("SELECT app.cancel_task('" + *task.at(0, 0) + "', 'no', 'operator_override')");
    const std::string position = conn.value("SELECT max(position) FROM app.outbox_events");
    ASSERT_NE(position, "");
    Conn after = after_crash(&cluster);
    EXPECT_EQ(after.value("SELECT max(position) FROM app.outbox_events"), position);
}

// SL-10: a share of slots has no token: it is on disk before its owner knows of it.
TEST_F(Durability, AShareOfSlotsIsOnDiskBeforeItIsAnswered) {
    Cluster cluster({.preload = true, .conf = kLazyDisk});
    Conn conn = cluster.connect();
    make_hub(&conn);
    conn.exec("SELECT belay.set_hub_option('app', 'slot_count', '4')");
    conn.exec("CHECKPOINT");
    EXPECT_EQ(conn.value("SELECT app.acquire_slots('a', 'worker')"), "{0,1,2,3}");
    Conn after = after_crash(&cluster);
    EXPECT_EQ(after.value("SELECT app.acquire_slots('b', 'worker')"), "{}");
}

// SO-36: the server that a hub has left does not serve it again after a crash.
TEST_F(Durability, ThePlaceOfAHubIsOnDiskBeforeItIsStarted) {
    Cluster cluster({.preload = true, .conf = kLazyDisk});
    Conn conn = cluster.connect();
    make_hub(&conn);
    conn.exec("SELECT belay.set_hub_place('app', 'far', 5432)");
    Conn after = after_crash(&cluster);
    EXPECT_EQ(after.error_of("SELECT FROM app.claim_tasks('w', 'w-1')"), "QB017");
}

// IC-4: a lease that belay.new_incarnation has ended does not hold again after a crash.
TEST_F(Durability, ANewIncarnationIsOnDiskBeforeItIsAnswered) {
    Cluster cluster({.preload = true, .conf = kLazyDisk});
    Conn conn = cluster.connect();
    make_hub(&conn);
    conn.exec("SELECT app.enqueue_worker_work('{\"ActivityExecute\":{}}')");
    const std::string token = conn.value("SELECT lock_token FROM app.fetch_work_item(3600000)");
    const Claim task = claim(&conn);
    conn.exec("CHECKPOINT");
    EXPECT_EQ(conn.value("SELECT belay.new_incarnation('app')"), "1");
    Conn after = after_crash(&cluster);
    EXPECT_EQ(after.error_of("SELECT app.renew_work_item_lock('" + token + "', 60000)"), "QB001");
    EXPECT_EQ(after.error_of("SELECT app.complete_task(" + task.fence() + ")"), "QB001");
}

// ---- Intents between two servers ----

struct TwoServers {
    TwoServers(const std::vector<std::string>& source_conf,
               const std::vector<std::string>& target_conf)
        : source({.preload = true, .conf = source_conf}),
          target({.preload = true, .conf = target_conf}),
          here(source.connect()),
          there(target.connect()) {
        there.exec("CREATE EXTENSION belay");
        there.exec("SELECT belay.create_hub('dst')");
        there.exec("CHECKPOINT");
        here.exec("CREATE EXTENSION belay");
        here.exec("SELECT belay.create_hub('src')");
        here.exec("CREATE FOREIGN DATA WRAPPER link");
        here.exec("CREATE SERVER far FOREIGN DATA WRAPPER link OPTIONS (host '" +
                  there.value("SHOW unix_socket_directories") + "', dbname 'postgres')");
        here.exec("CREATE USER MAPPING FOR postgres SERVER far OPTIONS (user 'postgres')");
        here.exec("SELECT belay.create_hub_link('src', 'dst', 'far')");
        here.exec("CHECKPOINT");
    }

    void send(Conn* conn, int first, int last) {
        for (int i = first; i <= last; ++i) {
            conn->exec(
                "SELECT src.send_to_hub('dst', 'orchestrator', "
                "'{\"CancelInstance\":{\"instance\":\"i\",\"reason\":\"" +
                to_string(i) + "\"}}')");
        }
    }
    static std::string count_received(Conn* conn) {
        return conn->value(
            "SELECT count(DISTINCT work_item::json #>> '{CancelInstance,reason}') FROM "
            "dst.messages");
    }

    Cluster source;
    Cluster target;
    Conn here;
    Conn there;
};

const std::vector<std::string> kRelaying = {"belay.reconcile_interval = '100ms'",
                                            "belay.intent_age = '200ms'", "autovacuum = off"};

// IN-13: what has left is on the source's disk, so no later intent gets its key.
TEST(DurableIntents, OfACrashedSourceAreNotSwallowed) {
    auto conf = kRelaying;
    conf.insert(conf.end(), {"synchronous_commit = off", "wal_writer_delay = '10s'"});
    TwoServers two(conf, kRelaying);
    constexpr int kMany = 20;
    two.send(&two.here, 1, kMany);
    ASSERT_TRUE(
        wait_until([&] { return TwoServers::count_received(&two.there) == to_string(kMany); }));
    two.source.kill9();
    two.source.start();
    Conn again = two.source.connect();
    two.send(&again, kMany + 1, 2 * kMany);
    EXPECT_TRUE(wait_until([&] {
        return TwoServers::count_received(&two.there) == to_string(2 * kMany);
    })) << TwoServers::count_received(&two.there);
}

// IN-13: what the source deletes is on the target's disk.
TEST(DurableIntents, OfACrashedTargetAreNotLost) {
    TwoServers two(kRelaying, kLazyDisk);
    constexpr int kMany = 20;
    two.send(&two.here, 1, kMany);
    ASSERT_TRUE(
        wait_until([&] { return two.here.value("SELECT count(*) FROM src.intents") == "0"; }));
    two.target.kill9();
    two.target.start();
    Conn again = two.target.connect();
    EXPECT_EQ(TwoServers::count_received(&again), to_string(kMany));
}

}  // namespace
}  // namespace belay::test
