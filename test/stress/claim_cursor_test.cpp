// The claim cursor strands nothing: a client that has added an item finds one, for anything that
// the others do meanwhile: commit, roll back, prepare, abandon, let leases run out; and for
// anything that a restart has left.
//
// Every client adds an item before it fetches one, and never holds two. So there is one for each.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
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

// What a queue offers to a client.
class Queue {
 public:
    virtual ~Queue() = default;
    // A statement that adds an item, at once or after that many ms.
    virtual std::string add(int delay_ms) = 0;
    // One that fetches an item: a row with all that the others need to know of it.
    virtual std::string fetch(int64_t lease_ms) = 0;
    virtual std::string ack(const Rows& item) = 0;
    virtual std::string give_back(const Rows& item) = 0;
    // One after which the lease is over within a ms.
    virtual std::string cut_short(const Rows& item) = 0;
    // How many items are left.
    virtual std::string count() = 0;
    // Whether another call has to settle a lease that is over before its item can be had again.
    virtual bool settles() const { return true; }
};

class WorkQueue : public Queue {
 public:
    bool settles() const override { return false; }
    std::string add(int delay_ms) override {
        if (delay_ms == 0) {
            return "SELECT app.enqueue_worker_work('{\"ActivityExecute\":{}}')";
        }
        return "SELECT app.enqueue_worker_items('[{\"work_item\":{\"ActivityExecute\":{}},"
               "\"delay_ms\":" +
               to_string(delay_ms) + "}]')";
    }
    std::string fetch(int64_t lease_ms) override {
        return "SELECT lock_token FROM app.fetch_work_item(" + to_string(lease_ms) + ")";
    }
    std::string ack(const Rows& item) override {
        return "SELECT app.ack_worker('" + *item.at(0, 0) + "')";
    }
    std::string give_back(const Rows& item) override {
        return "SELECT app.abandon_work_item('" + *item.at(0, 0) + "')";
    }
    std::string cut_short(const Rows& item) override {
        return "SELECT app.renew_work_item_lock('" + *item.at(0, 0) + "', 1)";
    }
    std::string count() override { return "SELECT count(*) FROM app.work_items"; }
};

// Each message starts an instance of its own.
// A client that adds an item also asks for those of another tag, of which there are none.
class CrowdedQueue : public WorkQueue {
 public:
    explicit CrowdedQueue(uint64_t seed) : random_(seed) {}
    std::string add(int delay_ms) override {
        return WorkQueue::add(delay_ms) +
               "; SELECT lock_token FROM app.fetch_work_item(1, p_tag_filter => '{tag" +
               to_string(random_.number(1, 1000)) + "}', p_tag_mode => 'tags')";
    }

 private:
    Random random_;
};

class TurnQueue : public Queue {
 public:
    bool settles() const override { return false; }
    std::string add(int delay_ms) override {
        return "SELECT app.start_orchestration('O', '', NULL, '1', " + to_string(delay_ms) + ")";
    }
    std::string fetch(int64_t lease_ms) override {
        return "SELECT lock_token FROM app.fetch_orchestration_item(" + to_string(lease_ms) + ")";
    }
    std::string ack(const Rows& item) override {
        return "SELECT app.ack_orchestration_item('" + *item.at(0, 0) +
               "', 1, '[]', '[]', '[]', "
               "'{\"orchestration_name\":\"O\",\"orchestration_version\":\"1\",\"status\":"
               "\"Completed\"}')";
    }
    std::string give_back(const Rows& item) override {
        return "SELECT app.abandon_orchestration_item('" + *item.at(0, 0) + "')";
    }
    std::string cut_short(const Rows& item) override {
        return "SELECT app.renew_orchestration_item_lock('" + *item.at(0, 0) + "', 1)";
    }
    std::string count() override { return "SELECT count(*) FROM app.messages"; }
};

// Tasks of any priority: those that come later are often claimed first.
class TaskQueue : public Queue {
 public:
    explicit TaskQueue(uint64_t seed) : random_(seed) {}

