// How a process of the load runs a program that an application would have: something with run() and
// stop(), against the server of the moment.
#pragma once

#include <belay/error.hpp>
#include <signal.h>

#include <atomic>
#include <string>
#include <thread>

#include "player.hpp"

namespace belay::test::soak {

// Set by a SIGTERM, in a process that has called obey_sigterm().
inline volatile sig_atomic_t asked_to_end = 0;

inline void obey_sigterm() {
    struct sigaction action {};
    action.sa_handler = [](int) { asked_to_end = 1; };
    sigaction(SIGTERM, &action, nullptr);
}

// Runs what make(conninfo) gives until the campaign ends or a SIGTERM comes; anew when another
// server has taken over.
template <typename Make>
void serve(Shared* shared, Make make) {
    const auto ends = [shared] { return shared->phase == Phase::kStop || asked_to_end != 0; };
    while (!ends()) {
        const int server = shared->server;
        const auto program =
            make(std::string(shared->addresses[server]) + " application_name=soak");
        std::atomic<bool> has_ended = false;
        std::thread watch([&] {
            while (!has_ended) {
                if (ends() || shared->server != server) {
                    program->stop();
                }
                rest(10);
            }
        });
        try {
            program->run();
        } catch (const Error&) {
            // The server cannot be reached, or has refused the first call.
            rest(30);
        }
        has_ended = true;
        watch.join();
    }
}

}  // namespace belay::test::soak
