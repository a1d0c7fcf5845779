// What a node keeps in memory of a hub, and the order of events, when the hub goes and comes back;
// transactions over two nodes, and a node's standby, when a node dies.
#include "nodes.hpp"
#include "waiting.hpp"

namespace belay::test {
namespace {

// Names of the items that fetches return until there is none.
std::string fetch_all(Conn& conn) {
    std::string names;
    for (;;) {
        const Rows rows = conn.exec(
            "SELECT work_item::jsonb -> 'ActivityExecute' ->> 'name' FROM "
            "app.fetch_work_item(3600000)");
        if (rows.size() == 0) {
            return names;
        }
        names += (names.empty() ? "" : " ") + *rows.at(0, 0);
    }
}

std::string numbers(int from, int to) {
    std::string all;
    for (int i = from; i <= to; ++i) {
        all += (all.empty() ? "" : " ") + std::to_string(i);
    }
    return all;
}

// SO-73: claim cursors, gaps and the ends of leases that a node remembers are those of the present
// stay: what was skipped there before, and what has come since, is handed out in its order.
TEST_F(Citus, FormerStaysAreForgotten) {
    nodes.make_app();
    Conn first = nodes.first.connect();
    for (int i = 1; i <= 40; ++i) {
        first.exec(enqueue(std::to_string(i)));
    }
    for (int i = 1; i <= 30; ++i) {  // 1 to 10 stay leased, 11 to 30 are done
        const std::string token =
            first.value("SELECT lock_token FROM app.fetch_work_item(3600000)");
        if (i > 10) {
            first.exec("SELECT app.ack_worker('" + token + "')");
        }
    }
    EXPECT_EQ(first.value("SELECT count(*) > 0 FROM belay.pg_stat_belay_queue WHERE hub = 'app'"),
              "t");
    nodes.move(nodes.second, "block_writes");
    EXPECT_EQ(first.value("SELECT count(*) FROM belay.pg_stat_belay_queue WHERE hub = 'app'"), "0");
    Conn second = nodes.second.connect();
    EXPECT_EQ(
        second.value("SELECT lock_token IS NOT NULL FROM app.fetch_work_item(3600000, 'regress')"),
        "t");
    second.exec(enqueue("41"));
    nodes.move(nodes.first, "block_writes");
    first.exec(enqueue("42"));
    EXPECT_EQ(fetch_all(first), numbers(1, 10) + " " + numbers(31, 42));
    // Once more, with nothing on the other node but the end of the leases.
    nodes.move(nodes.second, "block_writes");
    second.exec("SELECT belay.new_incarnation('app')");
    nodes.move(nodes.first, "block_writes");
    first.exec(enqueue("43"));
    EXPECT_EQ(fetch_all(first), numbers(1, 10) + " " + numbers(31, 43));
    // A waiter of this stay is woken.
    Waiting waiting(nodes.first.connect());
    waiting.send("CALL app.wait_for_work(ARRAY['worker'], 600000)");
    until_asleep(&first, 1);
    first.exec(enqueue("44"));
    EXPECT_EQ(waiting.answer(), "worker work");
}

// Reads up to so many events, and acks them if it is told to; their subjects in order.
std::string read_events(Follower& follower, int most, bool ack) {
    const std::string batch =
        "(SELECT string_agg(subject, ' ') AS subjects, (array_agg(upto))[count(*)::integer] AS "
        "last FROM app.read_events('s', " +
        std::to_string(most) + ")) AS b";
    return follower.run(ack ? "SELECT b.subjects FROM " + batch +
                                  ", LATERAL (SELECT app.ack_events('s', b.last) WHERE b.last IS "
                                  "NOT NULL) AS a"
                            : "SELECT concat(b.last, '|', b.subjects) FROM " + batch);
}

void append(std::string* all, const std::string& more) {
    *all += (all->empty() || more.empty() ? "" : " ") + more;
}

// SO-74: a reader gets each event once it is acked, in the order of their commits, while the hub
// moves between its batches and while it has one in hand.
TEST_F(Citus, EventsKeepTheirOrder) {
    nodes.make_app();
    Follower follower(nodes);
    follower.run("SELECT belay.set_hub_option('app', 'events', 'completion')");
    follower.run("SELECT app.create_subscription('s')");
    Server* at = &nodes.first;
    std::string sent;
    std::string seen;
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 4; ++i) {
            append(&sent, follower.run("SELECT app.send('mail')"));
            EXPECT_EQ(follower.run("SELECT app.complete(lease) FROM app.receive('mail')"), "");
        }
        append(&seen, read_events(follower, 2, true));
        const std::string held = read_events(follower, 1, false);
        at = &nodes.other(*at);
        nodes.move(*at, round % 2 == 0 ? "auto" : "block_writes");
        const std::string stale = held.substr(0, held.find('|'));
        EXPECT_EQ(follower.run("SELECT app.ack_events('s', '" + stale + "')").substr(0, 6),
                  "!QB001");
        // It comes again, with the next.
        const std::string again = read_events(follower, 1, true);
        EXPECT_EQ(held, stale + "|" + again);
        append(&seen, again);
    }
    for (std::string more = "?"; !more.empty();) {
        more = read_events(follower, 3, true);
        ASSERT_NE(more[0], '!') << more;
        append(&seen, more);
    }
    EXPECT_EQ(seen, sent);
    EXPECT_EQ(follower.run("SELECT incarnation >= 5 FROM app.belay_hub"), "t");
}

