// Many fetchers, and clients that die at any moment: every item is finished exactly once. They only
// poll (CC-12).
//
// A worker notes the effect of an item in a table, in the transaction of its ack. So the table
// tells what happened even where a client lost its connection and does not know.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "client.hpp"

namespace belay::test::stress {
namespace {

using std::to_string;

constexpr int kFetchers = 50;
constexpr int kOwners = 10;
constexpr int kSessions = 40;
constexpr int kMostBatch = 20;
constexpr double kPatience = 120;  // seconds without any progress, then the test gives up
constexpr const char* kTags[] = {"a", "b", "c"};

enum class Form { kSingle, kAckAndFetch, kBatch, kSettle };

// What the clients know, gathered from all threads.
struct Ledger : Complaints {
    explicit Ledger(int64_t items) : acked(static_cast<std::size_t>(items)) {}

    std::vector<std::atomic<int>> acked;  // acks that succeeded, per item
    std::atomic<int64_t> lost_leases = 0;
    std::atomic<int64_t> unknown = 0;  // items whose ack lost its connection
    std::atomic<int64_t> drops = 0;
    std::atomic<int64_t> losses = 0;

    // An ack succeeded.
    void confirm(int64_t item) {
        if (++acked.at(static_cast<std::size_t>(item)) > 1) {
            complain("item " + to_string(item) + " was acked twice");
        }
    }
};

struct Leased {
    int64_t item;
    std::string token;
};

class Fetcher {
 public:
    Fetcher(Cluster* cluster, Ledger* ledger, Form form, int number, uint64_t seed,
            const std::atomic<bool>* stop)
        : client_(cluster, "SET application_name = 'fetcher'", stop),
          ledger_(*ledger),
          form_(form),
          number_(number),
          random_(seed),
          stop_(*stop) {}

    void run() {
        while (!stop_) {
            auto leased = fetch();
            if (leased.empty()) {
                std::this_thread::sleep_for(std::chrono::milliseconds(random_.number(1, 10)));
                continue;
            }
            switch (form_) {
                case Form::kSingle:
                    work_on(leased[0]);
                    break;
                case Form::kAckAndFetch:
                    for (auto next = std::optional(leased[0]); next;) {
                        next = work_on(*next);
                    }
                    break;
                case Form::kBatch:
                    work_on_all(leased);
                    break;
                case Form::kSettle:
                    while (!leased.empty()) {
                        leased = settle_all(leased);
                    }
                    break;
            }
        }
        ledger_.losses += client_.losses();
    }

 private:
    // Runs statements that may fail only because the connection or a lease was lost.
    Answer ask(const std::string& sql) {
        Answer answer = client_.ask(sql);
        if (!answer.ok() && !answer.lost) {
            if (answer.sqlstate == "QB001") {
                ++ledger_.lost_leases;
            } else {
                ledger_.complain(answer.sqlstate + " " + answer.message + " in " + sql);
            }
        }
        return answer;
    }

    // The arguments of a fetch from the timeout on. Leases are short: a worker that dies leaves its
    // item to the others. Most fetchers take everything, so that nothing is left behind.
    std::string terms() {
        const std::string timeout = to_string(random_.number(300, 1200));
        const std::string owner = "'w" + to_string(number_ % kOwners) + "'";
        switch (random_.number(0, 9)) {
            case 0:
                return timeout + ", NULL, NULL, NULL, 'default_only'";
            case 1:
                return timeout + ", NULL, NULL, ARRAY['a', 'b'], 'tags'";
            case 2:
                return timeout + ", " + owner + ", 500, ARRAY['c'], 'default_and'";
            default:
                return timeout + ", " + owner + ", " + to_string(random_.number(200, 800)) +
                       ", NULL, 'any'";
        }
    }

    std::vector<Leased> fetch() {
        const std::string sql = form_ == Form::kBatch || form_ == Form::kSettle
                                    ? "SELECT * FROM app.fetch_work_items(" + terms() + ", " +
                                          to_string(random_.number(1, kMostBatch)) + ")"
                                    : "SELECT * FROM app.fetch_work_item(" + terms() + ")";
        return leased_of(ask(sql));
    }

    static std::vector<Leased> leased_of(const Answer& answer) {
        std::vector<Leased> leased;
        for (const auto& row : answer.rows) {
            leased.push_back(leased_of(row));
        }
        return leased;
    }
    static Leased leased_of(const std::vector<Text>& row) {
        // {"ActivityExecute": {"input": "17"}}
        const std::string text = row.at(0).value_or("");
        const auto digits = text.find_first_of("0123456789");
        return {std::stoll(text.substr(digits)), row.at(1).value_or("")};
    }