    std::string add(int delay_ms) override {
        return "SELECT app.create_task('l', p_priority => " + to_string(random_.number(0, 9)) +
               ", p_delay_ms => " + to_string(delay_ms) + ")";
    }
    std::string fetch(int64_t lease_ms) override {
        return "SELECT task_id, lease_epoch FROM app.claim_tasks('w', 'i', '{l}', p_lease_ms => " +
               to_string(lease_ms) + ")";
    }
    std::string ack(const Rows& item) override { return "SELECT app.complete_task" + of(item); }
    std::string give_back(const Rows& item) override {
        return "SELECT app.release_task" + of(item);
    }
    // The renewal of a task never shortens its lease.
    std::string cut_short(const Rows& item) override {
        return "SELECT app.revoke_lease('" + *item.at(0, 0) + "')";
    }
    std::string count() override {
        return "SELECT count(*) FROM app.tasks WHERE terminal_at_ms IS NULL";
    }

 private:
    static std::string of(const Rows& item) {
        return "('" + *item.at(0, 0) + "', " + *item.at(0, 1) + ")";
    }

    Random random_;
};

class Worker {
 public:
    Worker(Cluster* cluster, Queue* queue, Score* score, int number, uint64_t seed)
        : conn_(cluster->connect()),
          queue_(*queue),
          score_(*score),
          number_(number),
          random_(seed) {}

    // Until all together have fetched so often.
    void run(int64_t fetches) {
        while (score_.fetches < fetches) {
            add();
            work(static_cast<int>(random_.number(0, 99)));
        }
    }

 private:
    // Adds an item: at once, in a savepoint, after one that is rolled back, or prepared.
    void add() {
        const auto way = random_.number(0, 19);
        if (way == 0) {
            conn_.exec("BEGIN; SAVEPOINT a; " + queue_.add(0) + "; ROLLBACK TO a; SAVEPOINT b; " +
                       queue_.add(0) + "; RELEASE b; COMMIT");
        } else if (way == 1) {
            conn_.exec("BEGIN; " + queue_.add(0) + "; ROLLBACK");
            conn_.exec(queue_.add(0));
        } else if (way == 2) {
            conn_.exec("BEGIN; " + queue_.add(0) + "; PREPARE TRANSACTION '" + name() + "'");
            conn_.exec("COMMIT PREPARED '" + name() + "'");
        } else if (way == 3) {
            conn_.exec(queue_.add(1));
            std::this_thread::sleep_for(std::chrono::milliseconds(3));
            if (random_.number(0, 1) == 0) {
                // Makes due tasks ready, its own and those of others.
                conn_.exec("SELECT app.reconcile(p_duties => '{due_timers}')");
            }
        } else {
            conn_.exec(queue_.add(0));
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
            const auto item = fetch();
            conn_.exec("COMMIT");
            finish(item);
            return;
        } else if (way < 11) {
            conn_.exec("BEGIN");
            (void)fetch();
            conn_.exec("PREPARE TRANSACTION '" + name() + "'");
            conn_.exec("ROLLBACK PREPARED '" + name() + "'");
        } else if (way < 13) {
            conn_.exec("BEGIN");
            const auto item = fetch();
            conn_.exec("PREPARE TRANSACTION '" + name() + "'");
            conn_.exec("COMMIT PREPARED '" + name() + "'");
            finish(item);
            return;
        } else if (way < 20) {
            if (const auto item = fetch()) {
                conn_.exec(queue_.give_back(*item));
            }
        } else if (way < 24) {
            if (const auto item = fetch()) {
                conn_.exec("BEGIN; " + queue_.give_back(*item) + "; PREPARE TRANSACTION '" +
                           name() + "'");
                conn_.exec("COMMIT PREPARED '" + name() + "'");
            }
        } else if (way < 28) {
            (void)fetch(1);
            expire();
        } else if (way < 31) {
            if (const auto item = fetch()) {
                conn_.exec(queue_.cut_short(*item));
                expire();
            }
        } else if (way < 35) {
            if (const auto item = fetch()) {
                conn_.exec("BEGIN; " + queue_.ack(*item) + "; ROLLBACK");
                finish(item);
                return;
            }
        }
        finish(fetch());
    }

    // Lets a lease of a ms pass. Of a task, that is settled by the next call, or by a duty.
    void expire() {
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        if (!queue_.settles()) {
            return;
        }
        // A duty passes by what another one has in hand, and that is ready only when it commits.
        do {
            conn_.exec("SELECT app.reconcile(p_duties => '{lease_expiry}')");
        } while (conn_.value("SELECT count(*) FROM app.tasks WHERE state = 'active' AND "
                             "lease_until_ms <= extract(epoch FROM clock_timestamp()) * 1000") !=
                 "0");
    }

