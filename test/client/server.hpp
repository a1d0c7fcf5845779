// A server with a hub `app`, shared by the tests of one suite.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "belay/connection.hpp"
#include "cluster.hpp"

namespace belay::test {

class WithServer : public testing::Test {
 protected:
    static void SetUpTestSuite() {
        cluster = std::make_unique<Cluster>(Cluster::Options{.preload = true});
        cluster->connect().exec("CREATE EXTENSION belay");
    }
    static void TearDownTestSuite() { cluster.reset(); }

    // Each test has an empty hub.
    void SetUp() override { admin().exec("SELECT belay.create_hub('app')"); }
    void TearDown() override { admin().exec("SELECT belay.drop_hub('app', true)"); }

    static Conn admin() { return cluster->connect(); }
    static ConnectionOptions options() { return {.conninfo = cluster->conninfo()}; }

    // Ends the backend from outside, and waits until it is gone.
    static void kill_backend(int pid) {
        admin().exec("SELECT pg_terminate_backend(" + std::to_string(pid) + ", 10000)");
    }

    static inline std::unique_ptr<Cluster> cluster;
};

}  // namespace belay::test
