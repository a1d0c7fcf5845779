// Moves in each mode while clients work and processes die: a session, a node, the coordinator.
#include <csignal>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "nodes.hpp"

namespace belay::test {
namespace {

using std::chrono::milliseconds;

bool is_long() {
    const char* word = std::getenv("BELAY_LONG");
    return word != nullptr && std::string(word) == "1";
}

// What came of one or more statements: a value, or an error with its SQLSTATE ("08006": the
// connection is gone, and the outcome unknown).
struct Came {
    std::string state;
    std::string value;
    std::string message;
};

// A client that goes where the hub is, and to another server if that one does not answer.
class Roamer {
 public:
    explicit Roamer(Nodes& nodes) : nodes_(nodes) {}

    Came run(const std::string& sql) {
        if (!conn_ && !connect()) {
            return {"08001", "", ""};
        }
        Came came;
        PQsendQuery(conn_->raw(), sql.c_str());
        while (PGresult* result = PQgetResult(conn_->raw())) {
            const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
            if (PQresultStatus(result) == PGRES_FATAL_ERROR) {
                came.state = state == nullptr ? "08006" : state;
                came.message = PQresultErrorMessage(result);
                const char* detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
                place_ = detail == nullptr ? "" : detail;
            } else if (PQntuples(result) > 0) {
                came.value = PQgetvalue(result, 0, 0);
            }
            PQclear(result);
        }
        if (PQstatus(conn_->raw()) != CONNECTION_OK) {
            came.state = "08006";
        }
        if (came.state == "QB017") {
            follow();
        } else if (came.state == "08006" || came.state.starts_with("57P")) {
            conn_.reset();
        } else if (!came.state.empty()) {
            PQclear(PQexec(conn_->raw(), "ROLLBACK"));
        }
        return came;
    }

 private:
    // To the next server in turn.
    bool connect() {
        Server* server = nodes_.all()[static_cast<std::size_t>(next_++ % 3)];
        return connect_to(*server);
    }
    bool connect_to(Server& server) {
        try {
            conn_ = std::make_unique<Conn>(server.connect());
        } catch (const std::runtime_error&) {
            conn_.reset();
            std::this_thread::sleep_for(milliseconds(50));
        }
        return conn_ != nullptr;
    }
    void follow() {
        for (Server* server : nodes_.all()) {
            if (place_.find("\"host\":\"" + server->host + "\"") != std::string::npos) {
                connect_to(*server);
                return;
            }
        }
        conn_.reset();
    }

    Nodes& nodes_;
    std::unique_ptr<Conn> conn_;
    std::string place_;
    int next_ = 0;
};

// Errors that a client meets while its hub moves and servers die; any other is one of belay's.
bool is_expected(const std::string& state) {
    static const std::set<std::string> kExpected = {"08006", "08001", "57P01", "57P02", "57P03",
                                                    "QB001", "QB017", "40P01", "40001", "55P03"};
    return kExpected.contains(state);
}

// What clients tried and what they saw committed.
struct Journal {
    std::mutex mutex;
    std::set<std::string> tried;
    std::set<std::string> sent;
    std::size_t acked = 0;
    std::map<std::string, int> errors;  // by SQLSTATE
    std::set<std::string> unexpected;

