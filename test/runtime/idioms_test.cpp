// Coroutine idioms that are listed as safe, on the library's own types: each runs to its end, and
// is destroyed at every suspension. A Probe that is destroyed twice, never, or used after its end
// is counted. PK-6
//
// Not safe with g++ 12, and so not here: an aggregate made in the expression (f(Order{...}),
// refused by the library where it can be), a lambda with captures that own something, ?: with class
// objects, two co_await in one aggregate, a member of the result in the condition of an if.
#include <map>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "belay/testing.hpp"
#include "driver.hpp"

namespace {

using belay::Context;
using belay::Durable;
using namespace std::chrono_literals;

std::set<const void*> live;
int wrong = 0;

struct Probe {
    std::string text = "a text that is longer than the small buffer of a string";

    Probe() { born(); }
    explicit Probe(std::string given) : text(std::move(given)) { born(); }
    Probe(const Probe& other) : text(other.text) {
        other.use();
        born();
    }
    Probe(Probe&& other) noexcept : text(other.text) {
        other.use();
        born();
    }
    Probe& operator=(const Probe&) = default;
    ~Probe() { wrong += live.erase(this) == 0; }
    void use() const { wrong += !live.contains(this); }

 private:
    void born() { wrong += !live.insert(this).second; }
};
void to_json(nlohmann::json& json, const Probe& probe) {
    json = probe.text;
}
void from_json(const nlohmann::json& json, Probe& probe) {
    probe.text = json.get<std::string>();
}

struct Pair {
    Probe a;
    Probe b;
};
void to_json(nlohmann::json& json, const Pair& pair) {
    json = {pair.a, pair.b};
}
void from_json(const nlohmann::json& json, Pair& pair) {
    json.at(0).get_to(pair.a);
    json.at(1).get_to(pair.b);
}

constexpr belay::ActivityOf<Probe(Probe)> step{"Step"};
constexpr belay::ActivityOf<Probe(Pair)> join{"Join"};
constexpr belay::ActivityOf<Pair(Probe)> split{"Split"};
constexpr belay::ActivityOf<Probe(Probe)> fail{"Fail"};

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

class Idioms : public ::testing::TestWithParam<std::pair<const char*, D (*)(Context)>> {};

TEST_P(Idioms, EndsAndIsDestroyedAnywhere) {
    static constexpr belay::OrchestrationOf<Probe()> idiom{"Idiom"};
    live.clear();
    wrong = 0;
    {
        belay::testing::World world;
        world.on(idiom, GetParam().second);
        world.on(step, [](Probe probe) { return probe; });
        world.on(join, [](Pair pair) { return pair.b; });
        world.on(split, [](Probe probe) { return Pair{probe, probe}; });
        world.on(fail, [](Probe) -> Probe { throw belay::Failure("failed"); });
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
                      IDIOM(guarded)),
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
