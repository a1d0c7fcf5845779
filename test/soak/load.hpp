// The load: clients that work on three hubs of one database, each in a process of its own.
//
// Hub `jobs` has a worker queue with a limit of attempts; hub `app` has orchestrations, tasks,
// flows and a subscription. Both send intents to each other. What a client does with an item it
// writes into a table of the application, in the transaction of the ack. The clients of these two
// hubs speak SQL; those of hub `lib` use the client library (library.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "cluster.hpp"

namespace belay::test::soak {

enum class Phase : int { kRun, kDrain, kStop };

// What the processes of a campaign share, in memory.
struct Shared {
    static constexpr int kMostServers = 64;

    std::atomic<Phase> phase;
    std::atomic<int> server;  // place of the address of the current primary
    char addresses[kMostServers][256];
    int most_lease_ms;          // of one lease
    std::atomic<bool> crowded;  // more is queued than clients work off soon: nothing is created
    int portions_to_cut;        // a bug planted in the client library: how often, in each process
    std::atomic<int> dashboard_port;
    std::atomic<int64_t> calls;
    std::atomic<int64_t> done;
    std::atomic<int64_t> refused;
    std::atomic<int64_t> unknown;

    // Made in memory that children share.
    static Shared* make();
    // What clients connect to from now on.
    void set_address(const std::string& conninfo);
};

enum class Role {
    kJobs,
    kRuntime,
    kTasks,
    kEvents,
    kSender,
    kStarter,  // this one and the following ones: see library.hpp
    kDurable,
    kWorker,
    kDashboard,  // see viewer.hpp
    kViewer,
};

struct Player {
    Role role;
    int number;  // distinguishes all clients of a campaign, also those that follow a killed one
    uint64_t seed;
};

// Whether this client's leases need not be on disk: those of before a crash may be forgotten.
bool has_async_leases(int client);

// Makes the hubs and the tables of the application.
void make_hubs(Conn* conn);

// The life of a client process; returns when the phase says so. In phase kDrain it creates nothing.
void play(Shared* shared, const Player& player, const std::string& journal_path);

// How much is left to work off, as SQL: one number.
extern const char* const kWorkLeft;

// Work of this id is never finished but released, until it is a dead letter.
bool is_poison(const std::string& item);

}  // namespace belay::test::soak