    // What may happen between fetch and ack. False if the item is not to be acked.
    bool survives(const Leased& leased) {
        const std::string token = "'" + leased.token + "'";
        if (random_.in_thousand(4)) {  // the process dies
            ++ledger_.drops;
            client_.drop();
            return false;
        }
        if (random_.in_thousand(4)) {  // it dies in the transaction of the ack
            ++ledger_.drops;
            (void)ask("BEGIN; SELECT app.ack_worker(" + token + "); " + effect(leased.item));
            client_.drop();
            return false;
        }
        if (random_.in_thousand(30)) {
            static constexpr const char* kHow[] = {"", ", 5", ", 30, true", ", NULL, true"};
            (void)ask("SELECT app.abandon_work_item(" + token + kHow[random_.number(0, 3)] + ")");
            return false;
        }
        if (random_.in_thousand(30)) {
            return ask("SELECT app.renew_work_item_lock(" + token + ", 500)").ok();
        }
        return true;
    }

    static std::string effect(int64_t item) {
        return "INSERT INTO effects VALUES (" + to_string(item) + ")";
    }

    std::optional<Leased> work_on(const Leased& leased) {
        if (!survives(leased)) {
            return std::nullopt;
        }
        const std::string token = "'" + leased.token + "'";
        const Answer answer =
            form_ == Form::kSingle
                ? ask("SELECT app.ack_worker(" + token + "); " + effect(leased.item))
                : ask(effect(leased.item) + "; SELECT * FROM app.ack_and_fetch_work_item(" + token +
                      ", NULL, NULL, " + terms() + ")");
        ledger_.unknown += answer.lost ? 1 : 0;
        if (!answer.ok()) {
            return std::nullopt;
        }
        ledger_.confirm(leased.item);
        const auto next = leased_of(answer);
        return form_ == Form::kSingle || next.empty() ? std::nullopt : std::optional(next[0]);
    }

    void work_on_all(const std::vector<Leased>& all) {
        std::string acks;
        std::string items;
        int count = 0;
        for (const auto& leased : all) {
            if (survives(leased)) {
                ++count;
                acks += (acks.empty() ? "" : ", ") + ("{\"lock_token\": \"" + leased.token + "\"}");
                items += (items.empty() ? "('" : ", ('") + leased.token + "', " +
                         to_string(leased.item) + ")";
            }
        }
        if (acks.empty()) {
            return;
        }
        const Answer answer =
            ask("WITH a AS MATERIALIZED (SELECT * FROM app.ack_workers('[" + acks +
                "]')) INSERT INTO effects SELECT i.item FROM a JOIN (VALUES " + items +
                ") AS i(token, item) ON i.token = a.lock_token WHERE a.acked "
                "RETURNING item");
        ledger_.unknown += answer.lost ? count : 0;
        for (const auto& row : answer.rows) {
            ledger_.confirm(std::stoll(row.at(0).value_or("")));
        }
    }

    // A portion: acks, abandons and a lease that no session has, each with its own fate; the same
    // call brings the next items.
    std::vector<Leased> settle_all(const std::vector<Leased>& all) {
        std::string tokens = "'lost'";
        std::string outcomes = "'ack'";
        std::string ignores = "NULL";
        std::string items = "(0, -1)";
        int count = 0;
        int place = 0;
        for (const auto& leased : all) {
            if (!survives(leased)) {
                continue;
            }
            const bool acks = !random_.in_thousand(50);
            tokens += ", '" + leased.token + "'";
            outcomes += acks ? ", 'ack'" : ", 'abandon'";
            ignores += random_.in_thousand(500) ? ", true" : ", NULL";
            ++place;
            if (acks) {
                ++count;
                items += ", (" + to_string(place) + ", " + to_string(leased.item) + ")";
            }
        }
        const Answer answer =
            ask("WITH s AS MATERIALIZED (SELECT * FROM app.settle_and_fetch_work_items(ARRAY[" +
                tokens + "], ARRAY[" + outcomes + "], NULL, NULL, ARRAY[" + ignores +
                "]::boolean[], NULL, " + terms() + ", " + to_string(random_.number(1, kMostBatch)) +
                ", p_prefetch => 5, p_prefetch_threshold => 10)), e AS (INSERT INTO effects "
                "SELECT i.item FROM s JOIN (VALUES " +
                items +
                ") AS i(place, item) ON i.place = s.outcome_index WHERE s.error IS NULL RETURNING "
                "item) SELECT work_item, lock_token, NULL FROM s WHERE outcome_index IS NULL UNION "
                "ALL SELECT NULL, NULL, item FROM e");
        ledger_.unknown += answer.lost ? count : 0;
        std::vector<Leased> next;
        for (const auto& row : answer.rows) {
            if (row.at(2)) {
                ledger_.confirm(std::stoll(*row.at(2)));
            } else {
                next.push_back(leased_of(row));
            }
        }
        return next;
    }

