// The claim cursor strands nothing: a client that has added an item finds one, whatever the others
// do meanwhile: commit, roll back, prepare, abandon, let leases run out; and whatever a restart has
// left.
//
// Every client adds an item before it fetches one, and never holds two. So there is one for each.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <mutex>
#include <thread>

#include "client.hpp"

namespace belay::test::stress {
namespace {

using std::to_string;

constexpr int kClients = 16;
constexpr int kRounds = 4;  // with a restart between any two

struct Score {
    std::atomic<int64_t> fetches = 0;
    std::atomic<int64_t> empty = 0;
    std::mutex mutex;
    std::vector<std::string> complaints;

    void complain(const std::string& text) {
        const std::lock_guard lock(mutex);
        if (complaints.size() < 20) {
            complaints.push_back(text);
        }
    }
};

class Worker {
 public:
    Worker(Cluster* cluster, Score* score, int number, uint64_t seed)
        : conn_(cluster->connect()), score_(*score), number_(number), random_(seed) {}

    void run(int64_t fetches) {
        for (int64_t i = 0; i < fetches; ++i) {
            add();
            work(static_cast<int>(random_.number(0, 99)));
        }
    }

 private:
    // Adds an item: at once, in a savepoint, after one that is rolled back, or prepared.
    void add() {
        const std::string item = "SELECT app.enqueue_worker_work('{\"ActivityExecute\":{}}')";
        const auto way = random_.number(0, 19);
        if (way == 0) {
            conn_.exec("BEGIN; SAVEPOINT a; " + item + "; ROLLBACK TO a; SAVEPOINT b; " + item +
                       "; RELEASE b; COMMIT");
        } else if (way == 1) {
            conn_.exec("BEGIN; " + item + "; ROLLBACK");
            conn_.exec(item);
        } else if (way == 2) {
            conn_.exec("BEGIN; " + item + "; PREPARE TRANSACTION '" + name() + "'");
            conn_.exec("COMMIT PREPARED '" + name() + "'");
        } else if (way == 3) {
            conn_.exec(
                "SELECT app.enqueue_worker_items('[{\"work_item\":{\"ActivityExecute\":{}},"
                "\"delay_ms\":1}]')");
            std::this_thread::sleep_for(std::chrono::milliseconds(3));
        } else {
            conn_.exec(item);
        }
    }

    // Takes an item and finishes it, sometimes at the second attempt.
    void work(int way) {
        if (way < 4) {
            conn_.exec("BEGIN");
            (void)fetch();
            conn_.exec("ROLLBACK");
        } else if (way < 8) {
            conn_.exec("BEGIN; SAVEPOINT a");
            (void)fetch();
            conn_.exec("ROLLBACK TO a");
            const auto token = fetch();
            conn_.exec("COMMIT");
            ack(token);
            return;
        } else if (way < 11) {
            conn_.exec("BEGIN");
            (void)fetch();
            conn_.exec("PREPARE TRANSACTION '" + name() + "'");
            conn_.exec("ROLLBACK PREPARED '" + name() + "'");
        } else if (way < 13) {
            conn_.exec("BEGIN");
            const auto token = fetch();
            conn_.exec("PREPARE TRANSACTION '" + name() + "'");
            conn_.exec("COMMIT PREPARED '" + name() + "'");
            ack(token);
            return;
        } else if (way < 20) {
            if (const auto token = fetch(); !token.empty()) {
                conn_.exec("SELECT app.abandon_work_item('" + token + "', NULL)");
            }
        } else if (way < 24) {
            if (const auto token = fetch(); !token.empty()) {
                conn_.exec("BEGIN; SELECT app.abandon_work_item('" + token +
                           "', NULL); PREPARE TRANSACTION '" + name() + "'");
                conn_.exec("COMMIT PREPARED '" + name() + "'");
            }
        } else if (way < 28) {
            (void)fetch(1);
            std::this_thread::sleep_for(std::chrono::milliseconds(3));
        } else if (way < 31) {
            if (const auto token = fetch(); !token.empty()) {
                conn_.exec("SELECT app.renew_work_item_lock('" + token + "', NULL, 1)");
                std::this_thread::sleep_for(std::chrono::milliseconds(3));
            }
        }
        ack(fetch());
    }

    std::string fetch(int64_t lease_ms = 600000) {
        const Rows rows = conn_.exec("SELECT out_lock_token FROM app.fetch_work_item(NULL, " +
                                     to_string(lease_ms) + ")");
        ++score_.fetches;
        if (rows.size() == 0) {
            ++score_.empty;
            return "";
        }
        return rows.at(0, 0).value_or("");
    }

    void ack(const std::string& token) {
        if (!token.empty()) {
            conn_.exec("SELECT app.ack_worker('" + token + "')");
        }
    }

    std::string name() const { return "worker" + to_string(number_); }

    Conn conn_;
    Score& score_;
    int number_;
    Random random_;
};

TEST(ClaimCursor, NoFetchComesBackEmpty) {
    const uint64_t seed = run_seed();
    const int64_t fetches = (is_long() ? 1'000'000 : 10'000) / kRounds / kClients;
    Cluster cluster(
        {.preload = true,
         .conf = {"max_connections = 60", "max_prepared_transactions = 40", kLogPrefix}});
    cluster.connect().exec("CREATE EXTENSION belay; SELECT belay.create_hub('app')");
    Score score;
    const Stopwatch watch;
    for (int round = 0; round < kRounds && score.complaints.empty(); ++round) {
        // What was prepared before a restart is committed in the middle of the round after it.
        const std::string left = "left" + to_string(round);
        cluster.connect().exec(
            "BEGIN; SELECT app.enqueue_worker_work('{\"ActivityExecute\":{}}');"
            "PREPARE TRANSACTION '" +
            left + "'");
        if (round % 2 == 0) {
            cluster.restart();
        } else {
            cluster.kill9();
            cluster.start();
        }
        std::vector<std::thread> threads;
        for (int i = 0; i < kClients; ++i) {
            threads.emplace_back([&, i] {
                try {
                    Worker(&cluster, &score, i, seed + static_cast<uint64_t>(round * kClients + i))
                        .run(fetches);
                } catch (const std::exception& error) {
                    score.complain(error.what());
                }
            });
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(is_long() ? 5000 : 500));
        cluster.connect().exec("COMMIT PREPARED '" + left + "'");
        for (auto& thread : threads) {
            thread.join();
        }
        // Nothing is left but what was committed in between, and it is found.
        Conn main = cluster.connect();
        EXPECT_EQ(main.value("SELECT count(*) FROM app.work_items"), "1");
        const std::string token =
            main.value("SELECT out_lock_token FROM app.fetch_work_item(NULL, 600000)");
        main.exec("SELECT app.ack_worker('" + token + "')");
    }
    for (const auto& complaint : score.complaints) {
        ADD_FAILURE() << complaint;
    }
    EXPECT_EQ(score.empty, 0) << "of " << score.fetches << " fetches";
    std::cout << "  " << score.fetches << " fetches, "
              << static_cast<int64_t>(static_cast<double>(score.fetches) / watch.seconds())
              << " fetches/s\n";
}

}  // namespace
}  // namespace belay::test::stress