constexpr const char* kNoStandby = "ALTER SYSTEM RESET synchronous_standby_names";
constexpr const char* kAbsentStandby = "ALTER SYSTEM SET synchronous_standby_names = 'absent'";

void set(Server& server, const std::string& sql) {
    Conn conn = server.connect();
    conn.exec("SET synchronous_commit = local");
    conn.exec(sql);
    conn.exec("SELECT pg_reload_conf()");
}

// The session that has sent the transaction waits for a standby, at this step.
bool waits_for_standby(Server& server, const std::string& query) {
    Conn conn = server.connect();
    return becomes(conn,
                   "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND "
                   "query LIKE '" +
                       query + "'",
                   "t");
}

// A table of the application with one shard, on the second node; and the transaction over both
// nodes that puts a row there, a row beside the hub, and a task into the hub.
void make_far_table(Nodes& nodes) {
    nodes.make_app();
    Conn conn = nodes.coordinator.connect();
    conn.exec("CREATE TABLE app.orders (id integer PRIMARY KEY)");
    conn.exec("CREATE SCHEMA far; CREATE TABLE far.orders (id integer PRIMARY KEY)");
    conn.exec("SELECT citus_schema_distribute('far')");
    if (conn.value("SELECT nodeport || nodename FROM citus_shards WHERE table_name = "
                   "'far.orders'::regclass") != nodes.second.port + nodes.second.host) {
        conn.exec("SELECT citus_schema_move('far', " + nodes.second.place() + ", 'block_writes')");
    }
}

constexpr const char* kOverBoth =
    "BEGIN; INSERT INTO app.orders VALUES (1); INSERT INTO far.orders VALUES (1); "
    "SELECT app.complete(lease) FROM app.receive('mail'); COMMIT";

// What the transaction has done: rows beside the hub, rows far from it, tasks that are completed.
std::string done(Nodes& nodes) {
    Conn here = nodes.first.connect();
    Conn there = nodes.second.connect();
    return here.value("SELECT count(*) FROM app.orders") + " " +
           there.value("SELECT count(*) FROM far.orders") + " " +
           here.value("SELECT count(*) FROM app.tasks WHERE state = 'completed'");
}

void recover(Server& server, Server& prepared_on) {
    Conn conn = prepared_on.connect();
    for (int i = 0; i < 300 && conn.value("SELECT count(*) FROM pg_prepared_xacts") != "0"; ++i) {
        server.connect().exec("SELECT recover_prepared_transactions()");
    }
    EXPECT_EQ(conn.value("SELECT count(*) FROM pg_prepared_xacts"), "0");
}

