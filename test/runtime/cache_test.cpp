// Executions in memory: hits, each reason of a miss, bounds.
#include <atomic>
#include <ctime>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "cache.hpp"
#include "driver.hpp"
#include "refusals.hpp"

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
    const StoredFacts stored{1, 2, "text"};
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
    EXPECT_EQ(take({2, 2, "text"}), Miss::kExecution);
    EXPECT_EQ(take({1, 3, "text"}), Miss::kEvent);
    EXPECT_EQ(take({1, 2, "other"}), Miss::kLife);
    // The server vouches for the life, but not for more.
    EXPECT_EQ(take({1, 2, "", true}), Miss::kNone);
    EXPECT_EQ(take({2, 2, "", true}), Miss::kExecution);
    EXPECT_EQ(take({1, 3, "", true}), Miss::kEvent);
}

// BO-7: a turn that comes before the thread of the last one has put its execution in waits for it;
// turns of other instances do not.
TEST(Cache, TakeWaitsForWhatIsComing) {
    const StoredFacts stored{1, 2, "text"};
    Cache cache{CacheLimits()};
    std::optional<Cache::Coming> coming(std::in_place, cache, "i");
    Miss miss = Miss::kNone;
    EXPECT_EQ(cache.take("j", stored, miss), nullptr);
    EXPECT_EQ(miss, Miss::kAbsent);
    std::atomic<bool> begun = false;
    std::unique_ptr<Execution> taken;
    std::thread next([&] {
        begun = true;
        Miss ignored = Miss::kNone;
        taken = cache.take("i", stored, ignored);
    });
    while (!begun) {
        std::this_thread::yield();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // so that it could come too early
    cache.put(execution("i"), stored, 0);
    coming.reset();
    next.join();
    EXPECT_NE(taken, nullptr);
    // An ack that has failed puts nothing in.
    { const Cache::Coming failed(cache, "i"); }
    EXPECT_EQ(cache.take("i", stored, miss), nullptr);
}

// LC-2: a thread that comes late with an earlier turn does not replace the later one.
TEST(Cache, LatePut) {
    const StoredFacts later{1, 4, "later"};
    Cache cache{CacheLimits()};
    cache.put(execution("i"), later, 0);
    cache.put(execution("i"), {1, 2, "earlier"}, 1);
    EXPECT_EQ(cache.stats().instances, 1u);
    Miss miss = Miss::kNone;
    EXPECT_NE(cache.take("i", later, miss), nullptr);
    EXPECT_EQ(cache.stats().bytes, 0u);
}

// LC-2: a thread that comes late with a turn of a deleted instance of the same id. Which of the two
// is stored cannot be told from the server's answer, so neither is kept.
TEST(Cache, LatePutOfOtherLife) {
    Cache cache{CacheLimits()};
    cache.put(execution("i"), {1, 2, "new"}, 0);
    cache.put(execution("i"), {1, 2, "old"}, 1);
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
    ASSERT_EQ(told.size(), 3u);
    EXPECT_EQ(told[1].kind, belay::RuntimeEvent::Kind::kCorrupt);
    EXPECT_EQ(told[2].kind, belay::RuntimeEvent::Kind::kEnded);
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
    CacheLimits at_once;
    at_once.idle_ms = 0;  // LC-7
    Cache evicting(at_once);
    EXPECT_EQ(evicting.put(execution("x"), {}, 0), std::vector<std::string>{"x"});
    EXPECT_TRUE(evicting.accepts(one));  // The server is told of it nevertheless.
    EXPECT_EQ(evicting.stats().evictions, 1u);
    EXPECT_EQ(evicting.stats().instances, 0u);
    EXPECT_EQ(evicting.stats().bytes, 0u);
    EXPECT_EQ(evicting.take("x", {}, miss), nullptr);
    EXPECT_EQ(miss, Miss::kAbsent);
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

constexpr belay::OrchestrationOf<int(int)> many{"Many"};

Durable<int> asks_many(Context ctx, int n) {
    std::vector<belay::Call<std::string>> calls;
    for (int i = 0; i < n; ++i) {
        calls.push_back(ctx.call(step, std::string("x")));
    }
    std::vector<std::string> results = co_await belay::when_all(std::move(calls));
    co_return static_cast<int>(results.size());
}

// LC-4: the bytes of calls are a running sum, so that asking for them after each of n acks does not
// cost n * n: here 10^9 steps, of which a tenth would take more processor time than this allows.
TEST(Cache, BytesAreKeptNotCounted) {
    belay::Registry registry;
    registry.on(many, &asks_many);
    belay::engine::TurnRequest request;
    request.instance_id = "m";
    const std::string message = start("Many", "100000");
    request.messages = {message};
    const auto waiting = belay::engine::run_turn(request, registry, {}).execution;
    ASSERT_EQ(waiting->open_calls().size(), 100000u);
    EXPECT_GT(waiting->bytes(), 100000 * sizeof(belay::detail::CallState));
    const auto began = std::clock();
    std::size_t sum = 0;
    for (int i = 0; i < 10000; ++i) {
        sum += waiting->bytes();
    }
    EXPECT_LT(std::clock() - began, CLOCKS_PER_SEC);
    EXPECT_EQ(sum, waiting->bytes() * 10000);
}

// LC-4: what an outcome holds counts until the code has taken it, and then no more.
TEST(Cache, BytesFollowTheTexts) {
    for (const bool cached : {false, true}) {
        Driver d;
        d.options.verify = false;
        d.cached = cached;
        d.registry.on(many, &asks_many);
        d.turn({start("Many", "2")});
        const auto bytes = [&] { return d.last.execution ? d.last.execution->bytes() : d.bytes(); };
        const std::size_t before = bytes();
        d.turn({completed(2, std::string(50000, 'x'))});
        EXPECT_GE(bytes(), before + 50000);
        EXPECT_LE(bytes(), before + 51000);
    }
    const auto waiting = execution("x");
    const std::size_t before = waiting->bytes();
    waiting->begin_turn(1);
    belay::engine::Message message =
        belay::engine::parse_message(completed(2, std::string(50000, 'x')));
    waiting->deliver(message);
    EXPECT_LT(waiting->bytes(), before);  // The code has ended with it; the call is gone.
}

// PK-5, LC-4: for every end of an execution, no frame is left of them.
TEST(Cache, NoFrameIsLeft) {
    const auto left = belay::engine::frame_bytes_left();
    {
        CacheLimits limits;
        limits.instances = 1;
        limits.idle_ms = 10;
        Cache cache(limits);
        cache.put(execution("a"), {}, 0);
        EXPECT_EQ(cache.put(execution("b"), {}, 0), std::vector<std::string>{"a"});
        EXPECT_EQ(cache.drop_idle(10), std::vector<std::string>{"b"});
        cache.put(execution("c"), {1, 1, ""}, 0);
        Miss miss = Miss::kNone;
        EXPECT_EQ(cache.take("c", {2, 1, ""}, miss), nullptr);
        const auto ended = execution("d");
        ended->begin_turn(1);
        ended->deliver(belay::engine::parse_message(completed(2, "y")));
        ended->finish();
        EXPECT_TRUE(ended->ended());
        EXPECT_GT(ended->frame_bytes(), 0);  // Its result is in the frame.
    }
    EXPECT_EQ(belay::engine::frame_bytes_left(), left);
    // A frame that the application keeps is found.
    static std::unique_ptr<Durable<std::string>> kept;
    belay::Registry registry;
    registry.on(
        code, +[](Context ctx, std::string input) -> Durable<std::string> {
            kept = std::make_unique<Durable<std::string>>(waits(ctx, input));
            return waits(ctx, input);
        });
    belay::engine::TurnRequest request;
    request.instance_id = "k";
    const std::string message = start("Code", "x");
    request.messages = {message};
    belay::engine::run_turn(request, registry, {}).execution.reset();
    EXPECT_GT(belay::engine::frame_bytes_left(), left);
    kept.reset();
}

// The delays of turns that are released; instances that do not come back are forgotten.
TEST(Refusals, GrowAndAreForgotten) {
    belay::engine::Refusals refusals;
    std::vector<std::int64_t> delays;
    for (int i = 0; i < 8; ++i) {
        delays.push_back(refusals.refused("a", 0));
    }
    EXPECT_EQ(delays,
              (std::vector<std::int64_t>{1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000}));
    EXPECT_EQ(refusals.refused("b", 0), 1000);
    refusals.succeeded("a");
    EXPECT_EQ(refusals.refused("a", 500000), 1000);
    refusals.forget_old(600000);
    EXPECT_EQ(refusals.size(), 2u);
    refusals.forget_old(600001);
    EXPECT_EQ(refusals.size(), 1u);
    refusals.forget_old(1100001);
    EXPECT_EQ(refusals.size(), 0u);
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
