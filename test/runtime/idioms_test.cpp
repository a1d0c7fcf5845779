// What the library offers, used as it is meant to be: each function runs to its end, and is
// destroyed at every suspension. A Probe that is destroyed twice, never, or used after its end is
// counted. compiler_test.cpp has what compilers get right and wrong. PK-6
#include <memory>

#include <gtest/gtest.h>

#include "belay/testing.hpp"
#include "probe.hpp"

namespace {

using belay::Context;
using belay::Durable;
using namespace std::chrono_literals;

using namespace probe;

using D = Durable<Probe>;

Probe make_probe() {
    return Probe();
}
Pair make_pair() {
    return {};
}

D plain(Context ctx) {
    Probe x = co_await ctx.call(step, Probe());
    x.use();
    co_return x;
}
D named(Context ctx) {
    Probe in;
    Probe x = co_await ctx.call(step, in);
    in.use();
    co_return x;
}
D result_of_function(Context ctx) {
    Probe x = co_await ctx.call(step, make_probe());
    co_return x;
}
D named_aggregate(Context ctx) {
    Pair in = make_pair();
    Probe x = co_await ctx.call(join, in);
    in.a.use();
    co_return x;
}
D options_chain(Context ctx) {
    Probe x = co_await ctx.call(
        step, Probe(), belay::CallOptions().tag("a tag that needs the heap, as long as it is"));
    co_return x;
}
D discarded(Context ctx) {
    co_await ctx.call(step, Probe());
    co_return Probe();
}
D returned(Context ctx) {
    co_return co_await ctx.call(step, Probe());
}
D assigned(Context ctx) {
    Probe x;
    for (int i = 0; i < 3; ++i) {
        x = co_await ctx.call(step, x);
    }
    co_return x;
}
D helper(Context ctx, Probe p) {
    Probe x = co_await ctx.call(step, p);
    p.use();
    co_return x;
}
D helper_of_temporary(Context ctx) {
    Probe x = co_await helper(ctx, Probe());
    co_return x;
}
D helper_of_moved(Context ctx) {
    Probe p;
    Probe x = co_await helper(ctx, std::move(p));
    co_return x;
}
D helper_named(Context ctx) {
    auto h = helper(ctx, Probe());
    Probe x = co_await std::move(h);
    Probe y = co_await ctx.call(step, x);
    co_return y;
}
D unique_parameter(Context ctx, std::unique_ptr<Probe> p) {
    Probe x = co_await ctx.call(step, *p);
    p->use();
    co_return x;
}
D unique_argument(Context ctx) {
    Probe x = co_await unique_parameter(ctx, std::make_unique<Probe>());
    co_return x;
}
D call_named(Context ctx) {
    auto call = ctx.call(step, Probe());
    Probe local;
    Probe x = co_await std::move(call);
    local.use();
    co_return x;
}
D group_of_temporaries(Context ctx) {
    auto all = co_await belay::when_all(ctx.call(step, Probe()), helper(ctx, Probe()));
    std::get<0>(all).use();
    co_return std::get<1>(all);
}
D group_of_names(Context ctx) {
    auto a = ctx.call(step, Probe());
    auto b = ctx.sleep(1s);
    auto won = co_await belay::when_any(std::move(a), std::move(b));
    co_return std::get<0>(won);
}
D group_of_vector(Context ctx) {
    std::vector<belay::Call<Probe>> calls;
    for (int i = 0; i < 3; ++i) {
        calls.push_back(ctx.call(step, Probe()));
    }
    auto all = co_await belay::when_all(std::move(calls));
    co_return all[2];
}
D if_with_initializer(Context ctx) {
    if (auto x = co_await ctx.call(step, Probe()); x.text.size() > 3) {
        co_return x;
    }
    co_return Probe();
}
D while_condition(Context ctx) {
    int n = 0;
    while ((co_await ctx.call(step, Probe())).text.size() > 3 && ++n < 3) {
    }
    co_return Probe();
}
D structured_binding(Context ctx) {
    auto [a, b] = co_await ctx.call(split, Probe());
    Probe x = co_await ctx.call(step, a);
    b.use();
    co_return x;
}
D range_for(Context ctx) {
    std::vector<Probe> probes(2);
    Probe last;
    for (auto& p : probes) {
        last = co_await ctx.call(step, p);
    }
    co_return last;
}
D in_try(Context ctx) {
    Probe local;
    bool failed = false;
    try {
        Probe x = co_await ctx.call(fail, local);
        co_return x;
    } catch (const belay::Failure&) {
        failed = true;
    }
    local.use();
    if (failed) {
        Probe y = co_await ctx.call(step, local);
        co_return y;
    }
    co_return local;
}
D attempted(Context ctx) {
    auto result = co_await belay::attempt(ctx.call(fail, Probe()));
    if (!result.ok()) {
        auto second = co_await belay::attempt(helper(ctx, Probe()));
        co_return second.value();
    }
    co_return Probe();
}
D retried(Context ctx) {
    Probe x = co_await ctx.retry(step, Probe(), belay::Retry(2).backoff(10ms));
    co_return x;
}
D lambda_named(Context ctx) {
    Probe local;
    auto twice = [local] { return Probe(local.text + local.text); };
    Probe in = twice();
    Probe x = co_await ctx.call(step, in);
    co_return x;
}
D guarded(Context ctx) {
    struct Guard {
        Probe p;
        ~Guard() { p.use(); }
    };
    Guard guard;
    Probe x = co_await ctx.call(step, Probe());
    co_return x;
}

Durable<std::vector<Probe>> many(Context ctx) {
    Probe p = co_await ctx.call(step, Probe());
    std::vector<Probe> both(2, p);
    co_return both;
}
D range_for_of_result(Context ctx) {
    Probe last;
    for (auto& p : co_await many(ctx)) {
        p.use();
        last = co_await ctx.call(step, p);
    }
    co_return last;
}
Durable<std::pair<Probe, Probe>> two(Context ctx) {
    Probe a = co_await ctx.call(step, Probe());
    co_return std::pair<Probe, Probe>(a, Probe());
}
D structured_helper(Context ctx) {
    auto [a, b] = co_await two(ctx);
    Probe c = co_await ctx.call(step, a);
    a.use();
    c.use();
    co_return b;
}
D structured_reference(Context ctx) {
    auto both = co_await two(ctx);
    auto& [a, b] = both;
    Probe c = co_await ctx.call(step, b);
    a.use();
    co_return c;
}
D helper_of_pair(Context ctx, Pair in) {
    Probe x = co_await ctx.call(step, in.a);
    in.b.use();
    co_return x;
}
D helper_of_named_aggregate(Context ctx) {
    Pair in = make_pair();
    Probe x = co_await helper_of_pair(ctx, in);
    in.b.use();
    co_return x;
}
D helper_of_moved_aggregate(Context ctx) {
    Pair in = make_pair();
    Probe x = co_await helper_of_pair(ctx, std::move(in));
    co_return x;
}
D helper_of_returned_aggregate(Context ctx) {
    Probe x = co_await helper_of_pair(ctx, make_pair());
    co_return x;
}
D throwing_helper(Context ctx) {
    Probe local;
    Probe x = co_await ctx.call(step, local);
    if (!x.text.empty()) {
        throw belay::Failure("thrown");
    }
    co_return local;
}
D catching(Context ctx) {
    try {
        Probe x = co_await throwing_helper(ctx);
        co_return x;
    } catch (const belay::Failure&) {
    }
    Probe y = co_await ctx.call(step, Probe());
    co_return y;
}
D assigned_to_optional(Context ctx) {
    Probe local;
    std::optional<Probe> got;
    try {
        got = co_await ctx.call(step, local);
        Probe y = co_await ctx.call(fail, local);
    } catch (const belay::Failure&) {
        local.use();
    }
    co_return *got;
}
D variant_of_result(Context ctx) {
    std::variant<int, Probe> value = co_await ctx.call(step, Probe());
    Probe z = co_await ctx.call(step, Probe());
    z.use();
    co_return std::get<1>(value);
}
D switch_with_initializer(Context ctx) {
    switch (auto x = co_await ctx.call(step, Probe()); x.text.size()) {
        case 0:
            co_return Probe();
        default:
            co_return x;
    }
}
D concatenated_text(Context ctx) {
    std::string prefix = "a name that is long enough for the heap";
    std::string text = co_await ctx.call_text("Text", prefix + "-" + std::to_string(4));
    co_return Probe(text);
}
D race_of_helpers(Context ctx) {
    auto won = co_await belay::when_any(helper(ctx, Probe()), helper(ctx, Probe()));
    co_return won.index() == 0 ? std::get<0>(won) : std::get<1>(won);
}
D nested_groups(Context ctx) {
    auto outer = co_await belay::when_all(group_of_temporaries(ctx), race_of_helpers(ctx));
    std::get<0>(outer).use();
    co_return std::get<1>(outer);
}
D ready_calls(Context ctx) {
    std::vector<belay::Call<Probe>> calls;
    calls.push_back(ctx.call(step, Probe()));
    calls.push_back(ctx.call(step, Probe()));
    std::size_t first = co_await belay::any_ready(calls);
    Probe x = co_await std::move(calls[first]);
    co_return x;
}
D settled_group(Context ctx) {
    std::vector<belay::Call<Probe>> calls;
    calls.push_back(ctx.call(step, Probe()));
    calls.push_back(ctx.call(fail, Probe()));
    auto ends = co_await belay::when_all_settled(std::move(calls));
    co_return ends[0].value();
}
D shielded(Context ctx) {
    const belay::CancelShield shield = ctx.shield();
    Probe x = co_await ctx.call(step, Probe());
    co_return x;
}
D compensated(Context ctx) {
    belay::Saga saga(ctx);
    saga.undo_with(step, Probe());
    co_await saga.compensate();
    co_return Probe();
}
D recorded(Context ctx) {
    Probe x = ctx.record([] { return Probe("recorded"); });
    Probe y = co_await ctx.call(step, x);
    x.use();
    co_return y;
}

class Idioms : public ::testing::TestWithParam<std::pair<const char*, D (*)(Context)>> {};

TEST_P(Idioms, EndsAndIsDestroyedAnywhere) {
    static constexpr belay::OrchestrationOf<Probe()> idiom{"Idiom"};
    live.clear();
    wrong = 0;
    {
        belay::testing::World world;
        world.on(idiom, GetParam().second);
        register_activities(world);
        world.on_activity("Text", [](auto&, const std::string& input) { return input; });
        auto started = world.start(idiom, "i");
        EXPECT_FALSE(started.result().text.empty());
        world.torture();
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(live.size(), 0u);
}

#define IDIOM(name) std::pair<const char*, D (*)(Context)>(#name, &name)
INSTANTIATE_TEST_SUITE_P(
    Safe, Idioms,
    ::testing::Values(IDIOM(plain), IDIOM(named), IDIOM(result_of_function), IDIOM(named_aggregate),
                      IDIOM(options_chain), IDIOM(discarded), IDIOM(returned), IDIOM(assigned),
                      IDIOM(helper_of_temporary), IDIOM(helper_of_moved), IDIOM(helper_named),
                      IDIOM(unique_argument), IDIOM(call_named), IDIOM(group_of_temporaries),
                      IDIOM(group_of_names), IDIOM(group_of_vector), IDIOM(if_with_initializer),
                      IDIOM(while_condition), IDIOM(structured_binding), IDIOM(range_for),
                      IDIOM(in_try), IDIOM(attempted), IDIOM(retried), IDIOM(lambda_named),
                      IDIOM(guarded), IDIOM(range_for_of_result), IDIOM(structured_helper),
                      IDIOM(structured_reference), IDIOM(helper_of_named_aggregate),
                      IDIOM(helper_of_moved_aggregate), IDIOM(helper_of_returned_aggregate),
                      IDIOM(catching), IDIOM(assigned_to_optional), IDIOM(variant_of_result),
                      IDIOM(switch_with_initializer), IDIOM(concatenated_text),
                      IDIOM(race_of_helpers), IDIOM(nested_groups), IDIOM(ready_calls),
                      IDIOM(settled_group), IDIOM(shielded), IDIOM(compensated), IDIOM(recorded)),
    [](const auto& info) { return std::string(info.param.first); });
#undef IDIOM

D leaf(Context) {
    co_return Probe();
}

Durable<int> many_awaits(Context ctx) {
    int n = 0;
    for (int i = 0; i < 100000; ++i) {
        Probe x = co_await leaf(ctx);
        ++n;
    }
    co_return n;
}

// PK-3: the stack stays flat without optimization, too.
TEST(Coroutines, FlatStack) {
    static constexpr belay::OrchestrationOf<int()> many{"Many"};
    belay::testing::World world;
    world.on(many, &many_awaits);
    EXPECT_EQ(world.start(many).result(), 100000);
}

}  // namespace
