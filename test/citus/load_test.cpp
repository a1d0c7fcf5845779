// Moves under load: what clients saw committed is there, once.
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "nodes.hpp"

namespace belay::test {
namespace {

bool is_long() {
    const char* word = std::getenv("BELAY_LONG");
    return word != nullptr && std::string(word) == "1";
}

int moves_per_mode() {
    return is_long() ? 10 : 2;
}

// Clients that work until they are told to stop. Each keeps what it saw committed.
class Load {
 public:
    explicit Load(Nodes& nodes) : nodes_(nodes) {}
    ~Load() { stop(); }

    // work(follower, client, number) returns what was committed, "" for nothing, "!…" for an error.
    template <typename Work>
    void start(int clients, Work work) {
        for (int client = 0; client < clients; ++client) {
            threads_.emplace_back([this, client, work] {
                Follower follower(nodes_);
                for (int number = 0; !stopped_; ++number) {
                    const std::string done = work(follower, client, number);
                    if (!is_long()) {
                        // A move copies what is there: a few thousand rows are enough.
                        std::this_thread::sleep_for(std::chrono::milliseconds(2));
                    }
                    const std::lock_guard lock(mutex_);
                    if (!done.empty() && done[0] == '!') {
                        errors_.push_back(done);
                    } else if (!done.empty()) {
                        ++committed_[done];
                    }
                }
                hops_ += follower.hops();
            });
        }
    }

    void stop() {
        stopped_ = true;
        for (auto& thread : threads_) {
            thread.join();
        }
        threads_.clear();
    }

    std::size_t count() {
        const std::lock_guard lock(mutex_);
        return committed_.size();
    }
    const std::map<std::string, int>& committed() const { return committed_; }
    const std::vector<std::string>& errors() const { return errors_; }
    int hops() const { return hops_; }

