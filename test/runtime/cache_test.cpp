// Executions in memory: hits, each reason of a miss, bounds.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "cache.hpp"
#include "driver.hpp"

namespace {

using namespace driver;
using belay::Context;
using belay::Durable;
using belay::engine::Cache;
using belay::engine::CacheLimits;
using belay::engine::Execution;
using belay::engine::Miss;
using belay::engine::StoredFacts;

constexpr belay::ActivityOf<std::string(std::string)> step{"Step"};
constexpr belay::OrchestrationOf<std::string(std::string)> code{"Code"};

Durable<std::string> waits(Context ctx, std::string input) {
    std::string text = co_await ctx.call(step, input);
    co_return text;
}

const belay::Registry& registry() {
    static const belay::Registry all = [] {
        belay::Registry registry;
        registry.on(code, &waits);
        return registry;
    }();
    return all;
}

// An execution after its first turn.
std::unique_ptr<Execution> execution(const std::string& id) {
    belay::engine::TurnRequest request;
    request.instance_id = id;
    const std::string message = start("Code", "x");
    request.messages = {message};
    return belay::engine::run_turn(request, registry(), {}).execution;
}

// LC-2: used only if it is what is stored.
TEST(Cache, HitAndMisses) {
    const StoredFacts stored{1, 2, "a", "text"};
    const auto take = [&](const StoredFacts& facts) {
        Cache cache{CacheLimits()};
        cache.put(execution("i"), stored, 0);
        Miss miss = Miss::kNone;
        const auto found = cache.take("i", facts, miss);
        EXPECT_EQ(found != nullptr, miss == Miss::kNone);
        EXPECT_EQ(cache.stats().bytes, 0u);
        EXPECT_EQ(cache.stats().instances, 0u);
        Miss again = Miss::kNone;
        EXPECT_EQ(cache.take("i", facts, again), nullptr);  // it is taken out
        EXPECT_EQ(again, Miss::kAbsent);
        return miss;
    };
    EXPECT_EQ(take(stored), Miss::kNone);
    EXPECT_EQ(take({2, 2, "a", "text"}), Miss::kExecution);
    EXPECT_EQ(take({1, 2, "b", "text"}), Miss::kIncarnation);
    EXPECT_EQ(take({1, 3, "a", "text"}), Miss::kEvent);
    EXPECT_EQ(take({1, 2, "a", "other"}), Miss::kLife);
    // The server vouches for the life, but not for more.
    EXPECT_EQ(take({1, 2, "a", "", true}), Miss::kNone);
    EXPECT_EQ(take({2, 2, "a", "", true}), Miss::kExecution);
    EXPECT_EQ(take({1, 3, "a", "", true}), Miss::kEvent);
}

// LC-2: a thread that comes late with an earlier turn does not replace the later one.
TEST(Cache, LatePut) {
    const StoredFacts later{1, 4, "a", "later"};
    Cache cache{CacheLimits()};
    cache.put(execution("i"), later, 0);
    cache.put(execution("i"), {1, 2, "a", "earlier"}, 1);
    EXPECT_EQ(cache.stats().instances, 1u);
    Miss miss = Miss::kNone;
    EXPECT_NE(cache.take("i", later, miss), nullptr);
    EXPECT_EQ(cache.stats().bytes, 0u);
}

// LC-2: a thread that comes late with a turn of a deleted instance of the same id. Which of the two
// is stored cannot be told from the server's answer, so neither is kept.
TEST(Cache, LatePutOfOtherLife) {
    Cache cache{CacheLimits()};
    cache.put(execution("i"), {1, 2, "a", "new"}, 0);
    cache.put(execution("i"), {1, 2, "a", "old"}, 1);
    EXPECT_EQ(cache.stats().instances, 0u);
    EXPECT_EQ(cache.stats().bytes, 0u);
}

// AT-14: to end an instance without its code the history is needed, which the server has omitted.
TEST(Cache, OmittedHistoryIsNeeded) {
    belay::engine::TurnRequest request;
    request.instance_id = "i";
    request.attempt = 2;
    request.history_omitted = true;
    request.messages = {"no message"};
    std::vector<belay::RuntimeEvent> told;
    belay::engine::TurnOptions options;
    options.hook = [&](const belay::RuntimeEvent& event) { told.push_back(event); };
    options.max_attempts = 2;
    EXPECT_EQ(belay::engine::run_turn(request, registry(), options, execution("i")).kind,
              belay::engine::TurnResult::Kind::kCorrupt);
    EXPECT_EQ(told.size(), 1u);
    options.max_attempts = 1;
    EXPECT_THROW(belay::engine::run_turn(request, registry(), options, execution("i")),
                 belay::engine::HistoryNeeded);
    EXPECT_EQ(told.size(), 1u);  // The run with the history tells.
    request.history_omitted = false;
    EXPECT_TRUE(belay::engine::run_turn(request, registry(), options).ended);
    EXPECT_EQ(told.size(), 2u);
}

// LC-4: bounds in number and in bytes, least recently used first; LC-5: idle ones leave.
TEST(Cache, Bounds) {
    CacheLimits limits;
    limits.instances = 2;
    limits.idle_ms = 100;
    Cache cache(limits);
    Miss miss = Miss::kNone;
    EXPECT_TRUE(cache.put(execution("a"), {}, 0).empty());
    EXPECT_TRUE(cache.put(execution("b"), {}, 0).empty());
    cache.put(cache.take("a", {}, miss), {}, 50);
    EXPECT_EQ(cache.put(execution("c"), {}, 60), std::vector<std::string>{"b"});
    EXPECT_EQ(cache.stats().evictions, 1u);
    EXPECT_EQ(cache.drop_idle(150), std::vector<std::string>{"a"});
    cache.clear();
    EXPECT_EQ(cache.stats().bytes, 0u);

    const std::size_t one = execution("x")->bytes();
    CacheLimits bytes;
    bytes.bytes = one * 5;
    Cache small(bytes);
    for (int i = 0; i < 9; ++i) {
        small.put(execution(std::string(1, static_cast<char>('a' + i))), {}, 0);
    }
    EXPECT_EQ(small.stats().instances, 5u);
    EXPECT_LE(small.stats().bytes, bytes.bytes);
    CacheLimits tiny;
    tiny.bytes = one;  // larger than a quarter: not kept
    Cache none(tiny);
    none.put(execution("x"), {}, 0);
    EXPECT_EQ(none.stats().instances, 0u);
    CacheLimits off;
    off.bytes = 0;  // LC-7
    Cache turned_off(off);
    turned_off.put(execution("x"), {}, 0);
    EXPECT_EQ(turned_off.stats().instances, 0u);
}

// Memory of an instance that waits for an activity. PK-5: frames are counted.
TEST(Cache, BytesOfInstance) {
    const auto waiting = execution("x");
    EXPECT_GT(waiting->frame_bytes(), 0);
    EXPECT_LE(waiting->bytes(), 2048u);
}

// TH-2: an instance may change its thread between turns; one owner at a time.
TEST(Cache, Threads) {
    CacheLimits limits;
    limits.instances = 8;
    Cache cache(limits);
    std::atomic<int> turns{0};
    const auto work = [&](int thread) {
        for (int i = 0; i < 200; ++i) {
            const std::string id = std::to_string((i * 7 + thread) % 12);
            Miss miss = Miss::kNone;
            auto live = cache.take(id, {}, miss);
            if (!live) {
                live = execution(id);
            }
            live->begin_turn(i);
            live->finish();
            cache.put(std::move(live), {}, i);
            ++turns;
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back(work, i);
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(turns, 800);
    cache.clear();
    EXPECT_EQ(cache.stats().bytes, 0u);
}

}  // namespace
