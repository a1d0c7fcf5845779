// A worker of a whole family: on one server, and on two.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "belay/family.hpp"
#include "belay/tasks.hpp"
#include "belay/worker.hpp"
#include "server.hpp"

namespace belay::test {
namespace {

using Kind = WorkerEvent::Kind;

const std::string kActivity =
    R"({"ActivityExecute":{"instance":"i","execution_id":1,"id":1,"name":"Work","input":""}})";

// What a worker of a family has done, as its handlers and hooks see it.
class Work {
 public:
    void done(const Task& task) {
        const std::lock_guard lock(mutex_);
        ++handled_[task.hub()];
        order_.push_back(task.hub());
    }
    void operator()(const WorkerEvent& event) {
        const std::lock_guard lock(mutex_);
        if (event.kind == Kind::kError) {
            errors_.push_back(event.hub + ": " + event.message);
        } else if (event.kind == Kind::kCompleted) {
            ++completed_[event.task->id().text()];
        } else if (event.kind == Kind::kCancelled) {
            ++cancelled_;
        }
    }

    int handled(const std::string& hub) {
        const std::lock_guard lock(mutex_);
        return handled_[hub];
    }
    std::size_t hubs() {
        const std::lock_guard lock(mutex_);
        return handled_.size();
    }
    int total() {
        const std::lock_guard lock(mutex_);
        return static_cast<int>(order_.size());
    }
    std::vector<std::string> order() {
        const std::lock_guard lock(mutex_);
        return order_;
    }
    int cancelled() {
        const std::lock_guard lock(mutex_);
        return cancelled_;
    }
    // No task was completed twice.
    int completed() {
        const std::lock_guard lock(mutex_);
        for (const auto& [id, times] : completed_) {
            EXPECT_EQ(times, 1) << id;
        }
        return static_cast<int>(completed_.size());
    }
    int errors_of(const std::string& hub) {
        const std::lock_guard lock(mutex_);
        return static_cast<int>(std::ranges::count_if(
            errors_, [&](const std::string& error) { return error.starts_with(hub + ": "); }));
    }
    std::string errors() {
        const std::lock_guard lock(mutex_);
        std::string all;
        for (const auto& error : errors_) {
            all += error + "\n";
        }
        return all;
    }

 private:
    std::mutex mutex_;
    std::map<std::string, int> handled_;
    std::vector<std::string> order_;
    std::map<std::string, int> completed_;
    std::vector<std::string> errors_;
    int cancelled_ = 0;
};

WorkerOptions options_of(Cluster& server, int hubs, Work& work) {
    WorkerOptions given;
    given.connection = {.conninfo = server.conninfo()};
    given.family = Family("fam", hubs);
    given.concurrency = 4;
    given.connections = 2;
    given.retry_delay = Milliseconds(50);
    given.on_event = [&work](const WorkerEvent& event) { work(event); };
    return given;
}

std::string send(const std::string& hub, int count = 1, const std::string& queue = "mail") {
    return "SELECT count(" + hub + ".send('" + queue + "', to_jsonb(n))) FROM generate_series(1, " +
           std::to_string(count) + ") AS n";
}

std::string completed_in(const std::string& hub) {
    return "SELECT count(*) FROM " + hub + ".task_states WHERE state = 'completed'";
}

// ---- One server. ----

class ClientFamilyWorker : public ::testing::Test {
 protected:
    static constexpr int kHubs = 8;

    static void SetUpTestSuite() {
        server = std::make_unique<Cluster>(Cluster::Options{.preload = true});
        Conn conn = server->connect();
        conn.exec("CREATE EXTENSION belay");
        conn.exec("CALL belay.create_hub_family('fam', " + std::to_string(kHubs) + ")");
    }
    static void TearDownTestSuite() { server.reset(); }
    void TearDown() override {
        Conn conn = server->connect();
        for (const auto& hub : Family("fam", kHubs).hubs()) {
            conn.exec("SELECT " + hub + ".cancel(task_id) FROM " + hub +
                      ".task_states WHERE lifecycle_phase <> 'terminal'");
            conn.exec("SELECT " + hub + ".delete_task(task_id) FROM " + hub + ".task_states");
        }
    }