    Client client_;
    Ledger& ledger_;
    Form form_;
    int number_;
    Random random_;
    const std::atomic<bool>& stop_;
};

// Sends items in small batches, each once: table produced tells which are there, regardless of what
// happened to a connection.
class Producer {
 public:
    Producer(Cluster* cluster, Ledger* ledger)
        : client_(cluster, "SELECT 1", &never_), ledger_(*ledger), random_(run_seed()) {}

    void produce(int64_t first, int64_t end) {
        while (first < end && !ledger_.has_complaints()) {
            const int64_t next = std::min(end, first + 100);
            std::string items;
            for (int64_t item = first; item < next; ++item) {
                items += (items.empty() ? "" : ", ") + element(item);
            }
            const std::string sql = "WITH n AS (INSERT INTO produced VALUES (" + to_string(first) +
                                    ") ON CONFLICT DO NOTHING RETURNING 1) SELECT "
                                    "app.enqueue_worker_items('[" +
                                    items + "]') FROM n";
            Answer answer;
            do {
                answer = client_.ask(sql);
            } while (answer.lost);
            if (!answer.ok()) {
                ledger_.complain(answer.message);
            }
            first = next;
        }
    }

 private:
    std::string element(int64_t item) {
        std::string text =
            "{\"work_item\": {\"ActivityExecute\": {\"input\": \"" + to_string(item) + "\"}}";
        if (random_.in_thousand(400)) {
            text += std::string(", \"tag\": \"") + kTags[random_.number(0, 2)] + "\"";
        }
        if (random_.in_thousand(300)) {
            text += ", \"session_id\": \"s" + to_string(random_.number(1, kSessions)) + "\"";
        }
        if (random_.in_thousand(100)) {
            text += ", \"delay_ms\": " + to_string(random_.number(1, 300));
        }
        return text + "}";
    }

    const std::atomic<bool> never_ = false;
    Client client_;
    Ledger& ledger_;
    Random random_;
};

class ExactlyOnce : public testing::Test {
 protected:
    ExactlyOnce()
        : cluster_({.preload = true, .conf = {"max_connections = 120", kLogPrefix}}),
          random_(run_seed()) {
        Conn conn = cluster_.connect();
        conn.exec("CREATE EXTENSION belay");
        conn.exec("SELECT belay.create_hub('app')");
        conn.exec("CREATE TABLE effects (item bigint NOT NULL)");
        conn.exec("CREATE TABLE produced (first bigint PRIMARY KEY)");
    }

    // Works off so many items. disturb is called again and again meanwhile.
    template <typename Disturb>
    void work_off(Form form, int64_t items, Disturb disturb) {
        Ledger ledger(items);
        Producer producer(&cluster_, &ledger);
        producer.produce(0, items / 2);

        const Stopwatch watch;
        std::atomic<bool> stop = false;
        std::vector<std::thread> threads;
        for (int i = 0; i < kFetchers; ++i) {
            threads.emplace_back([&, i, seed = run_seed() + 1 + static_cast<uint64_t>(i)] {
                Fetcher(&cluster_, &ledger, form, i, seed, &stop).run();
            });
        }
        std::thread janitor([&] {
            Client client(&cluster_, "SELECT 1", &stop);
            while (!stop) {
                for (const char* sql :
                     {"SELECT app.renew_session_lock(ARRAY['w0', 'w1', 'w2'], 400, 300)",
                      "SELECT app.cleanup_orphaned_sessions(NULL)"}) {
                    const Answer answer = client.ask(sql);
                    if (!answer.ok() && !answer.lost) {
                        ledger.complain(answer.sqlstate + " " + answer.message + " in " + sql);
                    }
                }
                std::this_thread::sleep_for(std::chrono::milliseconds(30));
            }
        });

        // The other half comes while the first is being worked off.
        std::atomic<bool> produced = false;
        std::thread producing([&] {
            producer.produce(items / 2, items);
            produced = true;
        });
        Client observer(&cluster_, "SELECT 1", &stop);
        Text left_before;
        Stopwatch since_change;
        while (!ledger.has_complaints()) {
            disturb();
            const bool all_there = produced;
            const Answer left = observer.ask("SELECT count(*) FROM app.work_items");
            if (all_there && left.ok() && left.rows[0][0] == "0") {
                break;
            }
            if (left.ok() && left.rows[0][0] != left_before) {
                left_before = left.rows[0][0];
                since_change = Stopwatch();
            } else if (since_change.seconds() > kPatience) {
                ledger.complain("nothing happens any more, items left: " +
                                left_before.value_or(""));
            }
        }
        stop = true;
        producing.join();
        for (auto& thread : threads) {
            thread.join();
        }
        janitor.join();
        const double seconds = watch.seconds();
        check(ledger, items);
        std::cout << "  " << items << " items, " << static_cast<int64_t>(items / seconds)
                  << " items/s; leases lost " << ledger.lost_leases << ", connections killed "
                  << ledger.losses << ", dropped " << ledger.drops << ", acks of unknown outcome "
                  << ledger.unknown << "\n";
    }

