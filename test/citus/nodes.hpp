// A coordinator and two workers with Citus and belay, and a hub that wanders among them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "cluster.hpp"

namespace belay::test {

// One server of the cluster.
struct Server {
    explicit Server(const std::vector<std::string>& conf);

    Cluster cluster;
    std::string host;  // a directory of sockets
    std::string port;

    std::string place() const { return "'" + host + "', " + port; }
    Conn connect(const std::string& user = "postgres") { return cluster.connect("postgres", user); }
};

struct Nodes {
    explicit Nodes(const std::vector<std::string>& conf = {});

    Server coordinator;
    Server first;
    Server second;

    // Makes hub "app" and puts it on the first worker.
    void make_app();
    // Citus may cancel what changes a whole schema as a distributed deadlock: then again.
    void insist(const std::string& sql);
    void bring_back(const std::string& hub) {
        insist("SELECT belay.undistribute_hub('" + hub + "')");
    }
    // Citus gives up after a second if it cannot drop what a former stay has left there: then
    // again.
    void move(Server& to, const std::string& mode = "auto");
    Server& other(const Server& one) { return &one == &first ? second : first; }
    std::vector<Server*> all() { return {&coordinator, &first, &second}; }
};

// A connection that follows QB017, as the client library does.
class Follower {
 public:
    explicit Follower(Nodes& nodes) : nodes_(nodes), conn_(nodes.coordinator.connect()) {}

    // Runs the statement where the hub is. Returns the first field of the first row, "" if there is
    // none; or "!" and the SQLSTATE of another error.
    std::string run(const std::string& sql);
    int hops() const { return hops_; }

 private:
    Nodes& nodes_;
    Conn conn_;
    int hops_ = 0;
};

// Three servers for all tests, because they take long to make. Each test makes its hubs; they are
// removed after it.
class Citus : public testing::Test {
 protected:
    static void SetUpTestSuite() { shared = std::make_unique<Nodes>(); }
    static void TearDownTestSuite() { shared.reset(); }
    void TearDown() override;

    static inline std::unique_ptr<Nodes> shared;
    Nodes& nodes = *shared;
};

std::string enqueue(const std::string& name);

// Whether the statement comes to return this value.
testing::AssertionResult becomes(Conn& conn, const std::string& sql, const std::string& value);

}  // namespace belay::test
