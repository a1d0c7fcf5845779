// A second hub, in a database of its own, to which the same calls are made by the other access
// path.
//
// What a server makes up by itself, lease tokens and ids of tasks, differs between the two: the
// twin knows which of its own stands for which.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cluster.hpp"
#include "operations.hpp"

namespace belay::test::model {

// The calls of the first hub go directly to the tables, those of the twin are SQL statements.
constexpr const char* kFirstPath = "SET belay.fast_path = on";
constexpr const char* kTwinsPath = "SET belay.fast_path = off";

class Twin {
 public:
    // Uses that database, which must exist.
    Twin(Cluster* cluster, const std::string& database);

    // The twin's connections: the observer, and one per client.
    Conn& observer() { return observer_; }
    Conn& client(int number) { return clients_[static_cast<std::size_t>(number)]; }
    void connect(int clients, const std::string& settings);

    // The statement with the twin's tokens and ids.
    std::string translated(const std::string& sql) const;
    // A text of the twin's, with our ids.
    std::string with_our_ids(std::string_view its) const;
    // Notes that its token stands for ours. False: they are not tokens of the same lease.
    bool pair_tokens(const std::string& ours, const std::string& its);
    // Notes that its id stands for ours. False: the server did not make both at the same time.
    bool pair_ids(const std::string& ours, const std::string& its);
    // What is different in the twin's answer, or "". Tokens and ids in it are paired.
    std::string difference(const Answer& ours, const Answer& its);

 private:
    Cluster* cluster_;
    std::string database_;
    Conn observer_;
    std::vector<Conn> clients_;
    using Names = std::map<std::string, std::string, std::less<>>;
    std::string token(const std::string& ours) const;

    using Nonce = std::pair<uint64_t, uint64_t>;
    Names tokens_;                   // its, by ours
    std::map<Nonce, Nonce> nonces_;  // of work tokens, likewise
    Names ids_;                      // likewise
    Names our_ids_;                  // ours, by its
};

// What the server answers to a statement.
Answer ask(Conn& conn, const std::string& sql);

// Makes the view shown_tables, which lists all tables of the hub app with their rows, but for what
// is random and for the server's clock. Whoever compares tables prepares for it.
void make_table_view(Conn* conn);
void prepare_tables(Conn* conn);

// What differs between the tables as our connection and one of the twin see them, or "".
std::string difference_of_tables(Conn* ours, const Twin& twin, Conn* its);

}  // namespace belay::test::model
