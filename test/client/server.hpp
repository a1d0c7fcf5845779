// A server with a hub `app`, shared by the tests of one suite, and what tests of loops need.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
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

// Waits, as a good handler does, until it is told to stop. False if nobody did.
inline bool wait_for_stop(const std::stop_token& stop) {
    return wait_until([&] { return stop.stop_requested(); });
}

// Runs a worker or dispatcher in a thread, for as long as the object lives.
template <typename Loop>
struct Running {
    explicit Running(Loop& loop) : loop(loop), thread([&loop] { loop.run(); }) {}
    ~Running() { end(); }
    void end() {
        loop.stop();
        if (thread.joinable()) {
            thread.join();
        }
    }
    Loop& loop;
    std::thread thread;
};

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
