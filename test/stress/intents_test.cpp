// Messages between two servers, while the relay, either server and the link are killed at random:
// each arrives exactly once, and in order (IN-4, IN-5, IN-8).
//
// A sender notes what it sends in a table, in the same transaction. So the table tells what was
// sent even where the sender lost its connection and does not know.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <mutex>
#include <random>
#include <thread>

#include "client.hpp"

namespace belay::test::stress {
namespace {

using std::to_string;

constexpr int kSenders = 4;
constexpr int kInstancesEach = 5;
constexpr double kPatience = 300;  // seconds for the rest to arrive

class Random {
 public:
    explicit Random(uint64_t seed) : engine_(seed) {}
    int number(int least, int most) {
        return least + static_cast<int>(engine_() % static_cast<uint64_t>(most - least + 1));
    }

 private:
    std::mt19937_64 engine_;
};

std::string instance_name(int sender, int instance) {
    return "s" + to_string(sender) + "-" + to_string(instance);
}

// Sends numbers 1, 2, 3, ... to each of its instances, a few in each transaction, some of which are
// rolled back.
void run_sender(Cluster* cluster, int sender, int messages, uint64_t seed,
                const std::atomic<bool>* give_up, std::atomic<int64_t>* sent) {
    Random random(seed + static_cast<uint64_t>(sender) * 7919);
    Client client(cluster, "SET synchronous_commit = on", give_up);
    int left = messages;
    while (left > 0 && !give_up->load()) {
        const std::string instance = instance_name(sender, random.number(1, kInstancesEach));
        const int batch = std::min(left, random.number(1, 8));
        const bool rolled_back = random.number(1, 10) == 1;
        // Long enough for the killer to have its chances.
        std::this_thread::sleep_for(std::chrono::milliseconds(random.number(0, 200)));
        const Answer last =
            client.ask("SELECT coalesce(max(n), 0) FROM sent WHERE instance = '" + instance + "'");
        if (!last.ok()) {
            continue;
        }
        const int first = std::stoi(*last.rows[0][0]) + 1;
        std::string sql = "BEGIN;";
        for (int n = first; n < first + batch; ++n) {
            sql += "INSERT INTO sent VALUES ('" + instance + "', " + to_string(n) +
                   "); SELECT src.send_to_hub('dst', 'orchestrator', "
                   "'{\"CancelInstance\":{\"instance\":\"" +
                   instance + "\",\"reason\":\"" + to_string(n) + "\"}}');";
        }
        sql += rolled_back ? "ROLLBACK" : "COMMIT";
        const Answer done = client.ask(sql);
        if (rolled_back) {
            continue;
        }
        // After a loss the table tells.
        const Answer now =
            client.ask("SELECT coalesce(max(n), 0) FROM sent WHERE instance = '" + instance + "'");
        if (done.ok() || (now.ok() && std::stoi(*now.rows[0][0]) >= first)) {
            left -= batch;
            *sent += batch;
        } else if (!now.ok()) {
            // Not known: count what is there when it can be asked again.
            Answer again = now;
            while (!again.ok() && !give_up->load()) {
                again = client.ask("SELECT coalesce(max(n), 0) FROM sent WHERE instance = '" +
                                   instance + "'");
            }
            if (again.ok() && std::stoi(*again.rows[0][0]) >= first) {
                left -= batch;
                *sent += batch;
            }
        }
    }
}

struct Kills {
    int relay = 0;
    int link = 0;
    int source = 0;
    int target = 0;
};

// Runs a statement on a server that may be away.
void try_exec(Cluster* cluster, const std::string& sql) {
    try {
        cluster->connect().exec(sql);
    } catch (const std::exception&) {
        // Killed already.
    }
}

TEST(Intents, ArriveOnceWhileEverythingDies) {
    const int messages = is_long() ? 10000 : 1000;
    const uint64_t seed = run_seed();
    const std::vector<std::string> conf = {"belay.reconcile_interval = '100ms'",
                                           "belay.intent_age = '200ms'", "restart_after_crash = on",
                                           kLogPrefix};
    Cluster source({.preload = true, .conf = conf});
    Cluster target({.preload = true, .own_identity = true, .conf = conf});
    {
        Conn there = target.connect();
        there.exec("CREATE EXTENSION belay");
        there.exec("SELECT belay.create_hub('dst')");
        Conn here = source.connect();
        here.exec("CREATE EXTENSION belay");
        here.exec("SELECT belay.create_hub('src')");
        here.exec("CREATE TABLE sent (instance text, n int, PRIMARY KEY (instance, n))");
        here.exec("CREATE FOREIGN DATA WRAPPER link");
        here.exec("CREATE SERVER far FOREIGN DATA WRAPPER link OPTIONS (host '" +
                  there.value("SHOW unix_socket_directories") + "', dbname 'postgres')");
        here.exec("CREATE USER MAPPING FOR postgres SERVER far OPTIONS (user 'postgres')");
        here.exec("SELECT belay.create_hub_link('src', 'dst', 'far')");
    }
    std::atomic<bool> give_up = false;
    std::atomic<int64_t> sent = 0;
    std::atomic<int> running = kSenders;
    std::vector<std::thread> senders;
    for (int sender = 0; sender < kSenders; ++sender) {
        senders.emplace_back([&, sender] {
            run_sender(&source, sender, messages / kSenders, seed, &give_up, &sent);
            --running;
        });
    }
    Random random(seed);
    Kills kills;
    const Stopwatch watch;
    const int most_server_kills = is_long() ? 15 : 3;
    const auto kill_something = [&] {
        const int what = random.number(1, 10);
        if (what <= 3) {
            try_exec(&source,
                     "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = "
                     "'belay worker'");
            ++kills.relay;
        } else if (what <= 8) {
            try_exec(&target,
                     "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                     "application_name = 'belay relay'");
            ++kills.link;
        } else if (what == 9 && kills.source < most_server_kills) {
            source.kill9();
            source.start();
            ++kills.source;
        } else if (what == 10 && kills.target < most_server_kills) {
            target.kill9();
            std::this_thread::sleep_for(std::chrono::milliseconds(random.number(0, 1500)));
            target.start();
            ++kills.target;
        }
    };
    while (running > 0 && watch.seconds() < kPatience) {
        std::this_thread::sleep_for(std::chrono::milliseconds(random.number(20, 200)));
        kill_something();
    }
    // Each of them at least once, also while the rest is on its way.
    for (const bool source_dies : {true, false}) {
        Cluster& cluster = source_dies ? source : target;
        cluster.kill9();
        cluster.start();
        ++(source_dies ? kills.source : kills.target);
    }
    give_up = running > 0;
    for (auto& sender : senders) {
        sender.join();
    }
    ASSERT_FALSE(give_up) << "the senders did not finish";
    EXPECT_EQ(sent, messages);

    Conn here = source.connect();
    Conn there = target.connect();
    const Stopwatch rest;
    while (here.value("SELECT count(*) FROM src.intents") != "0" && rest.seconds() < kPatience) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    std::cout << messages << " messages, " << watch.seconds() << " s; killed: relay " << kills.relay
              << ", link " << kills.link << ", source " << kills.source << ", target "
              << kills.target << std::endl;
    EXPECT_EQ(here.value("SELECT count(*) FROM src.intents"), "0")
        << here.value("SELECT min(last_error) FROM src.intents");
    EXPECT_EQ(here.value("SELECT count(*) FROM src.dead_letters"), "0");
    EXPECT_EQ(here.value("SELECT count(*) FROM sent"), to_string(messages));
    EXPECT_EQ(there.value("SELECT count(*) FROM dst.messages"), to_string(messages));
    EXPECT_EQ(there.value("SELECT count(*) FROM dst.intents_received"), to_string(messages));
    const std::string wanted =
        "SELECT string_agg(instance || ': ' || numbers, E'\\n' ORDER BY instance) FROM (SELECT "
        "instance, string_agg(n::text, ' ' ORDER BY n) AS numbers FROM sent GROUP BY instance) AS "
        "s";
    const std::string arrived =
        "SELECT string_agg(instance_id || ': ' || numbers, E'\\n' ORDER BY instance_id) FROM "
        "(SELECT instance_id, string_agg(work_item::json #>> '{CancelInstance,reason}', ' ' ORDER "
        "BY id) AS numbers FROM dst.messages GROUP BY instance_id) AS s";
    EXPECT_EQ(here.value(wanted), there.value(arrived));
    EXPECT_GE(kills.source, 1);
    EXPECT_GE(kills.target, 1);
}

}  // namespace
}  // namespace belay::test::stress
