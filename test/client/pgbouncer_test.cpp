// Behind a pooler that changes servers between transactions and does not know prepared statements.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <memory>
#include <string>

#include "belay/pool.hpp"
#include "belay/admin.hpp"
#include "belay/worker.hpp"
#include "server.hpp"

namespace belay::test {
namespace {

// Debian's pgbouncer in transaction mode, with two connections to the server. Its socket lies
// beside the server's.
class Pgbouncer {
 public:
    explicit Pgbouncer(const Cluster& cluster) {
        const std::string server = cluster.conninfo();
        const std::string directory = server.substr(5, server.find(' ') - 5);
        const std::string file = cluster.file("pgbouncer.ini");
        std::ofstream(file) << "[databases]\npostgres = " << server << "\n[pgbouncer]\n"
                            << "listen_port = 6432\nunix_socket_dir = " << directory << "\n"
                            << "auth_type = any\npool_mode = transaction\ndefault_pool_size = 2\n"
                            << "logfile = " << cluster.file("pgbouncer.log") << "\n";
        conninfo_ = "host=" + directory + " port=6432 dbname=postgres user=postgres";
        pid_ = ::fork();
        if (pid_ == 0) {
            ::execl("/usr/sbin/pgbouncer", "pgbouncer", "-q", file.c_str(), nullptr);
            ::_exit(127);
        }
        const bool up = wait_until([&] {
            try {
                Conn conn(conninfo_);
                return true;
            } catch (const std::runtime_error&) {
                return false;
            }
        });
        EXPECT_TRUE(up) << "pgbouncer does not answer";
    }
    ~Pgbouncer() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    Pgbouncer(const Pgbouncer&) = delete;
    Pgbouncer& operator=(const Pgbouncer&) = delete;

    const std::string& conninfo() const { return conninfo_; }

 private:
    std::string conninfo_;
    pid_t pid_ = 0;
};

class ClientPooler : public WithServer {
 protected:
    static void SetUpTestSuite() {
        WithServer::SetUpTestSuite();
        pooler = std::make_unique<Pgbouncer>(*cluster);
    }
    static void TearDownTestSuite() {
        pooler.reset();
        WithServer::TearDownTestSuite();
    }
    void TearDown() override {
        direct_.exec("DROP TABLE IF EXISTS rows_of");
        WithServer::TearDown();
    }

    static ConnectionOptions pooled() { return {.conninfo = pooler->conninfo()}; }

