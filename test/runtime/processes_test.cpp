// Durable functions in several processes: turns of one instance go to one and to the other.
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <string>

#include <gtest/gtest.h>

#include "belay/runtime.hpp"
#include "faults.hpp"
#include "server.hpp"

namespace {

using belay::Context;
using belay::Durable;
using belay::Milliseconds;
using belay::RuntimeEvent;
using belay::test::Process;

inline constexpr belay::OrchestrationOf<int(int)> adder{"Adder"};

// The sum of so many messages, which is its status meanwhile.
Durable<int> add_messages(Context ctx, int count) {
    int sum = 0;
    for (int i = 0; i < count; ++i) {
        ctx.set_status(std::to_string(sum));
        int number = co_await ctx.dequeue<int>("numbers");
        sum += number;
        ctx.log("added");
    }
    co_return sum;
}

class RuntimeProcesses : public belay::test::WithServer {};

// What the processes tell the test.
struct Told {
    std::array<std::atomic<int>, 2> turns = {};
    std::atomic<int> errors = 0;  // of the code and of the cache
};

// LC-2: two processes have the turns of an instance in memory, each of them in turn, without slots.
// While one has a turn the other one is stopped, so what that has in memory is old each time.
TEST_F(RuntimeProcesses, AlternateOnOneInstance) {
    constexpr int kCount = 12;
    void* const shared =
        ::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    Told& told = *new (shared) Told;
    const auto body = [&](std::size_t number) {
        belay::RuntimeOptions given;
        given.connection = options();
        given.hub = "app";
        given.share_slots = false;
        // The stopped one may have taken a wake-up, or even the turn.
        given.wait_timeout = Milliseconds(100);
        given.lock_timeout = Milliseconds(2000);
        given.on_event = [&told, number](const RuntimeEvent& event) {
            told.turns[number] += event.kind == RuntimeEvent::Kind::kLog;
            told.errors += event.kind == RuntimeEvent::Kind::kNondeterministic ||
                           event.kind == RuntimeEvent::Kind::kCorrupt;
        };
        belay::Runtime runtime(given);
        runtime.on(adder, &add_messages);
        runtime.run();
    };
    Process one([&] { body(0); });
    Process other([&] { body(1); });
    belay::Connection connection(options());
    belay::Hub hub(connection, "app");
    auto started = belay::start(hub, adder, kCount, {.instance_id = "a"});
    const auto has_sum = [&](int wanted) {
        return belay::test::wait_until([&] {
            const auto status = hub.orchestrations().custom_status("a");
            return status && status->value == std::to_string(wanted);
        });
    };
    int sum = 0;
    for (int i = 1; i <= kCount; ++i) {
        ASSERT_TRUE(has_sum(sum)) << i;
        Process& stopped = i % 2 == 0 ? one : other;
        ::kill(stopped.pid(), SIGSTOP);
        hub.orchestrations().raise_text("a", "numbers", std::to_string(i), true);
        sum += i;
        if (i < kCount) {
            ASSERT_TRUE(has_sum(sum)) << i;
        } else {
            EXPECT_EQ(started.wait(std::chrono::seconds(60)), sum);
        }
        ::kill(stopped.pid(), SIGCONT);
    }
    EXPECT_GE(told.turns[0], kCount / 2);
    EXPECT_GE(told.turns[1], kCount / 2);
    EXPECT_EQ(told.errors, 0);
    int added = 0;
    for (const auto& event : hub.orchestrations().history("a")) {
        added += event.event_data.find("\"ExternalEventPersistent\"") != std::string::npos;
    }
    EXPECT_EQ(added, kCount);
    ::munmap(shared, sizeof(Told));
}

}  // namespace
