// Events across transactions, servers and crashes: readers skip nothing, and are woken.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "cluster.hpp"
#include "waiting.hpp"

namespace belay::test {
namespace {

const std::string kTell = R"sql(
    CREATE FUNCTION app.tell(p_subject text) RETURNS void LANGUAGE sql AS $$
        SELECT app.start_orchestration('Orch', '', p_subject, '1');
        SELECT app.ack_orchestration_item(lock_token, 1, '[]', '[]', '[]',
            '{"orchestration_name": "Orch", "orchestration_version": "1"}')
          FROM app.fetch_orchestration_item(60000)
    $$)sql";

class Outbox : public testing::Test {
 protected:
    static Cluster::Options options(bool preload, const std::vector<std::string>& more = {}) {
        std::vector<std::string> conf = {"max_prepared_transactions = 10", "autovacuum = off",
                                         "belay.reconcile_interval = 0", "wal_level = logical"};
        conf.insert(conf.end(), more.begin(), more.end());
        return {.preload = preload, .conf = conf};
    }

    static void make_hub(Conn* conn) {
        conn->exec("CREATE EXTENSION belay");
        conn->exec("SELECT belay.create_hub('app')");
        conn->exec(kTell);
        conn->exec("SELECT app.create_subscription('sub')");
    }

    static std::string tell(const std::string& subject) {
        return "SELECT app.tell('" + subject + "')";
    }

