// Intents that leave their database: links, the relay in the background worker, and what it
// survives. Random kills are in test/stress.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cluster.hpp"

namespace belay::test {
namespace {

using std::to_string;

template <typename Ready>
testing::AssertionResult within(int seconds, Ready ready) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (!ready()) {
        if (std::chrono::steady_clock::now() > deadline) {
            return testing::AssertionFailure() << "waited in vain";
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return testing::AssertionSuccess();
}

// The duties are too slow to matter, so what arrives was delivered at once.
const std::vector<std::string> kLazy = {"belay.reconcile_interval = '1h'"};
const std::vector<std::string> kQuick = {"belay.reconcile_interval = '100ms'",
                                         "belay.intent_age = '200ms'"};

std::string socket_of(Conn& conn) {
    return conn.value("SHOW unix_socket_directories");
}

// A statement that sends message n to an instance of hub dst.
std::string send(const std::string& instance, int n, const std::string& hub = "dst") {
    return "SELECT src.send_to_hub('" + hub +
           "', 'orchestrator', '{\"CancelInstance\":{\"instance\":\"" + instance +
           "\",\"reason\":\"" + to_string(n) + "\"}}')";
}

// What an instance of a hub has got, in order.
std::string got(Conn& conn, const std::string& instance, const std::string& hub = "dst") {
    return conn.value(
        "SELECT coalesce(string_agg(work_item::json #>> '{CancelInstance,reason}', ' ' ORDER BY "
        "id), '') FROM " +
        hub + ".messages WHERE instance_id = '" + instance + "'");
}

std::string error_of_first(Conn& conn) {
    const Rows rows =
        conn.exec("SELECT coalesce(last_error, '') FROM src.intents ORDER BY intent_id LIMIT 1");
    return rows.size() == 0 ? "nothing waits" : *rows.at(0, 0);
}

testing::AssertionResult fails_with(Conn& conn, const std::string& text) {
    const auto found =
        within(60, [&] { return error_of_first(conn).find(text) != std::string::npos; });
    return found ? found : testing::AssertionFailure() << error_of_first(conn);
}

pid_t worker_of(Conn& conn) {
    const Rows rows = conn.exec(
        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'belay worker' AND datname = "
        "current_database()");
    return rows.size() == 0 ? 0 : std::stoi(*rows.at(0, 0));
}

// A server with hub src, and a database other with hub dst, linked.
struct TwoDatabases {
    explicit TwoDatabases(const std::vector<std::string>& conf)
        : cluster({.preload = true, .conf = conf}), here(cluster.connect()) {
        here.exec("CREATE EXTENSION belay");
        here.exec("SELECT belay.create_hub('src')");
        here.exec("CREATE DATABASE other");
        there.emplace(cluster.connect("other"));
        there->exec("CREATE EXTENSION belay");
        there->exec("SELECT belay.create_hub('dst')");
        here.exec("CREATE FOREIGN DATA WRAPPER link");
        here.exec("CREATE SERVER far FOREIGN DATA WRAPPER link OPTIONS (host '" + socket_of(here) +
                  "', dbname 'other')");
        here.exec("CREATE USER MAPPING FOR postgres SERVER far OPTIONS (user 'postgres')");
    }
    void link() { here.exec("SELECT belay.create_hub_link('src', 'dst', 'far')"); }

    Cluster cluster;
    Conn here;
    std::optional<Conn> there;
};

// IN-6: after the commit the relay delivers at once, in the same database and to another one.
TEST(Intents, AreDeliveredAtOnce) {
    TwoDatabases two(kLazy);
    two.here.exec("SELECT belay.create_hub('near')");
    EXPECT_TRUE(within(30, [&] { return worker_of(two.here) != 0; }));
    two.here.exec(send("x", 1, "near"));
    EXPECT_TRUE(within(30, [&] { return got(two.here, "x", "near") == "1"; }));
    two.link();
    for (int i = 1; i <= 5; ++i) {
        two.here.exec(send("x", i));
    }
    EXPECT_TRUE(within(30, [&] { return got(*two.there, "x") == "1 2 3 4 5"; }));
    EXPECT_TRUE(
        within(30, [&] { return two.here.value("SELECT count(*) FROM src.intents") == "0"; }));
    // IN-10: paused it rests; to resume wakes it.
    two.here.exec("SELECT src.pause_hub('intents')");
    two.here.exec(send("x", 6));
    two.here.exec(send("x", 2, "near"));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_EQ(got(*two.there, "x"), "1 2 3 4 5");
    EXPECT_EQ(two.here.value("SELECT max(attempts) FROM src.intents"), "0");
    two.here.exec("SELECT src.resume_hub('intents')");
    EXPECT_TRUE(within(30, [&] { return got(*two.there, "x") == "1 2 3 4 5 6"; }));
    EXPECT_TRUE(within(30, [&] { return got(two.here, "x", "near") == "1 2"; }));
    // Rolled back it never was.
    two.here.exec("BEGIN");
    two.here.exec(send("x", 7));
    two.here.exec("ROLLBACK");
    two.here.exec(send("x", 8));
    EXPECT_TRUE(within(30, [&] { return got(*two.there, "x") == "1 2 3 4 5 6 8"; }));
}

// IN-6: with every immediate delivery suppressed by the fault point, the duty delivers all of them.
TEST(Intents, AreDeliveredByTheDuty) {
    constexpr int kMessages = 300;
    TwoDatabases two({"belay.reconcile_interval = '1h'", "belay.intent_age = '100ms'"});
    two.here.exec("SELECT belay.create_hub('near')");
    two.link();
    EXPECT_TRUE(within(30, [&] { return worker_of(two.here) != 0; }));
    two.here.exec("SELECT belay.inject_fault('outbox.deliver', 1000000)");
    // At once: each failure doubles the pause of the link, and what comes late would wait for long.
    // Behind a batch that fails as a whole nothing is tried before the duty comes.
    constexpr int kBatch = 256;
    two.here.exec("BEGIN");
    for (int i = 1; i <= kMessages; ++i) {
        two.here.exec(send("i" + to_string(i), i, "near"));
        two.here.exec(send("i" + to_string(i), i));
    }
    two.here.exec("COMMIT");
    EXPECT_TRUE(within(60, [&] {
        return two.here.value("SELECT count(*) FROM src.intents WHERE attempts > 0") ==
               to_string(2 * kBatch);
    })) << two.here.value("SELECT count(*) FROM src.intents WHERE attempts > 0");
    EXPECT_EQ(two.here.value("SELECT min(last_error) FROM src.intents"),
              "XX000: injected fault at \"outbox.deliver\"");
    EXPECT_EQ(two.here.value("SELECT count(*) FROM near.messages"), "0");
    EXPECT_EQ(two.there->value("SELECT count(*) FROM dst.messages"), "0");
    two.here.exec("SELECT belay.inject_fault('outbox.deliver', 0)");
    two.cluster.configure("belay.reconcile_interval = '50ms'");
    two.here.exec("SELECT pg_reload_conf()");
    const auto arrived = [](Conn& conn, const std::string& hub) {
        return conn.value("SELECT count(*) || ' ' || count(DISTINCT instance_id) FROM " + hub +
                          ".messages");
    };
    const std::string all = to_string(kMessages) + " " + to_string(kMessages);
    EXPECT_TRUE(within(60, [&] { return arrived(two.here, "near") == all; }))
        << arrived(two.here, "near");
    EXPECT_TRUE(within(60, [&] { return arrived(*two.there, "dst") == all; }))
        << arrived(*two.there, "dst");
    EXPECT_TRUE(
        within(30, [&] { return two.here.value("SELECT count(*) FROM src.intents") == "0"; }));
}

// IN-6: no callback runs where a prepared transaction commits; the duty finds what it sent.
TEST(Intents, OfPreparedTransactionsAreDelivered) {
    auto conf = kQuick;
    conf.push_back("max_prepared_transactions = 2");
    TwoDatabases two(conf);
    two.link();
    two.here.exec("BEGIN");
    two.here.exec(send("x", 1));
    two.here.exec("PREPARE TRANSACTION 'p'");
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_EQ(got(*two.there, "x"), "");
    two.here.exec("COMMIT PREPARED 'p'");
    EXPECT_TRUE(within(30, [&] { return got(*two.there, "x") == "1"; }));
}

// IN-8: one connection per link, kept, in no transaction; a new one after it was lost or the server
// changed.
TEST(Intents, KeepOneConnection) {
    TwoDatabases two(kQuick);
    two.link();
    const std::string relays =
        "SELECT coalesce(string_agg(pid || ' ' || usename || ' ' || state || ' ' || (xact_start IS "
        "NULL), ','), '') FROM pg_stat_activity WHERE application_name = 'belay relay'";
    two.here.exec(send("x", 1));
    EXPECT_TRUE(within(30, [&] { return got(*two.there, "x") == "1"; }));
    EXPECT_TRUE(within(30, [&] {
        return two.there->value(relays).find(" postgres idle true") != std::string::npos;
    }));
    const std::string first = two.there->value(relays);
    for (int i = 2; i <= 10; ++i) {
        two.here.exec(send("x", i));
        two.here.exec(send("y", i));
    }
    EXPECT_TRUE(within(30, [&] { return got(*two.there, "x") == "1 2 3 4 5 6 7 8 9 10"; }));
    EXPECT_TRUE(within(30, [&] { return two.there->value(relays) == first; }));
    // The loss of an idle connection costs nothing: the next batch has a new one.
    two.there->exec(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'belay "
        "relay'");
    EXPECT_TRUE(within(30, [&] { return two.there->value(relays).empty(); }));
    two.here.exec(send("z", 1));
    EXPECT_TRUE(within(30, [&] { return got(*two.there, "z") == "1"; }));
    EXPECT_NE(two.there->value(relays), first);
    // A changed server is seen at the next batch.
    two.here.exec("ALTER SERVER far OPTIONS (ADD application_name 'another')");
    two.here.exec(send("z", 2));
    EXPECT_TRUE(within(30, [&] { return got(*two.there, "z") == "1 2"; }));
    EXPECT_EQ(two.there->value("SELECT count(*) FROM pg_stat_activity WHERE application_name IN "
                               "('another', 'belay relay')"),
              "1");
    // So is the end of the link, and of the hub.
    two.here.exec("SELECT belay.drop_hub_link('src', 'dst')");
    EXPECT_TRUE(within(30, [&] {
        return two.there->value(
                   "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'another'") ==
               "0";
    }));
    two.here.exec(send("z", 3));
    EXPECT_TRUE(fails_with(two.here, "QB002: hub \"dst\" does not exist"));
    two.link();
    EXPECT_TRUE(within(30, [&] { return got(*two.there, "z") == "1 2 3"; }));
    two.here.exec("SELECT belay.drop_hub('src', true)");
    EXPECT_TRUE(within(30, [&] {
        return two.there->value(
                   "SELECT count(*) FROM pg_stat_activity WHERE application_name = "
                   "'another'") == "0";
    }));
}

// IN-9: what does not work is told by the intent itself, and continues when it works.
TEST(Intents, TellWhyTheyWait) {
    TwoDatabases two(kQuick);
    two.here.exec("DROP USER MAPPING FOR postgres SERVER far");
    two.link();
    two.here.exec(send("x", 1));
    EXPECT_TRUE(fails_with(two.here, "user mapping not found"));
    two.here.exec("CREATE USER MAPPING FOR postgres SERVER far OPTIONS (user 'nobody_here')");
    EXPECT_TRUE(fails_with(two.here, "role \"nobody_here\" does not exist"));
    two.here.exec("ALTER USER MAPPING FOR postgres SERVER far OPTIONS (SET user 'postgres')");
    two.there->exec("ALTER SCHEMA dst RENAME TO away");
    EXPECT_TRUE(fails_with(two.here, "3F000: schema \"dst\" does not exist"));
    two.there->exec("ALTER SCHEMA away RENAME TO dst");
    two.here.exec("ALTER SERVER far OPTIONS (SET host '/nowhere')");
    EXPECT_TRUE(fails_with(two.here, "/nowhere"));
    two.here.exec("ALTER SERVER far OPTIONS (SET host '" + socket_of(two.here) + "')");
    EXPECT_TRUE(within(90, [&] { return got(*two.there, "x") == "1"; }));
    // A hub that has moved is a fault of the link, not of an item.
    two.there->exec("SELECT belay.set_hub_place('dst', 'db2', 5432)");
    two.here.exec(send("x", 2));
    EXPECT_TRUE(fails_with(two.here, "QB017: hub \"dst\" is on db2:5432"));
    EXPECT_TRUE(within(30, [&] {
        return two.cluster.log().find("cannot be sent through server \"far\": QB017") !=
               std::string::npos;
    }));
    two.there->exec("SELECT belay.remove_hub_place('dst')");
    EXPECT_TRUE(within(90, [&] { return got(*two.there, "x") == "1 2"; }));
    two.here.exec("DROP SERVER far CASCADE");
    two.here.exec(send("x", 3));
    EXPECT_TRUE(fails_with(two.here, "server \"far\" does not exist"));
    EXPECT_GE(std::stoi(two.here.value("SELECT attempts FROM src.intents")), 1);
}

// IN-5: an item that the target refuses holds up its pair, and nothing else.
TEST(Intents, OneRefusedHoldsUpItsPair) {
    TwoDatabases two(kQuick);
    two.here.exec("SELECT src.pause_hub('intents')");
    two.link();
    for (int i = 1; i <= 3; ++i) {
        two.here.exec(send("x", i));
        two.here.exec(send("y", i));
        two.here.exec(send("z", i));
    }
    two.here.exec("UPDATE src.intent_queue SET work_item = '{\"Bad' WHERE id = 5");  // y 2
    two.here.exec("SELECT src.resume_hub('intents')");
    EXPECT_TRUE(within(
        30, [&] { return got(*two.there, "x") == "1 2 3" && got(*two.there, "z") == "1 2 3"; }));
    EXPECT_TRUE(fails_with(two.here, "QB006"));
    EXPECT_EQ(got(*two.there, "y"), "1");
    two.here.exec(send("x", 4));
    EXPECT_TRUE(within(30, [&] { return got(*two.there, "x") == "1 2 3 4"; }));
    two.here.exec(
        "UPDATE src.intent_queue SET work_item = replace(work_item, '{\"Bad', "
        "'{\"CancelInstance\":{\"instance\":\"y\",\"reason\":\"2\"}}') WHERE id = 5");
    EXPECT_TRUE(within(90, [&] { return got(*two.there, "y") == "1 2 3"; }));
}

// IN-4: what has arrived and could not be removed is not delivered twice, and does not spin.
TEST(Intents, ThatCannotBeRemovedArriveOnce) {
    TwoDatabases two(kQuick);
    two.link();
    two.here.exec(
        "CREATE FUNCTION src.keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'");
    two.here.exec(
        "CREATE TRIGGER keep BEFORE DELETE ON src.intent_queue FOR EACH ROW EXECUTE FUNCTION "
        "src.keep()");
    two.here.exec(send("x", 1));
    EXPECT_TRUE(fails_with(two.here, "cannot be removed"));
    EXPECT_EQ(got(*two.there, "x"), "1");
    two.here.exec("DROP TRIGGER keep ON src.intent_queue");
    EXPECT_TRUE(
        within(90, [&] { return two.here.value("SELECT count(*) FROM src.intents") == "0"; }));
    EXPECT_EQ(got(*two.there, "x"), "1");
}

// A server that takes connections and never says a word.
class Silence {
 public:
    explicit Silence(const std::string& directory) : path_(directory + "/.s.PGSQL.5432") {
        std::filesystem::create_directory(directory);
        socket_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.copy(address.sun_path, sizeof address.sun_path - 1);
        if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
            ::listen(socket_, 8) != 0) {
            throw std::runtime_error("cannot listen on " + path_);
        }
    }
    ~Silence() {
        ::close(socket_);
        std::filesystem::remove_all(std::filesystem::path(path_).parent_path());
    }
    // Waits for a client.
    void take() { clients_.push_back(::accept(socket_, nullptr, nullptr)); }

 private:
    std::string path_;
    int socket_;
    std::vector<int> clients_;
};

// IN-8: no transaction is open while libpq waits, other work continues, and SIGTERM ends the wait.
TEST(Intents, DoNotMakeTheWorkerWait) {
    TwoDatabases two(kQuick);
    two.here.exec("SELECT belay.create_hub('near')");
    Silence silence(socket_of(two.here) + "/silence");
    two.here.exec("ALTER SERVER far OPTIONS (SET host '" + socket_of(two.here) + "/silence')");
    two.link();
    EXPECT_TRUE(within(30, [&] { return worker_of(two.here) != 0; }));
    two.here.exec(send("x", 1));
    silence.take();
    int idle = 0;
    for (int i = 0; i < 20; ++i) {
        // The duties have short transactions of their own.
        idle += two.here.value(
                    "SELECT (xact_start IS NULL AND backend_xmin IS NULL)::int FROM "
                    "pg_stat_activity WHERE backend_type = 'belay worker' AND datname = "
                    "current_database()") == "1";
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_GE(idle, 10);
    two.here.exec(send("x", 1, "near"));
    EXPECT_TRUE(within(10, [&] { return got(two.here, "x", "near") == "1"; }));
    const pid_t worker = worker_of(two.here);
    two.here.exec("SELECT pg_terminate_backend(" + to_string(worker) + ")");
    EXPECT_TRUE(within(5, [&] { return worker_of(two.here) != worker; }));
    two.here.exec("ALTER SERVER far OPTIONS (SET host '" + socket_of(two.here) + "')");
    EXPECT_TRUE(within(60, [&] { return got(*two.there, "x") == "1"; }));
}

// IN-12: the owner of a hub gets nothing from the account of the server: neither its trust nor its
// files. A superuser can approve a server.
TEST(Intents, LendTheOwnerNoRights) {
    TwoDatabases two(kQuick);
    two.there->exec("CREATE ROLE owner LOGIN");
    two.there->exec("CREATE ROLE courier LOGIN PASSWORD 'secret'");
    two.there->exec("SELECT belay.grant_hub('dst', 'courier', 'client')");
    two.here.exec("GRANT USAGE ON LANGUAGE belay TO owner");
    two.here.exec("GRANT CREATE ON DATABASE postgres TO owner");
    two.here.exec("SELECT belay.drop_hub('src')");
    two.here.exec("GRANT USAGE ON FOREIGN SERVER far TO owner");
    Conn owner = two.cluster.connect("postgres", "owner");
    owner.exec("SELECT belay.create_hub('src')");
    owner.exec("SELECT belay.create_hub_link('src', 'dst', 'far')");
    // Without a password nothing is tried.
    owner.exec("CREATE USER MAPPING FOR owner SERVER far OPTIONS (user 'postgres')");
    owner.exec(send("x", 1));
    EXPECT_TRUE(fails_with(owner, "has no password"));
    // A server that trusts all users of its socket does not ask for it.
    owner.exec("ALTER USER MAPPING FOR owner SERVER far OPTIONS (ADD password 'any')");
    EXPECT_TRUE(fails_with(owner, "did not ask for a password"));
    // What only a superuser may vouch for counts for nothing in a mapping.
    owner.exec("ALTER USER MAPPING FOR owner SERVER far OPTIONS (ADD password_required 'false')");
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_TRUE(fails_with(owner, "did not ask for a password"));
    EXPECT_EQ(two.there->value("SELECT count(*) FROM dst.messages"), "0");
    // Vouched for, with its own user: the mapping's user and host are passed over.
    owner.exec("ALTER USER MAPPING FOR owner SERVER far OPTIONS (ADD host '/nowhere')");
    two.here.exec("ALTER SERVER far OPTIONS (ADD password_required 'false', ADD user 'courier')");
    EXPECT_TRUE(within(90, [&] { return got(*two.there, "x") == "1"; }));
    EXPECT_EQ(two.there->value("SELECT usename FROM pg_stat_activity WHERE application_name = "
                               "'belay relay'"),
              "courier");
    // The remote role needs level client.
    two.there->exec("SELECT belay.revoke_hub('dst', 'courier', 'client')");
    owner.exec(send("x", 2));
    EXPECT_TRUE(fails_with(owner, "42501"));
    two.there->exec("SELECT belay.grant_hub('dst', 'courier', 'client')");
    EXPECT_TRUE(within(90, [&] { return got(*two.there, "x") == "1 2"; }));
    // With a password that the server asks for.
    two.here.exec("ALTER SERVER far OPTIONS (DROP password_required, DROP user)");
    {
        const std::string hba = two.cluster.data() + "/pg_hba.conf";
        std::ofstream(hba) << "local all courier scram-sha-256\nlocal all all trust\n";
        two.here.exec("SELECT pg_reload_conf()");
    }
    owner.exec("DROP USER MAPPING FOR owner SERVER far");
    owner.exec(
        "CREATE USER MAPPING FOR owner SERVER far OPTIONS (user 'courier', password 'wrong')");
    owner.exec(send("x", 3));
    EXPECT_TRUE(fails_with(owner, "password authentication failed"));
    owner.exec("ALTER USER MAPPING FOR owner SERVER far OPTIONS (SET password 'secret')");
    EXPECT_TRUE(within(90, [&] { return got(*two.there, "x") == "1 2 3"; }));
    EXPECT_EQ(two.cluster.log().find("secret"), std::string::npos);
}

// IN-3, IN-4: a promoted standby may repeat what the primary had delivered; the target knows it.
TEST(Intents, RepeatedAfterAPromotionArriveOnce) {
    Cluster target({.preload = true, .own_identity = true, .conf = kQuick});
    Conn there = target.connect();
    there.exec("CREATE EXTENSION belay");
    there.exec("SELECT belay.create_hub('dst')");
    Cluster primary({.preload = true, .conf = kQuick});
    std::unique_ptr<Cluster> standby;
    std::string uuid;
    {
        Conn here = primary.connect();
        here.exec("CREATE EXTENSION belay");
        here.exec("SELECT belay.create_hub('src')");
        here.exec("CREATE FOREIGN DATA WRAPPER link");
        here.exec("CREATE SERVER far FOREIGN DATA WRAPPER link OPTIONS (host '" + socket_of(there) +
                  "', dbname 'postgres')");
        here.exec("CREATE USER MAPPING FOR postgres SERVER far OPTIONS (user 'postgres')");
        here.exec("SELECT src.pause_hub('intents')");
        here.exec("SELECT belay.create_hub_link('src', 'dst', 'far')");
        uuid = here.value("SELECT uuid FROM src.belay_hub");
        here.exec(send("x", 1));
        here.exec(send("x", 2));
        standby = primary.make_standby();
        Conn reader = standby->connect();
        EXPECT_TRUE(
            within(60, [&] { return reader.value("SELECT count(*) FROM src.intents") == "2"; }));
        // From here on the standby learns nothing.
        reader.exec("ALTER SYSTEM SET primary_conninfo = ''");
        reader.exec("SELECT pg_reload_conf()");
        EXPECT_TRUE(within(
            60, [&] { return reader.value("SELECT count(*) FROM pg_stat_wal_receiver") == "0"; }));
        here.exec("SELECT src.resume_hub('intents')");
        EXPECT_TRUE(within(60, [&] { return got(there, "x") == "1 2"; }));
    }
    primary.kill9();
    standby->promote();
    Conn here = standby->connect();
    EXPECT_EQ(here.value("SELECT count(*) FROM src.intents"), "2");
    here.exec("SELECT src.resume_hub('intents')");
    here.exec(send("x", 3));
    EXPECT_TRUE(within(60, [&] { return got(there, "x") == "1 2 3"; })) << got(there, "x");
    EXPECT_TRUE(within(60, [&] { return here.value("SELECT count(*) FROM src.intents") == "0"; }));
    EXPECT_NE(here.value("SELECT uuid FROM src.belay_hub"), uuid);
    EXPECT_EQ(there.value("SELECT count(*) || ' ' || count(*) FILTER (WHERE source_uuid = '" +
                          uuid + "') FROM dst.intents_received"),
              "3 2");
    EXPECT_EQ(got(there, "x"), "1 2 3");
}

}  // namespace
}  // namespace belay::test
