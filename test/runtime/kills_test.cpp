// Durable functions whose process, backends and server are killed at random moments.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "belay/runtime.hpp"
#include "faults.hpp"
#include "server.hpp"

namespace {

using belay::Context;
using belay::Durable;
using belay::Milliseconds;
using belay::test::Process;
using belay::test::RandomRounds;

inline constexpr belay::ActivityOf<int(int)> twice{"Twice"};
inline constexpr belay::ActivityOf<int(int)> held{"Held"};  // passes the turnstile
inline constexpr belay::OrchestrationOf<int(int)> child{"Child"};
inline constexpr belay::OrchestrationOf<int(int)> parent{"Parent"};

Durable<int> run_child(Context ctx, int n) {
    int doubled = co_await ctx.call(twice, n);
    int result = co_await ctx.call(held, doubled);
    co_return result;
}

// Something of each kind, one after the other and at once.
Durable<int> run_parent(Context ctx, int n) {
    int first = co_await ctx.call(twice, n);
    std::vector<belay::Call<int>> calls;
    for (int i = 0; i < 3; ++i) {
        calls.push_back(ctx.call(twice, i));
    }
    std::vector<int> others = co_await belay::when_all(std::move(calls));
    co_await ctx.sleep(Milliseconds(5));
    int last = co_await ctx.call(child, n);
    ctx.set_status("done");
    int sum = first + others[0] + others[1] + others[2] + last;
    int result = co_await ctx.call(held, sum);
    co_return result;
}

class RuntimeKills : public belay::test::WithServer,
                     public ::testing::WithParamInterface<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(Cached, RuntimeKills, ::testing::Values(0, 20, 10000));

// TA-4: with any number of instances in memory.
TEST_P(RuntimeKills, EachInstanceHasOneLife) {
    RandomRounds random;
    const int number = 300 * (random.is_long() ? belay::test::kLongWork : 1);
    const std::string all = std::to_string(number);
    {
        belay::Connection connection(options());
        belay::Hub hub(connection, "app");
        for (int i = 0; i < number; ++i) {
            belay::start(hub, parent, i, {.instance_id = "p" + std::to_string(i)});
        }
    }
    belay::RuntimeOptions given;
    given.connection = options();
    given.connection.conninfo += " application_name=portions";
    given.hub = "app";
    given.executors = 4;
    given.activity_concurrency = 4;
    given.lock_timeout = Milliseconds(2000);
    given.cache_instances = GetParam();
    given.verify_replay = 0.1;
    belay::test::Turnstile turnstile;
    Process process([&] {
        belay::Runtime runtime(given);
        runtime.on(parent, &run_parent);
        runtime.on(child, &run_child);
        runtime.on(twice, [](int n) { return 2 * n; });
        runtime.on(held, [&](int n) {
            turnstile.pass();
            return n;
        });
        runtime.run();
    });
    belay::test::kill_in_the_middle(
        *cluster, process, turnstile, "portions",
        "generate_series(1, 2 * " + all +
            ") AS n WHERE n > (SELECT count(*) FROM app.executions WHERE status = 'Completed')",
        random);
    belay::test::Conn own = admin();
    // 2n + (0 + 2 + 4) + 2n
    EXPECT_EQ(own.value("SELECT count(*) FROM app.list_instances_by_status('Completed') AS ended, "
                        "app.get_instance_info(ended.instance_id) AS info WHERE "
                        "ended.instance_id ~ '^p[0-9]+$' AND "
                        "info.output::int = 4 * substr(ended.instance_id, 2)::int + 6"),
              all);
    // Each event is stored once.
    const auto events = [&](const std::string& ids) {
        return own.value(
            "SELECT string_agg(event_type || ' ' || n, ', ' ORDER BY event_type) FROM "
            "(SELECT event_type, count(*) / " +
            all + " || rtrim('+' || count(*) % " + all +
            ", '+0') AS n FROM app.history WHERE instance_id ~ '" + ids +
            "' GROUP BY event_type) AS types");
    };
    EXPECT_EQ(events("^p[0-9]+$"),
              "ActivityCompleted 5, ActivityScheduled 5, CustomStatusUpdated 1, "
              "OrchestrationCompleted 1, OrchestrationStarted 1, SubOrchestrationCompleted 1, "
              "SubOrchestrationScheduled 1, TimerCreated 1, TimerFired 1");
    EXPECT_EQ(events("::"),
              "ActivityCompleted 2, ActivityScheduled 2, OrchestrationCompleted 1, "
              "OrchestrationStarted 1");
    EXPECT_EQ(own.value("SELECT count(*) FROM app.messages"), "0");
    EXPECT_EQ(own.value("SELECT count(*) FROM app.worker_queue"), "0");
}

}  // namespace