    // Until a connection from before is dead and new ones are accepted.
    static void until_started_anew(Cluster* cluster, Conn* before) {
        bool dead = false;
        for (int i = 0; i < 6000; ++i) {
            dead = dead || before->error_of("SELECT 1") == "08006";
            try {
                if (dead) {
                    cluster->connect();
                    return;
                }
            } catch (const std::runtime_error&) {
                // Not yet.
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        FAIL() << "the server does not come back";
    }

    // The subjects of the next batch, which is acked.
    static std::string take(Conn* conn) {
        return conn->value(R"sql(
            WITH r AS MATERIALIZED (SELECT * FROM app.read_events('sub')),
                 a AS MATERIALIZED (SELECT app.ack_events('sub', upto)
                                      FROM (SELECT upto FROM r OFFSET (SELECT count(*) - 1 FROM r)) AS l
                                     WHERE EXISTS (SELECT FROM r))
            SELECT coalesce(string_agg(subject, ' '), 'none') FROM r WHERE (SELECT count(*) FROM a) >= 0)sql");
    }
};

// ---- The horizon (EV-3) ----

TEST_F(Outbox, APreparedTransactionHoldsReadersUp) {
    Cluster cluster(options(true));
    Conn conn = cluster.connect();
    make_hub(&conn);
    conn.exec("BEGIN; " + tell("prepared") + "; PREPARE TRANSACTION 'p'");
    conn.exec("BEGIN; " + tell("undone") + "; PREPARE TRANSACTION 'q'");
    conn.exec(tell("later"));
    EXPECT_EQ(take(&conn), "none");
    conn.exec("ROLLBACK PREPARED 'q'");
    EXPECT_EQ(take(&conn), "none");
    conn.exec("COMMIT PREPARED 'p'");
    EXPECT_EQ(take(&conn), "prepared later");
    // Several hubs in one transaction, each with its own horizon.
    conn.exec("SELECT belay.create_hub('other')");
    conn.exec("SELECT other.create_subscription('sub', '{instance}')");
    conn.exec("INSERT INTO other.instances VALUES ('i', 'O', '1', 1, NULL, NULL, 0, now(), now())");
    conn.exec("BEGIN; " + tell("both") +
              "; SELECT other.delete_instance('i', true); PREPARE TRANSACTION 'p'");
    EXPECT_EQ(take(&conn), "none");
    conn.exec("COMMIT PREPARED 'p'");
    EXPECT_EQ(take(&conn), "both");
    EXPECT_EQ(conn.value("SELECT subject FROM other.read_events('sub')"), "i");
}

// A transaction that was prepared before a restart is not registered in shared memory.
TEST_F(Outbox, APreparedTransactionHoldsReadersUpAfterARestart) {
    for (const bool crash : {false, true}) {
        SCOPED_TRACE(crash ? "after a crash of a backend" : "after a restart");
        Cluster cluster(options(true));
        Conn conn = cluster.connect();
        make_hub(&conn);
        conn.exec("BEGIN; " + tell("prepared") + "; PREPARE TRANSACTION 'p'");
        conn.exec("CHECKPOINT");
        if (crash) {
            // The postmaster lives on and starts the rest anew.
            Conn victim = cluster.connect();
            kill(victim.backend_pid(), SIGKILL);
            until_started_anew(&cluster, &conn);
        } else {
            cluster.restart();
        }
        Conn heir = cluster.connect();
        heir.exec(tell("later"));
        EXPECT_EQ(take(&heir), "none");
        heir.exec("COMMIT PREPARED 'p'");
        EXPECT_EQ(take(&heir), "prepared later");
        heir.exec(tell("last"));
        EXPECT_EQ(take(&heir), "last");
    }
}

// EV-8: reading by xids, reading by positions, and the other way round: nothing is skipped.
TEST_F(Outbox, ServersWithAndWithoutSharedMemoryTakeOver) {
    Cluster cluster(options(false));
    {
        Conn conn = cluster.connect();
        make_hub(&conn);
        Conn other = cluster.connect();
        other.exec("BEGIN; " + tell("early"));
        conn.exec(tell("late"));
        EXPECT_EQ(take(&conn), "none");
        other.exec("COMMIT");
        conn.exec(tell("last"));
        EXPECT_EQ(take(&conn), "early late last");
        conn.exec(tell("unread"));
    }
    cluster.connect().exec("ALTER SYSTEM SET shared_preload_libraries = 'belay'");
    cluster.restart();
    {
        Conn conn = cluster.connect();
        EXPECT_EQ(take(&conn), "unread");
        conn.exec(tell("a") + "; " + tell("b"));
        EXPECT_EQ(take(&conn), "a b");
        conn.exec(tell("c"));
    }
    cluster.connect().exec("ALTER SYSTEM RESET shared_preload_libraries");
    cluster.restart();
    Conn conn = cluster.connect();
    EXPECT_EQ(take(&conn), "c");
    EXPECT_EQ(take(&conn), "none");
}

// EV-9.
TEST_F(Outbox, EventsOfALostPrimaryComeFirst) {
    Cluster primary(options(true));
    Conn conn = primary.connect();
    make_hub(&conn);
    conn.exec(tell("old"));
    conn.exec("SELECT * FROM app.read_events('sub')");
    const auto standby = primary.make_standby();
    primary.stop("immediate");
    standby->promote();
    Conn heir = standby->connect();
    heir.exec(tell("new"));
    EXPECT_EQ(heir.value("SELECT string_agg(event_id, ' ') FROM app.read_events('sub')"),
              "1-1 2-" + heir.value("SELECT last_value FROM app.outbox_events_position"));
}

// ---- Waiting (EV-12) ----

TEST_F(Outbox, ReadersAreWoken) {
    Cluster cluster(options(true));
    Conn conn = cluster.connect();
    make_hub(&conn);
    const auto wait = [&cluster, &conn](int count) {
        return sleepers(&cluster, &conn, count, "CALL app.wait_for_work(ARRAY['outbox'], 60000)");
    };
    // All of them: each may be the reader of another subscription.
    auto readers = wait(2);
    conn.exec("BEGIN; " + tell("undone") + "; ROLLBACK");
    conn.exec(tell("one"));
    EXPECT_EQ(readers[0]->answer(), "outbox work");
    EXPECT_EQ(readers[1]->answer(), "outbox work");
    EXPECT_EQ(take(&conn), "one");
    // The transaction that delayed events ends, in each possible way.
    for (const std::string end : {"COMMIT", "ROLLBACK"}) {
        SCOPED_TRACE(end);
        Conn holder = cluster.connect();
        holder.exec("BEGIN; " + tell("held/" + end));
        conn.exec(tell("behind/" + end));
        Waiting reader(cluster.connect());
        EXPECT_EQ(take(&reader.conn), "none");
        reader.send("CALL app.wait_for_work(ARRAY['outbox'], 60000)");
        until_asleep(&conn, 1);
        holder.exec(end);
        EXPECT_EQ(reader.answer(), "outbox work");
        EXPECT_EQ(take(&reader.conn),
                  end == "COMMIT" ? "held/COMMIT behind/COMMIT" : "behind/ROLLBACK");
    }
    // A lease that ends.
    conn.exec(tell("leased"));
    conn.exec("SELECT * FROM app.read_events('sub', 10, 500)");
    auto heirs = wait(1);
    EXPECT_EQ(heirs[0]->answer(), "outbox lease_expired");
    // What is there already is not waited for.
    EXPECT_EQ(conn.value("SELECT count(*) FROM app.subscriptions WHERE lag_rows > 0"), "1");
    Waiting late(cluster.connect());
    late.send("CALL app.wait_for_work(ARRAY['outbox'], 60000)");
    EXPECT_EQ(late.answer(), "outbox work");
    // Reading is a worker's right, and so is waiting for it.
    conn.exec("CREATE ROLE guest LOGIN; SELECT belay.grant_hub('app', 'guest', 'client')");
    EXPECT_EQ(
        cluster.connect("postgres", "guest").error_of("CALL app.wait_for_work(ARRAY['outbox'], 0)"),
        "42501");
}

TEST_F(Outbox, WithoutSharedMemoryReadersPoll) {
    Cluster cluster(options(false));
    Conn conn = cluster.connect();
    make_hub(&conn);
    Waiting reader(cluster.connect());
    reader.send("CALL app.wait_for_work(ARRAY['outbox'], 60000)");
    conn.exec(tell("one"));
    EXPECT_EQ(reader.answer(), "outbox work");
    EXPECT_EQ(take(&reader.conn), "one");
    EXPECT_EQ(reader.conn.exec("CALL app.wait_for_work(ARRAY['outbox'], 50)").at(0, 1), "timeout");
}

// ---- Logical decoding (EV-11) ----

TEST_F(Outbox, EventsAreLogicalMessagesToo) {
    Cluster cluster(options(true));
    Conn conn = cluster.connect();
    make_hub(&conn);
    conn.exec("SELECT pg_create_logical_replication_slot('cdc', 'test_decoding')");
    const std::string changes =
        "SELECT string_agg(data, E'\\n') FROM pg_logical_slot_get_changes('cdc', NULL, NULL, "
        "'skip-empty-xacts', '1') WHERE data LIKE 'message%'";
    conn.exec(tell("quiet"));
    EXPECT_EQ(conn.value(changes), "");
    conn.exec("SET belay.logical_events = on");
    conn.exec("BEGIN; " + tell("undone") + "; ROLLBACK");
    conn.exec(tell("loud \"one\""));
    const std::string found = conn.value(changes);
    EXPECT_EQ(found.find("message: transactional: 1 prefix: belay.app, sz: "), 0U) << found;
    EXPECT_EQ(found.find("undone"), std::string::npos);
    const std::string body = found.substr(found.find("content:") + 8);
    EXPECT_EQ(conn.value("SELECT concat_ws(' ', m ->> 'topic', m ->> 'type', m ->> 'subject', m -> "
                         "'details' ->> 'orchestration_name', (m ->> 'occurred_at_ms')::bigint > "
                         "0, m ->> 'event_id' = (SELECT max(incarnation || '-' || position) FROM "
                         "app.outbox_events WHERE subject LIKE 'loud%')) FROM (SELECT '" +
                         body + "'::jsonb AS m) AS x"),
              "instance started loud \"one\" Orch t t");
    // A superuser's setting: it writes WAL for others.
    conn.exec("CREATE ROLE plain LOGIN");
    EXPECT_EQ(cluster.connect("postgres", "plain").error_of("SET belay.logical_events = on"),
              "42501");
}

}  // namespace
}  // namespace belay::test