 private:
    Nodes& nodes_;
    std::vector<std::thread> threads_;
    std::atomic<bool> stopped_ = false;
    std::atomic<int> hops_ = 0;
    std::mutex mutex_;
    std::map<std::string, int> committed_;
    std::vector<std::string> errors_;
};

void let_work(Load& load, std::size_t more) {
    const std::size_t before = load.count();
    for (int i = 0; i < 3000 && load.count() < before + more; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

void expect_no_errors(const Load& load) {
    std::set<std::string> told(load.errors().begin(), load.errors().end());
    for (const std::string& error : told) {
        ADD_FAILURE() << error;
    }
}

void move_in_each_mode(Nodes& nodes, Server** at, Load& load) {
    for (const std::string mode : {"auto", "force_logical", "block_writes"}) {
        for (int i = 0; i < moves_per_mode(); ++i) {
            *at = &nodes.other(**at);
            nodes.move(**at, mode);
            let_work(load, 100);
        }
    }
}

std::string name_of(int client, int number) {
    return std::to_string(client) + "." + std::to_string(number);
}

// The answer of a statement that was to commit something under a name.
std::string committed_as(const std::string& name, const std::string& answer) {
    return answer.empty() || answer[0] != '!' ? name : answer;
}

std::string enqueue_numbered(Follower& follower, int client, int number) {
    const std::string name = name_of(client, number);
    return committed_as(name, follower.run(enqueue(name)));
}

// SO-43: 4 sessions enqueue while the hub moves, in each mode.
TEST(CitusLoad, MovesLoseNothing) {
    Nodes nodes;
    nodes.make_app();
    Server* at = &nodes.first;
    Load load(nodes);
    load.start(4, enqueue_numbered);
    let_work(load, 200);
    for (const std::string mode : {"auto", "force_logical", "block_writes"}) {
        for (int i = 0; i < moves_per_mode(); ++i) {
            at = &nodes.other(*at);
            nodes.move(*at, mode);
            let_work(load, 200);
        }
    }
    load.stop();
    expect_no_errors(load);
    EXPECT_GE(load.hops(), 4);
    const Rows rows = at->connect().exec(
        "SELECT work_item::jsonb -> 'ActivityExecute' ->> 'name' FROM app.worker_queue");
    std::map<std::string, int> found;
    for (int row = 0; row < rows.size(); ++row) {
        ++found[*rows.at(row, 0)];
    }
    std::printf("%zu items committed, %zu found, %d moves, %d redirects\n", load.committed().size(),
                found.size(), 3 * moves_per_mode(), load.hops());
    EXPECT_EQ(load.committed().size(), found.size());
    EXPECT_TRUE(load.committed() == found);
}

// SO-43: items are fetched and acked, tasks claimed and completed, while the hub moves: each that
// was settled was settled once, and nothing remains that was.
TEST(CitusLoad, MovesSettleNothingTwice) {
    Nodes nodes;
    nodes.make_app();
    Server* at = &nodes.first;
    Load sent(nodes);
    Load settled(nodes);
    sent.start(2, [](Follower& follower, int client, int number) {
        const std::string name = name_of(client, number);
        return committed_as(name, follower.run("SELECT app.send('mail', '\"" + name + "\"')"));
    });
    settled.start(3, [](Follower& follower, int, int) -> std::string {
        // One transaction: what was received is settled, or nothing has happened.
        const std::string answer = follower.run(
            "SELECT r.payload #>> '{}' FROM app.receive('mail') AS r, "
            "LATERAL app.complete(r.lease) AS c");
        return answer;
    });
    let_work(settled, 100);
    move_in_each_mode(nodes, &at, settled);
    sent.stop();
    settled.stop();
    expect_no_errors(sent);
    expect_no_errors(settled);
    for (const auto& [name, times] : settled.committed()) {
        EXPECT_EQ(times, 1) << name;
        EXPECT_EQ(sent.committed().count(name), 1u) << name;
    }
    Conn conn = at->connect();
    const Rows left =
        conn.exec("SELECT payload #>> '{}', state FROM app.tasks WHERE state NOT IN ('completed')");
    for (int row = 0; row < left.size(); ++row) {
        EXPECT_EQ(settled.committed().count(*left.at(row, 0)), 0u) << *left.at(row, 0);
    }
    EXPECT_EQ(conn.value("SELECT count(*) FROM app.tasks"),
              std::to_string(sent.committed().size()));
    std::printf("%zu tasks sent, %zu settled, %d left, %d moves\n", sent.committed().size(),
                settled.committed().size(), left.size(), 3 * moves_per_mode());
    EXPECT_EQ(sent.committed().size(),
              settled.committed().size() + static_cast<std::size_t>(left.size()));
}

// SO-16, SO-43: items are fetched, and acked in another transaction, while the hub moves. What was
// acked does not come again; what was not comes again at once, because its lease has ended.
TEST(CitusLoad, MovesKeepWorkItems) {
    Nodes nodes;
    nodes.make_app();
    Server* at = &nodes.first;
    Load sent(nodes);
    Load acked(nodes);
    const auto cycle = [](Follower& follower, int, int) -> std::string {
        const std::string fetched = follower.run(
            "SELECT lock_token || ' ' || (work_item::jsonb -> 'ActivityExecute' ->> 'name') FROM "
            "app.fetch_work_item(3600000)");
        if (fetched.empty() || fetched[0] == '!') {
            return fetched;
        }
        const auto space = fetched.rfind(' ');
        const std::string answer =
            follower.run("SELECT app.ack_worker('" + fetched.substr(0, space) + "')");
        return answer.rfind("!QB001", 0) == 0 ? ""
                                              : committed_as(fetched.substr(space + 1), answer);
    };
    sent.start(2, enqueue_numbered);
    acked.start(3, cycle);
    let_work(acked, 100);
    move_in_each_mode(nodes, &at, acked);
    sent.stop();
    // What is left, and then nothing.
    Conn conn = at->connect();
    EXPECT_TRUE(becomes(conn, "SELECT count(*) FROM app.worker_queue", "0"));
    acked.stop();
    expect_no_errors(sent);
    expect_no_errors(acked);
    std::printf("%zu items sent, %zu acked, %d moves\n", sent.committed().size(),
                acked.committed().size(), 3 * moves_per_mode());
    EXPECT_TRUE(acked.committed() == sent.committed());
}

// SO-43: instances are started, and turns end them, while the hub moves.
TEST(CitusLoad, MovesKeepTurns) {
    Nodes nodes;
    nodes.make_app();
    Server* at = &nodes.first;
    Load started(nodes);
    Load ended(nodes);
    started.start(2, [](Follower& follower, int client, int number) {
        const std::string name = name_of(client, number);
        return committed_as(
            name, follower.run("SELECT app.start_orchestration('O', '', '" + name + "', '1')"));
    });
    ended.start(3, [](Follower& follower, int, int) {
        return follower.run(
            "SELECT f.instance_id FROM app.fetch_orchestration_item(60000) AS f, LATERAL "
            "app.ack_orchestration_item(f.lock_token, f.execution_id, "
            "'[{\"event_id\":1,\"event_data\":\"{}\"}]', '[]', '[]', "
            "'{\"orchestration_name\":\"O\",\"orchestration_version\":\"1\","
            "\"status\":\"Completed\"}') AS a");
    });
    let_work(ended, 100);
    move_in_each_mode(nodes, &at, ended);
    started.stop();
    Conn conn = at->connect();
    EXPECT_TRUE(becomes(conn, "SELECT count(*) FROM app.orchestrator_queue", "0"));
    ended.stop();
    expect_no_errors(started);
    expect_no_errors(ended);
    std::printf("%zu instances started, %zu ended, %d moves\n", started.committed().size(),
                ended.committed().size(), 3 * moves_per_mode());
    EXPECT_TRUE(ended.committed() == started.committed());
    EXPECT_EQ(conn.value("SELECT count(*) FROM app.executions WHERE status = 'Completed' AND "
                         "event_count = 1"),
              std::to_string(started.committed().size()));
}

// SO-41: it goes to a node and comes back while sessions enqueue and the background workers run;
// each time as a whole, or not at all.
TEST(CitusLoad, DistributesAsAWhole) {
    Nodes nodes({"belay.reconcile_interval = 10ms"});
    Conn conn = nodes.coordinator.connect();
    conn.exec("SELECT belay.create_hub('app')");
    std::map<std::string, int> committed;
    std::set<std::string> errors;
    std::mutex mutex;
    std::atomic<bool> stopped = false;
    std::vector<std::thread> clients;
    for (int client = 0; client < 2; ++client) {
        clients.emplace_back([&, client] {
            Follower follower(nodes);
            for (int number = 0; !stopped; ++number) {
                const std::string name = enqueue_numbered(follower, client, number);
                const std::lock_guard lock(mutex);
                if (name[0] != '!') {
                    ++committed[name];
                } else {
                    errors.insert(name);
                }
            }
        });
    }
    const int rounds = is_long() ? 20 : 4;
    int done = 0;
    int refused = 0;
    while (done < rounds && refused < rounds) {
        const std::string error =
            conn.error_of(done % 2 == 0 ? "SELECT belay.distribute_hub('app')"
                                        : "SELECT belay.undistribute_hub('app')");
        EXPECT_EQ(conn.value("SELECT count(DISTINCT p.colocationid) <= 1 AND count(p.logicalrelid) "
                             "IN (0, count(*)) FROM pg_class AS c LEFT JOIN pg_dist_partition AS p "
                             "ON p.logicalrelid = c.oid WHERE c.relkind = 'r' AND c.relnamespace = "
                             "'app'::regnamespace"),
                  "t");
        if (error.empty()) {
            ++done;
            continue;
        }
        ++refused;
        EXPECT_TRUE(error == "55P03" || error == "40P01") << error;
    }
    EXPECT_EQ(done, rounds);
    stopped = true;
    for (auto& client : clients) {
        client.join();
    }
    for (const std::string& error : errors) {
        EXPECT_TRUE(error.starts_with("!40P01") || error.starts_with("!40001")) << error;
    }
    const Rows rows =
        conn.exec("SELECT work_item::jsonb -> 'ActivityExecute' ->> 'name' FROM app.worker_queue");
    std::map<std::string, int> found;
    for (int row = 0; row < rows.size(); ++row) {
        ++found[*rows.at(row, 0)];
    }
    std::printf("%zu items committed, %zu found, %d refused\n", committed.size(), found.size(),
                refused);
    EXPECT_TRUE(committed == found);
}

// SO-44: rows of the application's tables in the hub's schema and on other nodes commit with the
// hub's, or not at all.
TEST(CitusLoad, OneTransactionWithTheApplication) {
    Nodes nodes;
    nodes.make_app();
    Conn conn = nodes.coordinator.connect();
    conn.exec("CREATE TABLE app.orders (id integer PRIMARY KEY)");
    conn.exec("CREATE TABLE far (id integer PRIMARY KEY)");
    conn.exec("SELECT create_distributed_table('far', 'id', shard_count => 4)");
    Conn here = nodes.first.connect();
    const std::string body =
        "INSERT INTO app.orders VALUES (1); INSERT INTO far SELECT generate_series(1, 20); "
        "SELECT app.send('mail');";
    here.exec("BEGIN; " + body + " ROLLBACK");
    EXPECT_EQ(here.value("SELECT count(*) FROM app.orders"), "0");
    EXPECT_EQ(here.value("SELECT count(*) FROM app.receive('mail')"), "0");
    here.exec("BEGIN; " + body + " COMMIT");
    EXPECT_EQ(here.value("SELECT count(*) FROM far"), "20");
    nodes.move(nodes.second, "block_writes");
    Conn there = nodes.second.connect();
    EXPECT_EQ(there.value("SELECT count(*) FROM app.orders"), "1");
    EXPECT_EQ(there.error_of("BEGIN; INSERT INTO app.orders VALUES (2); SELECT app.send('mail'); "
                             "INSERT INTO far VALUES (1); COMMIT"),
              "23505");
    there.exec("ROLLBACK");
    EXPECT_EQ(there.value("SELECT count(*) FROM app.receive('mail', max => 10)"), "1");
}

}  // namespace
}  // namespace belay::test