    static inline std::unique_ptr<Pgbouncer> pooler;
    Connection direct_{options()};
};

// TX-20: two programs with other statements in the same order, whose servers change under them.
TEST_F(ClientPooler, RunsTheProgramsOwnStatement) {
    direct_.exec("CREATE TABLE rows_of (who text, n integer)");
    int refused = 0;
    for (int round = 0; round < 20; ++round) {
        Connection one(pooled());
        Connection two(pooled());
        const auto insert = [&](Connection& connection) {
            connection.exec("INSERT INTO rows_of VALUES ($1, $2)", {"one", round});
        };
        const auto remove = [&](Connection& connection) {
            connection.exec("DELETE FROM rows_of WHERE who = $1 AND n = $2", {"two", round});
        };
        // A transaction of one keeps the other off its server.
        const auto while_busy = [](Connection& busy, auto body) {
            busy.begin();
            body();
            busy.rollback();
        };
        direct_.exec("INSERT INTO rows_of VALUES ('two', $1)", {round});
        insert(one);
        while_busy(one, [&] { remove(two); });
        direct_.exec("INSERT INTO rows_of VALUES ('two', $1)", {round});
        while_busy(two, [&] { insert(one); });
        remove(two);
        // Inside a transaction a statement that the server does not know fails, and does nothing.
        Connection three(pooled());
        try {
            insert(three);
            while_busy(three, [&] { remove(two); });
            three.with_transaction([&] { insert(three); });
        } catch (const Error& error) {
            EXPECT_TRUE(error.sqlstate() == "26000" || error.sqlstate() == "42P05") << error.what();
            EXPECT_TRUE(error.infrastructure());
            three.with_transaction([&] { insert(three); });
            ++refused;
        }
        const Result counts = direct_.exec(
            "SELECT count(*) FILTER (WHERE who = 'one'), count(*) FILTER (WHERE who = 'two') FROM "
            "rows_of WHERE n = $1",
            {round});
        EXPECT_EQ(counts.get<int>(0, 0), 4) << round;
        EXPECT_EQ(counts.get<int>(0, 1), 0) << round;
    }
    RecordProperty("refused_in_a_transaction", refused);
}

// TX-20
TEST_F(ClientPooler, StopsPreparingWhereTheServerDoesNotKnowTheStatement) {
    const std::string text = "SELECT pg_backend_pid() + $1";
    Connection connection(pooled());
    const int known = connection.exec(text, {0}).get<int>(0, 0);
    // Other clients keep both servers busy, and then only the one that knows the statement.
    auto unprepared = pooled();
    unprepared.prepare = false;
    Connection others[] = {Connection(unprepared), Connection(unprepared)};
    for (auto& other : others) {
        other.begin();
    }
    for (auto& other : others) {
        if (other.exec("SELECT pg_backend_pid()").get<int>(0, 0) != known) {
            other.rollback();
        }
    }
    EXPECT_NE(connection.exec(text, {0}).get<int>(0, 0), known);
    const auto before = connection.round_trips();
    connection.exec(text, {0});
    EXPECT_EQ(connection.exec("SELECT $1 - 1", {5}).get<int>(0, 0), 4);
    EXPECT_EQ(connection.round_trips() - before, 2u) << "it still prepares";
}

// TX-22: nothing that the pooler does is a failed attempt of a handler.
TEST_F(ClientPooler, AWorkerDoesNotCountItsErrorsAsAttempts) {
    direct_.exec("CREATE TABLE rows_of (who text, n integer)");
    const int count = 200;
    std::vector<NewWorkItem> items;
    for (int id = 1; id <= count; ++id) {
        items.push_back(
            {.work_item = R"({"ActivityExecute":{"instance":"i","execution_id":1,"id":)" +
                          std::to_string(id) + R"(,"name":"Work","input":""}})"});
    }
    Hub hub(direct_, "app");
    hub.provider().enqueue_worker_items(items);
    std::atomic<int> failed = 0;
    std::atomic<int> retried = 0;
    Worker worker({.connection = pooled(),
                   .hub = "app",
                   .concurrency = 4,
                   .connections = 3,
                   .wait_timeout = Milliseconds(50),
                   .retry_delay = Milliseconds(1),
                   .max_attempts = 1,
                   .on_event = [&](const WorkerEvent& event) {
                       failed += event.kind == WorkerEvent::Kind::kFailed;
                       retried += event.kind == WorkerEvent::Kind::kRetried;
                   }});
    worker.on_activity("Work", [](Task& activity) {
        activity.complete_with(
            [&](Connection& own) {
                own.exec("INSERT INTO rows_of VALUES ('first', $1)", {activity.activity_id()});
                own.exec("UPDATE rows_of SET who = 'second' WHERE n = $1",
                         {activity.activity_id()});
            },
            "done");
        return settled();
    });
    Running running(worker);
    EXPECT_TRUE(
        wait_until([&] { return hub.provider().list_work_items(Json::object(), {}, 1).empty(); }));
    running.end();
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(direct_.exec("SELECT count(*) FROM rows_of WHERE who = 'second'").get<int>(0, 0),
              count);
    EXPECT_EQ(direct_
                  .exec("SELECT count(*) FROM app.messages WHERE work_item::jsonb ? "
                        "'ActivityCompleted'")
                  .get<int>(0, 0),
              count);
    RecordProperty("retried", retried);
}

}  // namespace
}  // namespace belay::test