    static inline std::unique_ptr<Cluster> server;
    Work work;
};

// SO-60: a worker of a family serves all of its hubs, and a task says which one it is from.
TEST_F(ClientFamilyWorker, ServesAllHubs) {
    Conn conn = server->connect();
    conn.exec(send("fam_003", 5));
    Worker worker(options_of(*server, kHubs, work));
    worker.on("mail", [&](Task& task) {
        work.done(task);
        return completed();
    });
    worker.on_activity("Work", [&](Task& task) {
        work.done(task);
        return completed();
    });
    Running running(worker);
    EXPECT_TRUE(wait_until([&] { return work.handled("fam_003") == 5; }));
    // One after another: each hub wakes the same session.
    for (const auto& hub : Family("fam", kHubs).hubs()) {
        const int before = work.total();
        conn.exec(send(hub));
        EXPECT_TRUE(wait_until([&] { return work.total() == before + 1; })) << hub;
    }
    conn.exec("SELECT fam_006.enqueue_worker_work('" + kActivity + "')");
    EXPECT_TRUE(wait_until([&] { return work.handled("fam_006") == 2; }));
    running.end();
    EXPECT_EQ(work.completed(), 5 + kHubs + 1);
    EXPECT_EQ(work.errors(), "");
    for (const auto& hub : Family("fam", kHubs).hubs()) {
        EXPECT_EQ(conn.value("SELECT count(*) FROM " + hub + ".task_states WHERE state = 'active'"),
                  "0");
    }
}

// SO-60: concurrency and connections are those of the worker: an idle one has one connection that
// waits and one that extends leases, however many hubs there are.
TEST_F(ClientFamilyWorker, NeedsOneConnectionToWait) {
    WorkerOptions given = options_of(*server, kHubs, work);
    given.connection.conninfo += " application_name=family_worker";
    Worker worker(given);
    worker.on("mail", [&](Task& task) {
        work.done(task);
        return completed();
    });
    Running running(worker);
    Conn conn = server->connect();
    conn.exec(send("fam_000"));
    EXPECT_TRUE(wait_until([&] { return work.total() == 1; }));
    const std::string own = "FROM pg_stat_activity WHERE application_name = 'family_worker'";
    EXPECT_TRUE(wait_until([&] {
        return conn.value("SELECT count(*) " + own +
                          " AND query LIKE 'CALL %' AND state = 'active'") == "1";
    }));
    // Of a pool of two for outcomes, and the one that waits.
    EXPECT_LE(std::stoi(conn.value("SELECT count(*) " + own)), 4);
    // It sleeps: no statement begins while there is nothing to do.
    const std::string started = "SELECT max(query_start) " + own;
    EXPECT_TRUE(wait_until([&] {
        const std::string before = conn.value(started);
        std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        return conn.value(started) == before;
    }));
}

// SO-61: a hub with much work leaves handlers to the others.
TEST_F(ClientFamilyWorker, HubsTakeTurns) {
    Conn conn = server->connect();
    conn.exec(send("fam_000", 4000));
    Worker worker(options_of(*server, kHubs, work));
    worker.on("mail", [&](Task& task) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        work.done(task);
        return completed();
    });
    Running running(worker);
    ASSERT_TRUE(wait_until([&] { return work.total() > 20; }));
    // Both at once, while every handler is busy.
    conn.exec(send("fam_001", 20) + "; " + send("fam_005", 20));
    const int before = work.handled("fam_000");
    EXPECT_TRUE(
        wait_until([&] { return work.handled("fam_001") == 20 && work.handled("fam_005") == 20; }));
    EXPECT_GT(work.handled("fam_000"), before);
    EXPECT_LT(work.handled("fam_000"), 4000);
}

// SO-60: a cancellation reaches the handler of a task of any hub.
TEST_F(ClientFamilyWorker, CancellationsReachHandlers) {
    Worker worker(options_of(*server, kHubs, work));
    std::atomic<int> stopped = 0;
    std::atomic<int> running_handlers = 0;
    worker.on("mail", [&](Task& task) {
        ++running_handlers;
        stopped += wait_for_stop(task.stop_token()) ? 1 : 0;
        return completed();
    });
    Running running(worker);
    Conn conn = server->connect();
    conn.exec(send("fam_002") + "; " + send("fam_007"));
    ASSERT_TRUE(wait_until([&] { return running_handlers == 2; }));
    conn.exec("SELECT fam_007.cancel(task_id) FROM fam_007.task_states");
    EXPECT_TRUE(wait_until([&] { return stopped == 1; }, std::chrono::seconds(5)));
    conn.exec("SELECT fam_002.cancel(task_id) FROM fam_002.task_states");
    EXPECT_TRUE(wait_until([&] { return work.cancelled() == 2; }));
}

// SO-62: a hub that is not there is reported once, with its name, and served when it comes.
TEST_F(ClientFamilyWorker, AHubThatIsNotThereDoesNotStopTheOthers) {
    Conn conn = server->connect();
    Worker worker(options_of(*server, kHubs + 1, work));
    worker.on("mail", [&](Task& task) {
        work.done(task);
        return completed();
    });
    Running running(worker);
    EXPECT_TRUE(wait_until([&] { return work.errors_of("fam_008") == 1; }));
    conn.exec(send("fam_004"));
    EXPECT_TRUE(wait_until([&] { return work.handled("fam_004") == 1; }));
    conn.exec("SELECT belay.create_hub('fam_008')");
    conn.exec(send("fam_008"));
    EXPECT_TRUE(wait_until([&] { return work.handled("fam_008") == 1; }));
    // Dropped while the worker waits for it.
    ASSERT_TRUE(wait_until([&] { return conn.value(completed_in("fam_008")) == "1"; }));
    conn.exec("SELECT belay.drop_hub('fam_008', true)");
    EXPECT_TRUE(wait_until([&] { return work.errors_of("fam_008") == 2; })) << work.errors();
    conn.exec(send("fam_004"));
    EXPECT_TRUE(wait_until([&] { return work.handled("fam_004") == 2; }));
    EXPECT_EQ(work.errors_of(""), 0) << work.errors();
}

// SO-62: so is a hub in which the worker's role may not work.
TEST_F(ClientFamilyWorker, AHubWithoutRightsDoesNotStopTheOthers) {
    Conn conn = server->connect();
    conn.exec("CREATE ROLE regress_family LOGIN");
    for (const auto& hub : Family("fam", kHubs).hubs()) {
        if (hub != "fam_000") {
            conn.exec("SELECT belay.grant_hub('" + hub + "', 'regress_family', 'worker')");
        }
    }
    WorkerOptions given = options_of(*server, kHubs, work);
    given.connection.conninfo += " user=regress_family";
    Worker worker(given);
    worker.on("mail", [&](Task& task) {
        work.done(task);
        return completed();
    });
    Running running(worker);
    EXPECT_TRUE(wait_until([&] { return work.errors_of("fam_000") >= 1; }));
    conn.exec(send("fam_000") + "; " + send("fam_001"));
    EXPECT_TRUE(wait_until([&] { return work.handled("fam_001") == 1; }));
    conn.exec("SELECT belay.grant_hub('fam_000', 'regress_family', 'worker')");
    EXPECT_TRUE(wait_until([&] { return work.handled("fam_000") == 1; }));
    running.end();
    for (const auto& hub : Family("fam", kHubs).hubs()) {
        conn.exec("SELECT belay.revoke_hub('" + hub + "', 'regress_family', 'worker')");
    }
    conn.exec("DROP OWNED BY regress_family; DROP ROLE regress_family");
}

// SO-63: stop() lets running handlers finish, of all hubs, and leaves no lease.
TEST_F(ClientFamilyWorker, StopDrainsAllHubs) {
    Conn conn = server->connect();
    for (const auto& hub : Family("fam", kHubs).hubs()) {
        conn.exec(send(hub, 50));
    }
    Worker worker(options_of(*server, kHubs, work));
    worker.on("mail", [&](Task& task) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        work.done(task);
        return completed();
    });
    {
        Running running(worker);
        ASSERT_TRUE(wait_until([&] { return work.total() > 20; }));
    }
    int settled = 0;
    for (const auto& hub : Family("fam", kHubs).hubs()) {
        EXPECT_EQ(conn.value("SELECT count(*) FROM " + hub + ".task_states WHERE state = 'active'"),
                  "0");
        settled += std::stoi(conn.value(completed_in(hub)));
    }
    EXPECT_EQ(settled, work.total());
    EXPECT_EQ(work.completed(), work.total());
    EXPECT_GT(worker.round_trips(), 0U);
}

