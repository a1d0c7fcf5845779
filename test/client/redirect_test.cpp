// Connections that follow a hub to the server that has it.
#include <gtest/gtest.h>

#include <thread>

#include "belay/connection.hpp"
#include "belay/pool.hpp"
#include "conninfo.hpp"
#include "server.hpp"

namespace belay::test {
namespace {

using std::chrono::milliseconds;

// Two servers. The hub `app` is on the first; the second has one of the same name.
class ClientRedirect : public WithServer {
 protected:
    static void SetUpTestSuite() {
        WithServer::SetUpTestSuite();
        second = std::make_unique<Cluster>(Cluster::Options{.preload = true});
        second->connect().exec("CREATE EXTENSION belay");
    }
    static void TearDownTestSuite() {
        second.reset();
        WithServer::TearDownTestSuite();
    }
    void SetUp() override {
        WithServer::SetUp();
        second->connect().exec("SELECT belay.create_hub('app')");
    }
    void TearDown() override {
        admin().exec("SELECT belay.remove_hub_place('app')");
        WithServer::TearDown();
        Conn other = second->connect();
        other.exec("SELECT belay.remove_hub_place('app')");
        other.exec("SELECT belay.drop_hub('app', true)");
    }

    // Where libpq finds a server.
    static HubPlace place_of(const Cluster& server) {
        Connection connection({.conninfo = server.conninfo()});
        return {.host = PQhost(connection.raw()), .port = std::stoi(PQport(connection.raw()))};
    }
    static void send_to(Conn from, const HubPlace& to) {
        from.exec("SELECT belay.set_hub_place('app', '" + to.host + "', " +
                  std::to_string(to.port) + ")");
    }
    static void move_to_second() { send_to(admin(), place_of(*second)); }

    static std::string tasks_of(Cluster& server) {
        return server.connect().value("SELECT count(*) FROM app.tasks");
    }