    void note(const Came& came) {
        if (!came.state.empty()) {
            ++errors[came.state];
            if (!is_expected(came.state)) {
                unexpected.insert(came.state + " " + came.message);
            }
        }
    }
};

void send(Nodes& nodes, Journal& journal, const std::atomic<bool>& stopped, int client) {
    Roamer roamer(nodes);
    for (int number = 0; !stopped; ++number) {
        const std::string name = std::to_string(client) + "." + std::to_string(number);
        {
            const std::lock_guard lock(journal.mutex);
            journal.tried.insert(name);
        }
        const Came came = roamer.run(enqueue(name));
        {
            const std::lock_guard lock(journal.mutex);
            journal.note(came);
            if (came.state.empty()) {
                journal.sent.insert(name);
            }
        }
        std::this_thread::sleep_for(milliseconds(5));
    }
}

// An item is fetched, and acked in another transaction together with a row of the application's: a
// row too many has passed a fence.
void work(Nodes& nodes, Journal& journal, const std::atomic<bool>& stopped) {
    Roamer roamer(nodes);
    while (!stopped) {
        const Came fetched = roamer.run(
            "SELECT lock_token || ' ' || (work_item::jsonb -> 'ActivityExecute' ->> 'name') FROM "
            "app.fetch_work_item(2000)");
        Came acked;
        if (fetched.state.empty() && !fetched.value.empty()) {
            const auto space = fetched.value.rfind(' ');
            acked = roamer.run("BEGIN; INSERT INTO app.done (name) VALUES ('" +
                               fetched.value.substr(space + 1) + "'); SELECT app.ack_worker('" +
                               fetched.value.substr(0, space) + "'); COMMIT");
        } else {
            std::this_thread::sleep_for(milliseconds(10));
        }
        const std::lock_guard lock(journal.mutex);
        journal.note(fetched);
        journal.note(acked);
        journal.acked += fetched.state.empty() && !fetched.value.empty() && acked.state.empty();
    }
}

void kill_session(Server& server) {
    Conn conn = server.connect();
    const Rows rows = conn.exec(
        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> "
        "pg_backend_pid() AND query LIKE '%app.%' ORDER BY backend_start LIMIT 1");
    if (rows.size() == 1) {
        ::kill(std::stoi(*rows.at(0, 0)), SIGKILL);
    }
    server.cluster.wait_ready();
}

void kill_server(Server& server) {
    server.cluster.kill9();
    server.cluster.start();
}

// The faults, in turn; each beside a move.
void strike(Nodes& nodes, Server& from, Server& to, int number) {
    std::this_thread::sleep_for(milliseconds(200 * (number % 16)));
    switch (number % 6) {
        case 0:
            return kill_session(from);
        case 1:
            return kill_server(from);
        case 2:
            return kill_server(nodes.coordinator);
        case 3:
            return kill_session(to);
        case 4:
            return kill_server(to);
        default:
            return;  // none
    }
}

// Until the hub is there: a move that a fault has ended is repeated. Returns how many it took.
int move_until_there(Nodes& nodes, Server& to, const std::string& mode) {
    for (int attempt = 1; attempt <= 60; ++attempt) {
        try {
            Conn conn = nodes.coordinator.connect();
            const std::string error =
                conn.error_of("SELECT belay.move_hub('app', " + to.place() + ", '" + mode + "')");
            if (error.empty() &&
                conn.value("SELECT host FROM belay.hub_location('app')") == to.host) {
                return attempt;
            }
        } catch (const std::runtime_error&) {
            // The coordinator is on its way.
        }
        std::this_thread::sleep_for(milliseconds(500));
    }
    ADD_FAILURE() << "the hub did not come to " << to.host;
    return 60;
}

// SO-76
TEST(CitusFaults, NothingIsLostPastAFenceOrStuck) {
    const int moves_per_mode = is_long() ? 10 : 2;
    Nodes nodes;
    nodes.make_app();
    nodes.coordinator.connect().exec(
        "CREATE TABLE app.done (name text NOT NULL, no uuid PRIMARY KEY DEFAULT "
        "gen_random_uuid())");
    nodes.first.connect().exec("SELECT belay.set_hub_option('app', 'max_attempts', '1000')");
    Journal journal;
    std::atomic<bool> sending_stopped = false;
    std::atomic<bool> stopped = false;
    std::vector<std::thread> senders;
    std::vector<std::thread> workers;
    for (int client = 0; client < 2; ++client) {
        senders.emplace_back([&, client] { send(nodes, journal, sending_stopped, client); });
        workers.emplace_back([&] { work(nodes, journal, stopped); });
    }
    Server* at = &nodes.first;
    int moves = 0;
    int attempts = 0;
    for (const std::string mode : {"auto", "force_logical", "block_writes"}) {
        for (int i = 0; i < moves_per_mode; ++i) {
            Server& from = *at;
            at = &nodes.other(from);
            std::thread fault([&, number = moves] { strike(nodes, from, *at, number); });
            attempts += move_until_there(nodes, *at, mode);
            fault.join();
            ++moves;
        }
    }
    sending_stopped = true;
    for (auto& sender : senders) {
        sender.join();
    }
    Conn conn = at->connect();
    EXPECT_TRUE(becomes(conn, "SELECT count(*) FROM app.worker_queue", "0")) << "stuck";
    stopped = true;
    for (auto& worker : workers) {
        worker.join();
    }
    std::map<std::string, int> done;
    const Rows rows = conn.exec("SELECT name FROM app.done");
    for (int row = 0; row < rows.size(); ++row) {
        ++done[*rows.at(row, 0)];
    }
    std::size_t lost = 0;
    std::size_t twice = 0;
    std::size_t unknown = 0;
    for (const std::string& name : journal.sent) {
        lost += done.contains(name) ? 0 : 1;
    }
    for (const auto& [name, times] : done) {
        twice += times == 1 ? 0 : 1;
        unknown += journal.tried.contains(name) ? 0 : 1;
    }
    std::printf(
        "%zu items sent, %zu acked, %zu done; %d moves in %d attempts; %zu lost, %zu past a "
        "fence; errors:",
        journal.sent.size(), journal.acked, done.size(), moves, attempts, lost, twice);
    for (const auto& [state, count] : journal.errors) {
        std::printf(" %s %d", state.c_str(), count);
    }
    std::printf("\n");
    EXPECT_EQ(lost, 0u);
    EXPECT_EQ(twice, 0u);
    EXPECT_EQ(unknown, 0u);
    EXPECT_EQ(conn.value("SELECT count(*) FROM app.dead_letters"), "0");
    for (const std::string& error : journal.unexpected) {
        ADD_FAILURE() << error;
    }
}

}  // namespace
}  // namespace belay::test