// SO-60: what a worker is given.
TEST_F(ClientFamilyWorker, NeedsAHubOrAFamily) {
    WorkerOptions both = options_of(*server, kHubs, work);
    both.hub = "fam_000";
    EXPECT_THROW(Worker{both}, Error);
    EXPECT_THROW(Worker{WorkerOptions{}}, Error);
    WorkerOptions nowhere = options_of(*server, kHubs, work);
    nowhere.connection.conninfo = "host=/nowhere";
    Worker worker(nowhere);
    worker.on("mail", [](Task&) { return completed(); });
    EXPECT_THROW(worker.run(), Error);
}

// ---- Two plain servers. ----

class ClientFamilyMoves : public ::testing::Test {
 protected:
    static constexpr int kHubs = 4;

    void SetUp() override {
        for (auto* server : {&first, &second}) {
            *server =
                std::make_unique<Cluster>(Cluster::Options{.preload = true, .own_identity = true});
            (*server)->connect().exec("CREATE EXTENSION belay");
        }
        for (auto* server : {first.get(), second.get()}) {
            server->connect().exec("CALL belay.create_hub_family('fam', 4, p_servers => ARRAY['" +
                                   place(*first, ':') + "', '" + place(*second, ':') +
                                   "'], p_here => '" + place(*server, ':') + "')");
        }
    }

