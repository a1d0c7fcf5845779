// Two plain servers, and the steps by which the hub `app` moves from the first to the second.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "server.hpp"

namespace belay::test {

// What is tested knows the first server, which has the hub when a test begins.
class WithMoves : public ::testing::Test {
 protected:
    static void SetUpTestSuite() {
        for (auto* server : {&first, &second}) {
            *server =
                std::make_unique<Cluster>(Cluster::Options{.preload = true, .own_identity = true});
            (*server)->connect().exec("CREATE EXTENSION belay");
        }
    }
    static void TearDownTestSuite() {
        first.reset();
        second.reset();
    }
    void SetUp() override { first->connect().exec("SELECT belay.create_hub('app')"); }
    void TearDown() override {
        for (auto* server : {first.get(), second.get()}) {
            Conn conn = server->connect();
            conn.exec("SELECT belay.remove_hub_place('app')");
            if (conn.value("SELECT count(*) FROM belay.hubs") != "0") {
                conn.exec("SELECT belay.drop_hub('app', true)");
            }
        }
    }

    static ConnectionOptions options() { return {.conninfo = first->conninfo()}; }

    // The steps of docs/scale-out.md. 1: the first server refuses all calls.
    static void leave() {
        const Connection there({.conninfo = second->conninfo()});
        first->connect().exec("SELECT belay.set_hub_place('app', '" +
                              std::string(PQhost(there.raw())) + "', " + PQport(there.raw()) + ")");
    }
    // 2 and 3: the second server has the hub.
    static void arrive() {
        const std::string dump = first->file("app.sql");
        first->run({"pg_dump", "-n", "app", "-f", dump});
        second->run({"psql", "-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-f", dump});
        second->connect().exec("SELECT belay.remove_hub_place('app')");
    }
    // 4: the first server keeps only the place.
    static void forget() { first->connect().exec("SELECT belay.drop_hub('app')"); }

    static inline std::unique_ptr<Cluster> first;
    static inline std::unique_ptr<Cluster> second;
};

// Whether an error tells that a server does not have the hub.
inline bool misses_the_hub(const std::string& text) {
    return text.find("schema \"app\" does not exist") != std::string::npos;
}

}  // namespace belay::test
