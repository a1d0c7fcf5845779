// Runs made-up calls on a server and in the model, and compares the two.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster.hpp"
#include "operations.hpp"

namespace belay::test::model {

// The server and the model differ. The text says how, and what led to it.
class Mismatch : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Runner {
 public:
    // Makes the hub app anew. Everything that follows depends on the subject and the seed alone.
    Runner(Cluster* cluster, const Subject& subject, uint64_t seed);

    // One call, or the begin or end of a transaction, of some client.
    void step();
    // Compares all that is stored, as every client sees it.
    void compare_all();
    // Ends all transactions and compares.
    void finish();

    const std::map<std::string, int>& calls() const { return calls_; }
    int blocked() const { return blocked_; }
    // By SQLSTATE and code_detail.
    const std::map<std::string, int>& refused() const { return refused_; }
    const auto& met() const { return hub_.met; }
    const auto& tasks_met() const { return hub_.tasks.met; }

 private:
    struct Client {
        Conn conn;
        bool in_transaction = false;
        bool failed = false;  // only a rollback is possible
    };
    enum class Outcome { kDone, kRefused, kBlocked };

    void command(int client, const std::string& sql);
    void end_transaction(int client, bool commit);
    void make_hubs();
    void lease_elsewhere();
    void advance_clock();
    void call(int client);
    const Operation* choose(int client);
    void compare_error(const Answer& answer, const Refused& refused);
    void compare_rows(const Expected& expected, const Answer& answer);
    void note(int client, const std::string& text);
    [[noreturn]] void fail(const std::string& what);

    Subject subject_;
    uint64_t seed_;
    Random random_;
    Hub hub_;
    std::vector<Client> clients_;
    Conn observer_;
    Scene::Memory memory_;
    int64_t now_;
    std::deque<std::string> history_;
    std::map<std::string, int> calls_;
    int blocked_ = 0;
    std::map<std::string, int> refused_;
};

}  // namespace belay::test::model