    static std::string place(Cluster& server, char separator) {
        const Connection there({.conninfo = server.conninfo()});
        return std::string(PQhost(there.raw())) + separator + PQport(there.raw());
    }
    static void set_place(Cluster& server, const std::string& hub, Cluster& to) {
        const Connection there({.conninfo = to.conninfo()});
        server.connect().exec("SELECT belay.set_hub_place('" + hub + "', '" +
                              std::string(PQhost(there.raw())) + "', " + PQport(there.raw()) + ")");
    }
    // As docs/scale-out.md has it.
    static void move(const std::string& hub, Cluster& from, Cluster& to) {
        set_place(from, hub, to);
        const std::string dump = from.file(hub + ".sql");
        from.run({"pg_dump", "-n", hub.c_str(), "-f", dump});
        to.run({"psql", "-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-f", dump});
        to.connect().exec("SELECT belay.remove_hub_place('" + hub + "')");
        from.connect().exec("SELECT belay.drop_hub('" + hub + "')");
    }

    std::unique_ptr<Cluster> first;
    std::unique_ptr<Cluster> second;
    Work work;
};

// SO-64: the worker knows one server, and works on both; it follows a hub that moves, and no task
// is lost.
TEST_F(ClientFamilyMoves, AWorkerFollows) {
    Worker worker(options_of(*first, kHubs, work));
    Turnstile turnstile;
    turnstile.open();
    worker.on("mail", [&](Task& task) {
        turnstile.pass();
        work.done(task);
        return completed();
    });
    Running running(worker, &turnstile);
    first->connect().exec(send("fam_000", 10) + "; " + send("fam_002", 10));
    second->connect().exec(send("fam_001", 10) + "; " + send("fam_003", 10));
    ASSERT_TRUE(wait_until([&] { return work.completed() == 40; })) << work.errors();
    // To the second server, with work in hand and work that waits.
    turnstile.allow(turnstile.arrived() + 5);
    first->connect().exec(send("fam_002", 30));
    ASSERT_TRUE(wait_until([&] { return work.handled("fam_002") == 15; }));
    move("fam_002", *first, *second);
    turnstile.open();
    EXPECT_TRUE(wait_until([&] {
        return second->connect().value(completed_in("fam_002")) == "40";
    })) << work.errors();
    // And back, while the worker sleeps; the others are served all the time.
    set_place(*second, "fam_002", *first);
    second->connect().exec(send("fam_001", 3));
    EXPECT_TRUE(wait_until([&] { return work.handled("fam_001") == 13; }));
    second->connect().exec("SELECT belay.remove_hub_place('fam_002')");
    move("fam_002", *second, *first);
    first->connect().exec(send("fam_002", 5));
    EXPECT_TRUE(wait_until([&] { return first->connect().value(completed_in("fam_002")) == "45"; }))
        << work.errors();
}

