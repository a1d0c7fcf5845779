// A server with a hub `app`, shared by the tests of one suite, and what tests of loops need.
#pragma once

#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#include "belay/connection.hpp"
#include "cluster.hpp"

namespace belay::test {

using Steady = std::chrono::steady_clock;

template <typename Ready>
bool wait_until(Ready ready, Steady::duration patience = std::chrono::seconds(60)) {
    const auto end = Steady::now() + patience;
    while (!ready()) {
        if (Steady::now() > end) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

// Waits, as a good handler does, until it is told to stop. False if it was not.
inline bool wait_for_stop(const std::stop_token& stop) {
    return wait_until([&] { return stop.stop_requested(); });
}

// Lets so many runs of handlers pass, in this process and in those that it forks; the others wait
// until more may. Work that has to last for as long as a test disturbs it passes one.
class Turnstile {
 public:
    Turnstile()
        : shared_(static_cast<Shared*>(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                                              MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
        if (shared_ == MAP_FAILED) {
            throw std::runtime_error("no shared memory");
        }
        new (shared_) Shared;
    }
    ~Turnstile() { ::munmap(shared_, sizeof(Shared)); }
    Turnstile(const Turnstile&) = delete;
    Turnstile& operator=(const Turnstile&) = delete;

    void pass() {
        const int mine = ++shared_->arrived;
        EXPECT_TRUE(wait_until([&] { return mine <= shared_->limit; }, std::chrono::minutes(10)));
    }
    void allow(int limit) { shared_->limit = limit; }
    void open() { allow(std::numeric_limits<int>::max()); }
    // With those that wait.
    int arrived() const { return shared_->arrived; }

 private:
    struct Shared {
        std::atomic<int> arrived = 0;
        std::atomic<int> limit = 0;
    };
    Shared* shared_;
};

// Runs a worker or dispatcher in a thread, for as long as the object lives. At its end handlers
// that wait at the turnstile may pass: a test whose assertion fails does not open it.
template <typename Loop>
struct Running {
    explicit Running(Loop& loop, Turnstile* turnstile = nullptr)
        : loop(loop), turnstile(turnstile), thread([&loop] { loop.run(); }) {}
    ~Running() {
        if (turnstile != nullptr) {
            turnstile->open();
        }
        end();
    }
    void end() {
        loop.stop();
        if (thread.joinable()) {
            thread.join();
        }
    }
    Loop& loop;
    Turnstile* turnstile;
    std::thread thread;
};

// A table `effects`, whose first writer loses its connection during the COMMIT: before the server
// has committed, or after.
class BrokenCommit {
 public:
    explicit BrokenCommit(const std::string& conninfo, bool commits)
        : commits_(commits), conn_(conninfo) {
        conn_.exec("CREATE TABLE effects (a bigint); CREATE SEQUENCE commits");
        conn_.exec(
            "CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            "IF nextval('commits') = 1 THEN " +
            std::string(commits ? "PERFORM pg_advisory_xact_lock(20);"
                                : "PERFORM pg_terminate_backend(pg_backend_pid());") +
            " END IF; RETURN NULL; END $$");
        conn_.exec(
            "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON effects DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION at_commit()");
        conn_.exec("SELECT pg_advisory_lock(20)");
    }
    ~BrokenCommit() {
        conn_.exec("DROP TABLE effects; DROP FUNCTION at_commit(); DROP SEQUENCE commits");
    }
    BrokenCommit(const BrokenCommit&) = delete;
    BrokenCommit& operator=(const BrokenCommit&) = delete;

    // For the body of a transaction.
    void write(Connection& own) {
        socket_ = PQsocket(own.raw());
        own.exec("INSERT INTO effects VALUES (1)");
    }

    // Breaks the connection: its answer to the COMMIT will not be read.
    void let_go() {
        if (commits_) {
            EXPECT_TRUE(wait_until([this] {
                return conn_.value(
                           "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND "
                           "NOT granted") == "1";
            }));
            ::shutdown(socket_, SHUT_RD);
        }
        conn_.exec("SELECT pg_advisory_unlock(20)");
    }

    int effects() { return std::stoi(conn_.value("SELECT count(*) FROM effects")); }

 private:
    bool commits_;
    Conn conn_;
    std::atomic<int> socket_ = -1;
};

class WithServer : public ::testing::Test {
 protected:
    static void SetUpTestSuite() {
        cluster = std::make_unique<Cluster>(Cluster::Options{.preload = true});
        cluster->connect().exec("CREATE EXTENSION belay");
    }
    static void TearDownTestSuite() { cluster.reset(); }

    // Each test has an empty hub.
    void SetUp() override { admin().exec("SELECT belay.create_hub('app')"); }
    void TearDown() override {
        // A duty of the background worker that began before may be in a deadlock with it.
        Conn conn = admin();
        std::string error = "40P01";
        for (int i = 0; i < 5 && error == "40P01"; ++i) {
            error = conn.error_of("SELECT belay.drop_hub('app', true)");
        }
        EXPECT_EQ(error, "");
    }

    static Conn admin() { return cluster->connect(); }
    static ConnectionOptions options() { return {.conninfo = cluster->conninfo()}; }

    // Ends the backend from outside, and waits until it is gone.
    static void kill_backend(int pid) {
        admin().exec("SELECT pg_terminate_backend(" + std::to_string(pid) + ", 10000)");
    }

    // Restarts the server twice while `count` jobs, whose handlers pass the turnstile, are under
    // way: at the second restart, too, some of them have not begun.
    static void restart_in_the_middle(Turnstile& turnstile, int count) {
        int restarts = 0;
        for (const char* mode : {"fast", "immediate"}) {
            const int before = turnstile.arrived();
            turnstile.allow(++restarts * count / 3);
            ASSERT_TRUE(wait_until([&] { return turnstile.arrived() >= before + 10; })) << mode;
            cluster->stop(mode);
            cluster->start();
        }
        turnstile.open();
    }

    static inline std::unique_ptr<Cluster> cluster;
};

}  // namespace belay::test
