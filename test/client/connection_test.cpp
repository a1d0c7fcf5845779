// Connections and pools on a real server: types, statements, transactions, losses and retries.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "belay/connection.hpp"
#include "belay/pool.hpp"
#include "server.hpp"

namespace belay::test {
namespace {

using std::chrono::milliseconds;

class ClientConnection : public WithServer {};
class ClientPool : public WithServer {};

// The error that a call throws.
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

TEST_F(ClientConnection, CarriesTypes) {
    Connection connection(options());
    const std::string odd = "quote ' \" \\ $1 ; -- \xc3\xa4";
    const Result row = connection.exec(
        "SELECT $1::text, $2::bigint, $3::boolean, $4::jsonb ->> 'k', ($5::text[])[2], "
        "($6::integer[])[1], $7::bigint IS NULL, NULL::integer, 1.5::float8, cardinality($8)",
        {odd, std::int64_t{1} << 40, true, Json{{"k", "v"}}, std::vector<std::string>{"{", "a,\"b"},
         std::vector<std::int32_t>{-7}, std::optional<std::int64_t>(), std::vector<std::string>{}});
    EXPECT_EQ(row.size(), 1);
    EXPECT_EQ(row.get<std::string>(0, 0), odd);
    EXPECT_EQ(row.get<std::int64_t>(0, 1), std::int64_t{1} << 40);
    EXPECT_TRUE(row.get<bool>(0, 2));
    EXPECT_EQ(row.get<std::string>(0, 3), "v");
    EXPECT_EQ(row.get<std::string>(0, 4), "a,\"b");
    EXPECT_EQ(row.get<int>(0, 5), -7);
    EXPECT_TRUE(row.get<bool>(0, 6));
    EXPECT_EQ(row.get<std::optional<int>>(0, 7), std::nullopt);
    EXPECT_EQ(row.get<double>(0, 8), 1.5);
    EXPECT_EQ(row.get<int>(0, 9), 0);
    EXPECT_THROW(row.get<int>(0, 7), Error);
    EXPECT_THROW(row.get<int>(0, 1), Error);
    EXPECT_THROW(row.get<int>(1, 1), Error);
}

TEST_F(ClientConnection, CarriesUuidsAndNumbers) {
    Connection connection(options());
    const std::string id = "0190C2A4-1234-7abc-8000-0123456789ef";
    const Result row = connection.exec(
        "SELECT $1::uuid, ($2::uuid[])[2], ($3::bigint[])[1], $4::float8, $5::uuid IS NULL, "
        "$6::float8 IS NULL",
        {Uuid{id}, std::vector<Uuid>{Uuid(), Uuid(id)},
         std::vector<std::int64_t>{-(std::int64_t{1} << 40)}, -12.375, std::optional<Uuid>(),
         std::optional<double>()});
    EXPECT_EQ(row.get<Uuid>(0, 0), Uuid(id));
    EXPECT_EQ(row.get<Uuid>(0, 0).text(), "0190c2a4-1234-7abc-8000-0123456789ef");
    EXPECT_EQ(row.get<std::string>(0, 1), "0190c2a4-1234-7abc-8000-0123456789ef");
    EXPECT_EQ(row.get<std::int64_t>(0, 2), -(std::int64_t{1} << 40));
    EXPECT_EQ(row.get<double>(0, 3), -12.375);
    EXPECT_TRUE(row.get<bool>(0, 4));
    EXPECT_TRUE(row.get<bool>(0, 5));
    for (const char* text :
         {"", "0190c2a4-1234-7abc-8000-0123456789e", "no", "0190c2a4-1234-7abc-8000-0123456789efa",
          "0190c2a4+1234-7abc-8000-0123456789ef", "0190c2a4-1234-7abc-8000-0123456789eg"}) {
        EXPECT_EQ(error_of([&] { Uuid{text}; }).sqlstate(), "22P02") << text;
    }
}

TEST_F(ClientConnection, RefusesANulByte) {
    Connection connection(options());
    const Error error =
        error_of([&] { connection.exec("SELECT $1", {std::string_view("a\0b", 3)}); });
    EXPECT_EQ(error.sqlstate(), "22021");
}

TEST_F(ClientConnection, PreparesOnce) {
    Connection connection(options());
    connection.exec("SELECT $1", {1});
    const auto before = connection.round_trips();
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(connection.exec("SELECT $1", {i}).get<int>(0, 0), i);
    }
    EXPECT_EQ(connection.round_trips() - before, 5u);
    // The same text with another type is another statement.
    EXPECT_EQ(connection.exec("SELECT $1", {"x"}).get<std::string>(0, 0), "x");
    // The session was reset (DISCARD ALL).
    connection.exec("DISCARD ALL");
    EXPECT_EQ(connection.exec("SELECT $1", {6}).get<int>(0, 0), 6);
}

TEST_F(ClientConnection, SurvivesNewColumns) {
    Connection connection(options());
    connection.exec("CREATE TABLE grows (a integer)");
    EXPECT_EQ(connection.exec("SELECT * FROM grows").columns(), 1);
    connection.exec("ALTER TABLE grows ADD b integer");
    EXPECT_EQ(connection.exec("SELECT * FROM grows").columns(), 2);
    connection.exec("DROP TABLE grows");
}

TEST_F(ClientConnection, ReportsWhatTheServerSays) {
    Connection connection(options());
    const Error error =
        error_of([&] { connection.exec("SELECT app.ack_worker($1)", {"no token"}); });
    EXPECT_TRUE(error.lock_lost());
    EXPECT_EQ(error.code_detail(), "unknown");
    EXPECT_NE(error.hint(), "");
    EXPECT_NE(std::string_view(error.where().file_name()).find("connection_test"),
              std::string_view::npos);
}

TEST_F(ClientConnection, SetsAsyncLeasesOnItsOwnOnly) {
    Connection own(options());
    EXPECT_EQ(own.exec("SHOW belay.async_leases").get<std::string>(0, 0), "on");
    Conn lent = admin();
    lent.exec("SELECT belay.version()");
    Connection borrowed = Connection::borrow(lent.raw());
    EXPECT_EQ(borrowed.exec("SHOW belay.async_leases").get<std::string>(0, 0), "off");
}

TEST_F(ClientConnection, CommitsAndRollsBack) {
    Connection connection(options());
    connection.exec("CREATE TABLE kept (a integer)");
    const int answer = connection.with_transaction([&] {
        connection.exec("INSERT INTO kept VALUES ($1)", {1});
        return 7;
    });
    EXPECT_EQ(answer, 7);
    EXPECT_THROW(connection.with_transaction([&] {
        connection.exec("INSERT INTO kept VALUES ($1)", {2});
        throw std::runtime_error("no");
    }),
                 std::runtime_error);
    // An error that the body swallows is not committed over.
    const Error error = error_of([&] {
        connection.with_transaction([&] { error_of([&] { connection.exec("SELECT 1/0"); }); });
    });
    EXPECT_EQ(error.sqlstate(), "25P02");
    EXPECT_FALSE(connection.in_transaction());
    EXPECT_EQ(connection.exec("SELECT count(*) FROM kept").get<int>(0, 0), 1);
    connection.exec("DROP TABLE kept");
}

TEST_F(ClientConnection, DoesNotSeeALossWhileIdle) {
    Connection connection(options());
    const int pid = connection.backend_pid();
    kill_backend(pid);
    EXPECT_EQ(connection.exec("SELECT 1").get<int>(0, 0), 1);
    EXPECT_NE(connection.backend_pid(), pid);
}

TEST_F(ClientConnection, RepeatsReadsNotWrites) {
    Connection connection(options());
    connection.exec("CREATE TABLE counted (a integer)");
    // Kills its own backend the first time: the loss comes in the middle of the statement.
    const std::string once =
        "SELECT CASE WHEN nextval('tries') = 1 THEN pg_terminate_backend(pg_backend_pid()) END, "
        "pg_sleep(0.01)";
    connection.exec("CREATE SEQUENCE tries");
    EXPECT_EQ(connection.call(Effect::kRepeatable, once).size(), 1);
    EXPECT_EQ(connection.exec("SELECT last_value FROM tries").get<int>(0, 0), 2);

    connection.exec("ALTER SEQUENCE tries RESTART");
    const Error error = error_of([&] { connection.call(Effect::kWrite, once); });
    EXPECT_TRUE(error.connection_lost());
    EXPECT_TRUE(error.outcome_unknown());
    EXPECT_EQ(connection.exec("SELECT last_value FROM tries").get<int>(0, 0), 1);
    connection.exec("DROP TABLE counted");
    connection.exec("DROP SEQUENCE tries");
}

TEST_F(ClientConnection, DoesNotLeaveALostTransaction) {
    Connection connection(options());
    connection.begin();
    connection.exec("SELECT 1");
    kill_backend(connection.backend_pid());
    for (int i = 0; i < 2; ++i) {
        const Error error = error_of([&] { connection.exec("SELECT 1"); });
        EXPECT_TRUE(error.connection_lost());
        EXPECT_FALSE(error.outcome_unknown());
    }
    EXPECT_TRUE(error_of([&] { connection.commit(); }).connection_lost());
    connection.rollback();
    EXPECT_EQ(connection.exec("SELECT 1").get<int>(0, 0), 1);
}

TEST_F(ClientConnection, RunsThreeTimesAtMost) {
    Connection connection(options());
    connection.exec("CREATE SEQUENCE runs");
    connection.exec(
        "CREATE FUNCTION fails(until bigint) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE n "
        "bigint := nextval('runs'); BEGIN IF n < until THEN RAISE SQLSTATE '40001'; END IF; "
        "RETURN n; END $$");
    EXPECT_EQ(connection.exec("SELECT fails($1)", {std::int64_t{3}}).get<int>(0, 0), 3);
    connection.exec("ALTER SEQUENCE runs RESTART");
    const Error error = error_of([&] { connection.exec("SELECT fails($1)", {std::int64_t{9}}); });
    EXPECT_TRUE(error.retryable());
    EXPECT_TRUE(error.retry_exhausted());
    EXPECT_EQ(connection.exec("SELECT last_value FROM runs").get<int>(0, 0), 3);
    // Not in the caller's transaction.
    connection.exec("ALTER SEQUENCE runs RESTART");
    const Error inside = error_of([&] {
        connection.with_transaction(
            [&] { connection.exec("SELECT fails($1)", {std::int64_t{9}}); });
    });
    EXPECT_TRUE(inside.retryable());
    EXPECT_FALSE(inside.retry_exhausted());
    EXPECT_EQ(connection.exec("SELECT last_value FROM runs").get<int>(0, 0), 1);
    connection.exec("DROP FUNCTION fails");
    connection.exec("DROP SEQUENCE runs");
}

TEST_F(ClientConnection, IsInterrupted) {
    Connection connection(options());
    Interrupt interrupt;
    std::thread other([&] {
        std::this_thread::sleep_for(milliseconds(50));
        interrupt.signal();
    });
    const auto began = std::chrono::steady_clock::now();
    EXPECT_FALSE(connection.call_until(interrupt, "SELECT pg_sleep(60)").has_value());
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
    other.join();
    // Signalled already, it ends at once; reset, nothing happens.
    EXPECT_FALSE(connection.call_until(interrupt, "SELECT pg_sleep(60)").has_value());
    interrupt.reset();
    EXPECT_TRUE(connection.call_until(interrupt, "SELECT 1").has_value());
}

TEST_F(ClientConnection, SendsBurstsInOneRoundTrip) {
    Connection connection(options());
    connection.exec("CREATE TABLE burst (a integer)");
    std::vector<Connection::Statement> statements;
    for (int i = 0; i < 50; ++i) {
        statements.push_back({"INSERT INTO burst VALUES ($1) RETURNING a", {i}});
    }
    const auto before = connection.round_trips();
    const auto results = connection.pipeline(statements);
    EXPECT_EQ(connection.round_trips() - before, 1u);
    ASSERT_EQ(results.size(), 50u);
    EXPECT_EQ(results[49].get<int>(0, 0), 49);
    statements.push_back({"SELECT 1/0", {}});
    EXPECT_EQ(error_of([&] { connection.pipeline(statements); }).sqlstate(), "22012");
    EXPECT_EQ(connection.exec("SELECT count(*) FROM burst").get<int>(0, 0), 50);
    connection.exec("DROP TABLE burst");
}

TEST_F(ClientConnection, WorksWithoutPreparedStatements) {
    auto unprepared = options();
    unprepared.prepare = false;
    Connection connection(unprepared);
    const auto before = connection.round_trips();
    EXPECT_EQ(connection.exec("SELECT $1", {3}).get<int>(0, 0), 3);
    EXPECT_EQ(connection.round_trips() - before, 1u);
    EXPECT_EQ(connection.exec("SELECT count(*) FROM pg_prepared_statements").get<int>(0, 0), 0);
}

TEST_F(ClientPool, IsBoundedAndWaits) {
    Pool pool(options(), 2);
    std::atomic<int> now = 0;
    std::atomic<int> most = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) {
        threads.emplace_back([&] {
            for (int n = 0; n < 20; ++n) {
                auto connection = pool.take();
                const int level = ++now;
                int seen = most;
                while (seen < level && !most.compare_exchange_weak(seen, level)) {
                }
                connection->exec("SELECT 1");
                --now;
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_LE(most, 2);
    EXPECT_EQ(pool.in_use(), 0u);
    auto one = pool.take();
    auto two = pool.take();
    EXPECT_TRUE(error_of([&] { pool.take(milliseconds(20)); }).timed_out());
}

TEST_F(ClientPool, ReplacesWhatIsBroken) {
    Pool pool(options(), 1);
    int pid = 0;
    {
        auto connection = pool.take();
        pid = connection->backend_pid();
        connection->begin();
        kill_backend(pid);
        error_of([&] { connection->exec("SELECT 1"); });
    }
    auto connection = pool.take();
    EXPECT_FALSE(connection->in_transaction());
    EXPECT_EQ(connection->exec("SELECT 1").get<int>(0, 0), 1);
    EXPECT_NE(connection->backend_pid(), pid);
}

TEST_F(ClientPool, RollsBackWhatIsGivenBackOpen) {
    Pool pool(options(), 1);
    {
        auto connection = pool.take();
        connection->begin();
    }
    EXPECT_EQ(pool.idle(), 1u);
    EXPECT_FALSE(pool.take()->in_transaction());
}

}  // namespace
}  // namespace belay::test