// SO-64: a server that has lost a hub, and does not know where it went, does not keep the worker
// from asking the first one, though that one's hubs have no work.
TEST_F(ClientFamilyMoves, TheFirstServerIsAskedForAHubThatIsGone) {
    Worker worker(options_of(*first, kHubs, work));
    worker.on("mail", [&](Task& task) {
        work.done(task);
        return completed();
    });
    Running running(worker);
    second->connect().exec(send("fam_001"));
    ASSERT_TRUE(wait_until([&] { return work.completed() == 1; })) << work.errors();
    const std::string dump = second->file("fam_001.sql");
    second->run({"pg_dump", "-n", "fam_001", "-f", dump});
    second->connect().exec("SELECT belay.drop_hub('fam_001', true)");
    first->run({"psql", "-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-f", dump});
    first->connect().exec("SELECT belay.remove_hub_place('fam_001')");
    first->connect().exec(send("fam_001"));
    EXPECT_TRUE(wait_until([&] { return work.handled("fam_001") == 2; }, std::chrono::seconds(20)))
        << work.errors();
}

// SO-62: a server that is away does not keep the hubs of the other from being served. What its
// handlers have ended is settled when it is back.
TEST_F(ClientFamilyMoves, AServerThatIsAwayDoesNotStopTheOther) {
    WorkerOptions given = options_of(*first, kHubs, work);
    given.connections = 1;
    Worker worker(given);
    Turnstile turnstile;
    worker.on("slow", [&](Task& task) {
        turnstile.pass();
        work.done(task);
        return completed();
    });
    worker.on("mail", [&](Task& task) {
        work.done(task);
        return completed();
    });
    Running running(worker, &turnstile);
    second->connect().exec(send("fam_001", 2, "slow"));
    ASSERT_TRUE(wait_until([&] { return turnstile.arrived() == 2; }));
    second->stop();
    turnstile.open();
    EXPECT_TRUE(wait_until([&] { return work.handled("fam_001") == 2; }));
    for (int i = 1; i <= 20; ++i) {
        first->connect().exec(send(i % 2 == 0 ? "fam_000" : "fam_002"));
        ASSERT_TRUE(wait_until([&] { return work.total() == 2 + i; }, std::chrono::seconds(5)));
    }
    EXPECT_TRUE(wait_until([&] { return work.completed() == 20; }));
    EXPECT_GE(work.errors_of(""), 1);
    second->start();
    EXPECT_TRUE(wait_until([&] { return work.completed() == 22; })) << work.errors();
    second->connect().exec(send("fam_003"));
    EXPECT_TRUE(wait_until([&] { return work.handled("fam_003") == 1; }));
    EXPECT_EQ(second->connect().value(completed_in("fam_001")), "2");
}

}  // namespace
}  // namespace belay::test