    void check(Ledger& ledger, int64_t items) {
        for (const auto& complaint : ledger.complaints) {
            ADD_FAILURE() << complaint;
        }
        Conn conn = cluster_.connect();
        EXPECT_EQ(conn.value("SELECT count(*) FROM app.work_items"), "0");
        EXPECT_EQ(conn.value("SELECT count(*) FROM app.dead_letters"), "0");
        EXPECT_EQ(conn.value("SELECT count(*) FROM effects"), to_string(items));
        EXPECT_EQ(conn.value("SELECT count(DISTINCT item) FROM effects"), to_string(items));
        int64_t confirmed = 0;
        for (const auto& acks : ledger.acked) {
            confirmed += acks;
        }
        EXPECT_GE(confirmed + ledger.unknown, items);

        // Sessions lapse, and then nothing keeps them.
        for (const Stopwatch watch; watch.seconds() < kPatience && !HasFailure();) {
            conn.exec("SELECT app.cleanup_orphaned_sessions(NULL)");
            if (conn.value("SELECT count(*) FROM app.sessions") == "0") {
                break;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        EXPECT_EQ(conn.value("SELECT count(*) FROM app.sessions"), "0");
        for (const auto& line : unexpected_errors(cluster_.log(), kExpectedErrors)) {
            ADD_FAILURE() << line;
        }
    }

    // Lost leases; killed and vanished clients; a crash and the time until the server is back.
    const std::vector<std::string> kExpectedErrors = {"QB001", "57P01", "08006", "57P02", "57P03"};

    Cluster cluster_;
    Random random_;
};

class Kills : public ExactlyOnce, public testing::WithParamInterface<Form> {};

// pg_terminate_backend hits fetchers at random, wherever they are.
TEST_P(Kills, EveryItemIsFinishedOnce) {
    const std::atomic<bool> never = false;
    Client killer(&cluster_, "SELECT 1", &never);
    work_off(GetParam(), is_long() ? 100'000 : 10'000, [&] {
        (void)killer.ask(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'fetcher' ORDER BY random() LIMIT 2");
        std::this_thread::sleep_for(std::chrono::milliseconds(random_.number(10, 60)));
    });
}

INSTANTIATE_TEST_SUITE_P(Forms, Kills,
                         testing::Values(Form::kSingle, Form::kAckAndFetch, Form::kBatch,
                                         Form::kSettle),
                         [](const auto& info) {
                             return info.param == Form::kSingle        ? "Single"
                                    : info.param == Form::kAckAndFetch ? "AckAndFetch"
                                    : info.param == Form::kBatch       ? "Batch"
                                                                       : "Settle";
                         });

// A backend dies by SIGKILL: the server ends all sessions and recovers.
TEST_F(ExactlyOnce, AfterCrashesOfTheServer) {
    const std::atomic<bool> never = false;
    Client observer(&cluster_, "SELECT 1", &never);
    int crashes = 0;
    const int wanted = is_long() ? 10 : 3;
    const int64_t items = is_long() ? 40'000 : 6'000;
    work_off(Form::kSingle, items, [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(random_.number(20, 100)));
        // Spread over the run: the next crash comes when its share of the work is done.
        const Answer done = observer.ask("SELECT count(*) FROM effects");
        if (crashes < wanted && done.ok() &&
            std::stoll(done.rows[0][0].value_or("0")) * (wanted + 1) > items * (crashes + 1)) {
            const Answer victim = observer.ask(
                "SELECT pid FROM pg_stat_activity WHERE application_name = 'fetcher' "
                "ORDER BY random() LIMIT 1");
            if (victim.ok() && !victim.rows.empty()) {
                ASSERT_EQ(kill(std::stoi(victim.rows[0][0].value_or("0")), SIGKILL), 0);
                ++crashes;
            }
        }
    });
    EXPECT_EQ(crashes, wanted);
    std::cout << "  " << crashes << " crashes of the server\n";
}

}  // namespace
}  // namespace belay::test::stress