    std::optional<Rows> fetch(int64_t lease_ms = 600000) {
        Rows rows = conn_.exec(queue_.fetch(lease_ms));
        ++score_.fetches;
        if (rows.size() == 0) {
            ++score_.empty;
            return std::nullopt;
        }
        return rows;
    }

    void finish(const std::optional<Rows>& item) {
        if (item) {
            conn_.exec(queue_.ack(*item));
        }
    }

    std::string name() const { return "worker" + to_string(number_); }

    Conn conn_;
    Queue& queue_;
    Score& score_;
    int number_;
    Random random_;
};

using MakeQueue = std::function<std::unique_ptr<Queue>(uint64_t seed)>;

// Plays with a queue. An old snapshot keeps every dead row where it is, in each second round.
void expect_no_empty_fetch(const MakeQueue& make, int64_t all_fetches,
                           const std::vector<std::string>& settings = {}) {
    const uint64_t seed = run_seed();
    std::vector<std::string> conf = {"max_connections = 60", "max_prepared_transactions = 40",
                                     kLogPrefix};
    conf.insert(conf.end(), settings.begin(), settings.end());
    Cluster cluster({.preload = true, .conf = conf});
    cluster.connect().exec("CREATE EXTENSION belay; SELECT belay.create_hub('app')");
    const auto queue = make(seed);
    Score score;
    const Stopwatch watch;
    for (int round = 0; round < kRounds && score.complaints.empty(); ++round) {
        // What was prepared before a restart is committed in the middle of the round after it.
        const std::string left = "left" + to_string(round);
        cluster.connect().exec("BEGIN; " + queue->add(0) + "; PREPARE TRANSACTION '" + left + "'");
        if (round % 2 == 0) {
            cluster.restart();
        } else {
            cluster.kill9();
            cluster.start();
        }
        Conn old = cluster.connect();
        if (round / 2 % 2 == 0) {
            old.exec("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
        }
        std::vector<std::thread> threads;
        for (int i = 0; i < kClients; ++i) {
            threads.emplace_back([&, i] {
                try {
                    const uint64_t own = seed + static_cast<uint64_t>(round * kClients + i);
                    const auto own_queue = make(own);
                    Worker(&cluster, own_queue.get(), &score, i, own)
                        .run(all_fetches * (round + 1) / kRounds);
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
        EXPECT_EQ(main.value(queue->count()), "1");
        const Rows item = main.exec(queue->fetch(600000));
        EXPECT_EQ(item.size(), 1);
        if (item.size() == 1) {
            main.exec(queue->ack(item));
        }
    }
    for (const auto& complaint : score.complaints) {
        ADD_FAILURE() << complaint;
    }
    EXPECT_EQ(score.empty, 0) << "of " << score.fetches << " fetches";
    std::cout << "  " << score.fetches << " fetches, "
              << static_cast<int64_t>(static_cast<double>(score.fetches) / watch.seconds())
              << " fetches/s\n";
}

TEST(ClaimCursor, NoFetchComesBackEmpty) {
    expect_no_empty_fetch([](uint64_t) { return std::make_unique<WorkQueue>(); },
                          is_long() ? 1'000'000 : 10'000);
}

// There is room for few cursors and few leases, and fetches of many tags push each other out.
TEST(ClaimCursor, NoFetchComesBackEmptyWithoutRoom) {
    expect_no_empty_fetch([](uint64_t seed) { return std::make_unique<CrowdedQueue>(seed); },
                          is_long() ? 200'000 : 4'000,
                          {"belay.cursor_slots = 64", "belay.lease_slots = 1024"});
}

TEST(ClaimCursor, NoFetchOfATurnComesBackEmpty) {
    expect_no_empty_fetch([](uint64_t) { return std::make_unique<TurnQueue>(); },
                          is_long() ? 1'000'000 : 4'000);
}

TEST(ClaimCursor, NoClaimComesBackEmpty) {
    expect_no_empty_fetch([](uint64_t seed) { return std::make_unique<TaskQueue>(seed); },
                          is_long() ? 200'000 : 4'000);
}

}  // namespace
}  // namespace belay::test::stress