    static inline std::unique_ptr<Cluster> second;
};

template <typename Call>
Error error_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << "no error";
    return Error({});
}

constexpr const char* kSend = "SELECT app.send('mail')";

// SO-26: outside a transaction the call is repeated where the hub is, and the connection stays
// there.
TEST_F(ClientRedirect, FollowsTheHub) {
    Connection connection(options());
    connection.exec(kSend);
    EXPECT_EQ(tasks_of(*cluster), "1");
    move_to_second();
    connection.exec(kSend);
    connection.exec(kSend);
    EXPECT_EQ(tasks_of(*cluster), "1");
    EXPECT_EQ(tasks_of(*second), "2");
    EXPECT_EQ(std::string(PQhost(connection.raw())), place_of(*second).host);
    // Also after it was lost.
    second->connect().exec("SELECT pg_terminate_backend(" +
                           std::to_string(connection.backend_pid()) + ", 10000)");
    connection.call(Effect::kRepeatable, kSend);
    EXPECT_EQ(tasks_of(*second), "3");
    // It is set up as the first one was.
    EXPECT_EQ(connection.exec("SHOW belay.async_leases").get<std::string>(0, 0), "on");
}

// SO-26: a pipeline is one transaction, of which nothing has happened.
TEST_F(ClientRedirect, PipelinesFollow) {
    Connection connection(options());
    move_to_second();
    EXPECT_EQ(connection.pipeline({{kSend, {}}, {kSend, {}}}).size(), 2U);
    EXPECT_EQ(tasks_of(*cluster), "0");
    EXPECT_EQ(tasks_of(*second), "2");
}

// SO-26: inside a transaction the error tells the place, and the next transaction begins there.
TEST_F(ClientRedirect, TransactionsFail) {
    Connection connection(options());
    move_to_second();
    const auto send = [&] { connection.with_transaction([&] { connection.exec(kSend); }); };
    const Error error = error_of(send);
    EXPECT_EQ(error.sqlstate(), "QB017");
    EXPECT_EQ(error.code_detail(), "elsewhere");
    EXPECT_FALSE(error.retryable());
    EXPECT_FALSE(error.outcome_unknown());
    ASSERT_TRUE(error.elsewhere());
    EXPECT_EQ(error.elsewhere()->host, place_of(*second).host);
    EXPECT_EQ(error.elsewhere()->port, place_of(*second).port);
    send();
    EXPECT_EQ(tasks_of(*cluster), "0");
    EXPECT_EQ(tasks_of(*second), "1");
}

// SO-26: servers that name each other are not followed for ever.
TEST_F(ClientRedirect, EndsAfterThreeHops) {
    Connection connection(options());
    move_to_second();
    send_to(second->connect(), place_of(*cluster));
    EXPECT_EQ(error_of([&] { connection.exec(kSend); }).sqlstate(), "QB017");
    EXPECT_EQ(error_of([&] { connection.pipeline({{kSend, {}}}); }).sqlstate(), "QB017");
    // When one of them has it again, the same connection works.
    second->connect().exec("SELECT belay.remove_hub_place('app')");
    connection.exec(kSend);
    EXPECT_EQ(tasks_of(*second), "1");
}

// SO-26: it can be switched off, and a borrowed connection stays its owner's.
TEST_F(ClientRedirect, CanBeSwitchedOff) {
    auto stays = options();
    stays.follow_redirects = false;
    Connection connection(stays);
    move_to_second();
    EXPECT_TRUE(error_of([&] { connection.exec(kSend); }).elsewhere());
    Conn own = admin();
    Connection borrowed = Connection::borrow(own.raw());
    EXPECT_TRUE(error_of([&] { borrowed.exec(kSend); }).elsewhere());
    EXPECT_FALSE(error_of([&] { connection.exec("SELECT 1/0"); }).elsewhere());
}

// SO-26: a password goes to servers of the first one's domain, and to those that are allowed.
TEST_F(ClientRedirect, PasswordsStayHome) {
    auto secret = options();
    secret.conninfo += " password=secret";
    secret.reconnect_timeout = milliseconds(0);
    Connection connection(secret);
    send_to(admin(), {.host = "db.elsewhere.invalid", .port = 5432});
    EXPECT_EQ(error_of([&] { connection.exec(kSend); }).sqlstate(), "QB017");
    // A place of this machine is allowed; so is one that the options name: there it tries.
    secret.redirect_hosts = {"db2.elsewhere.invalid"};
    Connection other(secret);
    EXPECT_EQ(error_of([&] { other.exec(kSend); }).sqlstate(), "QB017");
    secret.redirect_hosts = {".elsewhere.invalid"};
    Connection allowed(secret);
    EXPECT_TRUE(error_of([&] { allowed.exec(kSend); }).connection_lost());
    move_to_second();
    connection.exec(kSend);
    EXPECT_EQ(tasks_of(*second), "1");
    // Without a password there is nothing to keep.
    send_to(admin(), {.host = "db.elsewhere.invalid", .port = 5432});
    auto plain = options();
    plain.reconnect_timeout = milliseconds(0);
    Connection without(plain);
    EXPECT_TRUE(error_of([&] { without.exec(kSend); }).connection_lost());
}

// SO-26: what the domain of a server is.
TEST(ClientTrust, NeedsTwoLabelsInCommon) {
    const auto trusts = [](const char* first, const char* host) {
        return is_trusted(host, first, {});
    };
    EXPECT_TRUE(trusts("db1.example.com", "db2.example.com"));
    EXPECT_TRUE(trusts("db1.eu.example.com", "db2.eu.example.com"));
    EXPECT_TRUE(trusts("db1.example.com", "db2.example.com."));
    EXPECT_FALSE(trusts("db1.example.com", "db1.example.org"));
    EXPECT_FALSE(trusts("db1.example.com", "example.com"));
    EXPECT_FALSE(trusts("db1.example.com", "a.db2.example.com"));
    EXPECT_FALSE(trusts("db1.example.com", "db2.notexample.com"));
    // What follows the first dot would be a top-level domain.
    EXPECT_FALSE(trusts("example.com", "evil.com"));
    EXPECT_FALSE(trusts("example.com.", "evil.com."));
    EXPECT_FALSE(trusts("example..com", "evil..com"));
    EXPECT_FALSE(trusts("db.co", "evil.co"));
    // A bare name has no domain.
    EXPECT_TRUE(trusts("db1", "db1"));
    EXPECT_FALSE(trusts("db1", "db2"));
    EXPECT_FALSE(trusts("db1", "evil.com"));
    EXPECT_FALSE(trusts("db1.", "db2."));
    EXPECT_TRUE(is_trusted("db2", "db1", {"db2"}));
    // Addresses are compared as a whole.
    EXPECT_TRUE(trusts("192.0.2.1", "192.0.2.1"));
    EXPECT_FALSE(trusts("192.0.2.1", "192.0.2.2"));
    EXPECT_FALSE(trusts("fe80::1", "fe80::2"));
    // This machine by any of its names, and no other.
    EXPECT_TRUE(trusts("", "localhost"));
    EXPECT_TRUE(trusts("localhost", "/tmp"));
    EXPECT_FALSE(trusts("localhost", "db1.example.com"));
    EXPECT_FALSE(trusts("db1.example.com", "localhost"));
}

// SO-26: a place that cannot be reached is given up for the first server, which may know a new one.
TEST_F(ClientRedirect, AsksTheFirstServerAgain) {
    auto patient = options();
    Connection connection(patient);
    move_to_second();
    connection.exec(kSend);
    admin().exec("SELECT belay.remove_hub_place('app')");
    second->stop();
    connection.call(Effect::kRepeatable, kSend);
    EXPECT_EQ(tasks_of(*cluster), "1");
    second->start();
}

}  // namespace
}  // namespace belay::test
