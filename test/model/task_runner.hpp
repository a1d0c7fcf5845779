// Makes up calls of tasks and makes them to two hubs, one per access path. There is no model of
// tasks: what one path answers and leaves is what the other must answer and leave.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "twin.hpp"

namespace belay::test::model {

// A task as a client sees it in the first hub.
struct SeenTask {
    std::string id;
    std::string state;
    int64_t epoch;
    int64_t attempt;
    int64_t lease_until;            // 0: no lease
    std::vector<int64_t> instants;  // at which something becomes possible or ends
};

// What a call is made up from.
struct TaskScene {
    Random& random;
    int64_t now;                        // of the test's clock, as this client has it
    int64_t latest;                     // of the test's clock; no earlier call had this time
    bool slots;                         // the hub has some: which one a task has depends on its id
    const std::vector<SeenTask>& seen;  // by id
    int64_t& serial;
};

struct TaskOperation {
    const char* name;
    int weight;
    std::string (*make)(TaskScene*);
};
const std::vector<TaskOperation>& task_operations();

class TaskRunner {
 public:
    // Makes the hub app anew, and that of the twin. Everything that follows depends on the seed
    // alone.
    TaskRunner(Cluster* cluster, uint64_t seed, Twin* twin);

    // One call, or the end of a transaction, of some client.
    void step();
    // Ends all transactions and compares.
    void finish();

    const std::map<std::string, int>& calls() const { return calls_; }
    // Of those, with rows.
    const std::map<std::string, int>& served() const { return served_; }
    // By SQLSTATE and reason.
    const std::map<std::string, int>& refused() const { return refused_; }

 private:
    struct Client {
        Conn conn;
        bool in_transaction = false;
        bool failed = false;  // only a rollback is possible
    };

    void leave_dead_entries();
    void both(int client, const std::string& sql, Answer* answer);
    void command(int client, const std::string& sql);
    void end_transaction(int client, bool commit);
    std::vector<SeenTask> look(int client);
    void advance_clock(const std::vector<SeenTask>& seen);
    void call(int client);
    void compare_tables(int client);
    [[noreturn]] void fail(const std::string& what);

    uint64_t seed_;
    Random random_;
    std::vector<Client> clients_;
    Conn observer_;
    Twin* twin_;
    bool slots_;
    int64_t now_;
    int64_t serial_ = 0;
    std::deque<std::string> history_;
    std::map<std::string, int> calls_;
    std::map<std::string, int> served_;
    std::map<std::string, int> refused_;
};

}  // namespace belay::test::model