// SO-44: the other node dies when it has prepared and the hub's node has written its commit: all.
TEST(CitusFailover, CommitsOverTwoNodes) {
    Nodes nodes;
    make_far_table(nodes);
    nodes.first.connect().exec("SELECT app.send('mail')");
    Waiting both(nodes.first.connect());
    set(nodes.first, kAbsentStandby);
    both.conn.exec("SELECT 1");  // has read the setting
    both.send(kOverBoth);
    // The commit is written and waits for a standby; its second part comes after that.
    ASSERT_TRUE(waits_for_standby(nodes.first, "%far.orders%"));
    ASSERT_EQ(nodes.second.connect().value("SELECT count(*) FROM pg_prepared_xacts"), "1");
    nodes.second.cluster.kill9();
    set(nodes.first, kNoStandby);
    ASSERT_TRUE(both.answered(kLong));
    nodes.second.cluster.start();
    recover(nodes.first, nodes.second);
    EXPECT_EQ(done(nodes), "1 1 1");
}

// SO-44: the hub's node dies when the other has prepared, before its own commit: nothing, and the
// task is handed out again.
TEST(CitusFailover, RollsBackOverTwoNodes) {
    Nodes nodes;
    make_far_table(nodes);
    nodes.first.connect().exec("SELECT app.send('mail')");
    Waiting both(nodes.first.connect());
    set(nodes.second, kAbsentStandby);
    both.send(kOverBoth);
    ASSERT_TRUE(waits_for_standby(nodes.second, "PREPARE TRANSACTION%"));
    ASSERT_EQ(nodes.second.connect().value("SELECT count(*) FROM pg_prepared_xacts"), "1");
    nodes.first.cluster.kill9();
    set(nodes.second, kNoStandby);
    nodes.first.cluster.start();
    recover(nodes.first, nodes.second);
    EXPECT_EQ(done(nodes), "0 0 0");
    Conn conn = nodes.first.connect();
    EXPECT_TRUE(becomes(conn, "SELECT count(app.complete(lease)) FROM app.receive('mail')", "1"));
}

// SO-75: a node's standby takes its place: a promotion, with a new incarnation. The others, told by
// citus_update_node, name the new server; leases have ended, and the work is there.
TEST(CitusFailover, AStandbyTakesOver) {
    Nodes nodes;
    nodes.make_app();
    nodes.first.connect().exec(enqueue("0"));
    const std::string token =
        nodes.first.connect().value("SELECT lock_token FROM app.fetch_work_item(3600000)");
    const std::string before = nodes.first.connect().value("SELECT incarnation FROM app.belay_hub");
    auto standby = nodes.first.cluster.make_standby();
    nodes.first.cluster.kill9();
    standby->promote();
    Conn conn = standby->connect();
    const std::string host = conn.value("SHOW unix_socket_directories");
    const std::string port = conn.value("SHOW port");
    conn.exec("ALTER SYSTEM SET citus.local_hostname = '" + host + "'");
    conn.exec("SELECT pg_reload_conf()");
    nodes.coordinator.connect().exec(
        "SELECT citus_update_node((SELECT nodeid FROM pg_dist_node WHERE nodename = '" +
        nodes.first.host + "'), '" + host + "', " + port + ")");
    for (Server* server : {&nodes.coordinator, &nodes.second}) {
        Conn other = server->connect();
        EXPECT_EQ(other.error_of(enqueue("x")), "QB017");
        // Citus tells the other nodes afterwards.
        EXPECT_TRUE(becomes(other, "SELECT host FROM belay.hub_location('app')", host));
    }
    EXPECT_EQ(conn.error_of("SELECT app.ack_worker('" + token + "')"), "QB001");
    EXPECT_NE(std::string(PQerrorMessage(conn.raw())).find("other_incarnation"), std::string::npos)
        << PQerrorMessage(conn.raw());
    conn.exec(enqueue("1"));
    EXPECT_EQ(conn.value("SELECT incarnation > " + before + " FROM app.belay_hub"), "t");
    EXPECT_EQ(fetch_all(conn), "0 1");
    // It moves on from there.
    nodes.move(nodes.second, "block_writes");
    nodes.second.connect().exec("SELECT belay.new_incarnation('app')");
    Conn second = nodes.second.connect();
    EXPECT_EQ(fetch_all(second), "0 1");
}

}  // namespace
}  // namespace belay::test
