// Ten concurrent fetchers over ten ready items get all ten (CC-2), again and again.
#include <gtest/gtest.h>

#include <barrier>
#include <iostream>
#include <set>
#include <thread>

#include "client.hpp"

namespace belay::test::stress {
namespace {

constexpr int kFetchers = 10;

struct Kind {
    const char* name;
    const char* item;       // fields of an element; %d is the number of the item
    const char* arguments;  // of the fetch, behind the timeout; %d is the number of the fetcher
};

void PrintTo(const Kind& kind, std::ostream* out) {
    *out << kind.name;
}

constexpr Kind kKinds[] = {
    {"Plain", "", "NULL, NULL, NULL, 'default_only'"},
    {"PlainWithOwners", "", "'w%d', NULL, NULL, 'default_only'"},
    {"Tags", ", \"tag\": \"t%d\"", "NULL, NULL, NULL, 'any'"},
    {"Delayed", ", \"delay_ms\": 1", "NULL, NULL, NULL, 'default_only'"},
    {"SessionOfItsOwn", ", \"session_id\": \"s%d\"", "'w%d', NULL, NULL, 'default_only'"},
};

std::string with_number(std::string text, int number) {
    if (const auto at = text.find("%d"); at != std::string::npos) {
        text.replace(at, 2, std::to_string(number));
    }
    return text;
}

class TenFetchers : public testing::TestWithParam<Kind> {};

TEST_P(TenFetchers, GetAllTen) {
    const Kind kind = GetParam();

    const int rounds = is_long() ? 1000 : 200;
    Cluster cluster({.preload = true, .conf = {"max_connections = 120", kLogPrefix}});
    Conn main = cluster.connect();
    main.exec("CREATE EXTENSION belay");
    main.exec("SELECT belay.create_hub('app')");
    main.exec("SELECT belay.set_hub_option('app', 'max_clock_skew', '0')");

    int64_t now = 1'000'000'000'000;
    std::string texts[kFetchers];
    std::string tokens[kFetchers];
    std::string errors[kFetchers];
    std::atomic<bool> stop = false;
    std::barrier ready(kFetchers + 1);
    std::barrier done(kFetchers + 1);
    std::vector<std::thread> threads;
    for (int fetcher = 0; fetcher < kFetchers; ++fetcher) {
        threads.emplace_back([&, fetcher] {
            const std::atomic<bool> never = false;
            Client client(&cluster, "SELECT 1", &never);
            const std::string arguments = with_number(kind.arguments, fetcher);
            while (true) {
                ready.arrive_and_wait();
                if (stop) {
                    return;
                }
                const Answer answer =
                    client.ask("SELECT * FROM app.fetch_work_item(60000, " + arguments +
                               ", p_now_ms => " + std::to_string(now) + ")");
                errors[fetcher] = answer.lost ? "connection lost" : answer.message;
                const bool got = answer.rows.size() == 1;
                texts[fetcher] = got ? answer.rows[0][0].value_or("") : "";
                tokens[fetcher] = got ? answer.rows[0][1].value_or("") : "";
                done.arrive_and_wait();
            }
        });
    }

    const Stopwatch watch;
    int round = 0;
    for (; round < rounds && !HasFailure(); ++round) {
        std::string items;
        for (int i = 0; i < kFetchers; ++i) {
            items += (i == 0 ? "" : ", ") +
                     ("{\"work_item\": {\"ActivityExecute\": {\"input\": \"" + std::to_string(i) +
                      "\"}}") +
                     with_number(kind.item, i) + "}";
        }
        main.exec("SELECT app.enqueue_worker_items('[" + items + "]', " + std::to_string(now) +
                  ")");
        now += 10;
        ready.arrive_and_wait();
        done.arrive_and_wait();
        std::set<std::string> distinct;
        std::string acks;
        for (int fetcher = 0; fetcher < kFetchers; ++fetcher) {
            EXPECT_EQ(errors[fetcher], "") << "round " << round;
            EXPECT_NE(tokens[fetcher], "") << "round " << round << ": no row for " << fetcher;
            distinct.insert(texts[fetcher]);
            acks += (acks.empty() ? "" : ", ") + ("{\"lock_token\": \"" + tokens[fetcher] + "\"}");
        }
        EXPECT_EQ(distinct.size(), static_cast<std::size_t>(kFetchers)) << "round " << round;
        EXPECT_EQ(main.value("SELECT count(*) FROM app.ack_workers('[" + acks + "]', " +
                             std::to_string(now) + ") WHERE acked"),
                  std::to_string(kFetchers))
            << "round " << round;
    }
    stop = true;
    ready.arrive_and_wait();
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(main.value("SELECT count(*) FROM app.work_items"), "0");
    for (const auto& line : unexpected_errors(cluster.log(), {})) {
        ADD_FAILURE() << line;
    }
    std::cout << "  " << round << " rounds, " << static_cast<int>(round / watch.seconds())
              << " rounds/s\n";
}

INSTANTIATE_TEST_SUITE_P(Kinds, TenFetchers, testing::ValuesIn(kKinds),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace belay::test::stress
