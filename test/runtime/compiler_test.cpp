// What compilers make of 75 idioms of coroutines: each function runs to its end, and is destroyed
// at every suspension. The table at the end of this file is the one place that says which compiler
// gets which idiom wrong; docs/durable-functions.md has the short form of it.
//
// An idiom that is listed as safe and is not fails the test. So does one that is listed as wrong
// with the compiler in use and is right: then the list is out of date. Each runs in a process of
// its own, because what a compiler gets wrong is a double free.
//
// Calls go through functions of the application, because the library refuses the worst in its own.
// PK-6
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "belay/testing.hpp"
#include "probe.hpp"

namespace {

using belay::Call;
using belay::Context;
using belay::Durable;
using namespace probe;
using D = Durable<Probe>;

const std::string kLong = "a text that is longer than the small buffer of a string";

// ---- Functions of an application that ask for something. ----

struct Settings {
    std::string name = {};
    std::optional<std::string> tag = {};
    Probe probe = {};
};
struct Small {
    int a;
    double b;
};
struct Made {
    Made(std::string given, int) : name(std::move(given)) {}
    Probe probe;
    std::string name;
};

Call<Probe> ask(Context ctx) {
    return ctx.call(step, Probe());
}
Call<Probe> ask_value(Context ctx, Probe probe) {
    return ctx.call(step, probe);
}
Call<Probe> ask_reference(Context ctx, const Probe& probe) {
    return ctx.call(step, probe);
}
Call<Probe> ask_pair(Context ctx, Pair pair) {
    return ctx.call(join, pair);
}
Call<Probe> ask_pair_reference(Context ctx, const Pair& pair) {
    return ctx.call(join, pair);
}
Call<Probe> ask_with(Context ctx, const Pair& pair, Settings settings = {}) {
    settings.probe.use();
    return ctx.call(join, pair);
}
Call<Probe> ask_function(Context ctx, std::function<void()> function) {
    function();
    return ask(ctx);
}
template <class F>
Call<Probe> ask_callable(Context ctx, F function) {
    function();
    return ask(ctx);
}
Call<Probe> ask_small(Context ctx, Small) {
    return ask(ctx);
}
Call<Probe> ask_made(Context ctx, Made made) {
    return ctx.call(step, made.probe);
}
Call<Probe> ask_text(Context ctx, std::string text, std::optional<std::string> = {},
                     std::vector<int> = {}) {
    return ctx.call(step, Probe(std::move(text)));
}
Call<Probe> ask_failing(Context ctx, Probe probe) {
    return ctx.call(fail, probe);
}

Pair make_pair() {
    return {};
}
Settings make_settings() {
    return {};
}
Probe second_of(Probe a, Probe b) {
    a.use();
    return b;
}

// ---- Arguments. ----

D no_argument(Context ctx) {
    Probe x = co_await ask(ctx);
    x.use();
    co_return x;
}
D temporary_by_value(Context ctx) {
    Probe x = co_await ask_value(ctx, Probe());
    co_return x;
}
D temporary_by_reference(Context ctx) {
    Probe x = co_await ask_reference(ctx, Probe());
    co_return x;
}
D constructed(Context ctx) {
    Probe x = co_await ask_made(ctx, Made("a name that is long enough for the heap", 3));
    co_return x;
}
D literal_and_defaults(Context ctx) {
    Probe x = co_await ask_text(ctx, "a name that is long enough for the heap");
    co_return x;
}
D concatenated(Context ctx) {
    std::string prefix = kLong;
    Probe x = co_await ask_text(ctx, prefix + "-" + std::to_string(4));
    co_return x;
}
D setters_in_a_chain(Context ctx) {
    Probe x = co_await ctx.call(step, Probe(), belay::CallOptions().tag(kLong).session(kLong));
    co_return x;
}

// ---- Aggregates. ----

D aggregate(Context ctx) {
    Probe x = co_await ask_pair(ctx, Pair{Probe(), Probe()});
    co_return x;
}
D aggregate_designated(Context ctx) {
    Probe x = co_await ask_pair(ctx, {.a = Probe(), .b = Probe()});
    co_return x;
}
#ifndef __clang__
D aggregate_parentheses(Context ctx) {
    Probe x = co_await ask_pair(ctx, Pair(Probe(), Probe()));
    co_return x;
}
#endif
D aggregate_empty(Context ctx) {
    Probe x = co_await ask_pair_reference(ctx, Pair{});
    co_return x;
}
D aggregate_as_default(Context ctx) {
    Probe x = co_await ask_with(ctx, Pair{});
    co_return x;
}
D aggregate_of_options(Context ctx) {
    Probe x = co_await ask_with(ctx, Pair{}, {.name = "x", .tag = kLong});
    co_return x;
}
D aggregate_of_text(Context ctx) {
    Probe x = co_await ask_with(ctx, Pair{}, Settings{kLong + std::to_string(7), {}, {}});
    co_return x;
}
D aggregate_of_function(Context ctx) {
    Probe x = co_await ask_pair(ctx, make_pair());
    co_return x;
}
D aggregate_of_lambda(Context ctx) {
    Probe x = co_await ask_pair(ctx, [] { return Pair{Probe(), Probe()}; }());
    co_return x;
}
D aggregates_of_functions(Context ctx) {
    Probe x = co_await ask_with(ctx, make_pair(), Settings(make_settings()));
    co_return x;
}
D aggregate_named(Context ctx) {
    Pair pair{Probe(), Probe()};
    Probe x = co_await ask_pair(ctx, pair);
    co_return x;
}
D aggregate_named_reference(Context ctx) {
    Pair pair{Probe(), Probe()};
    Probe x = co_await ask_pair_reference(ctx, pair);
    co_return x;
}
D aggregate_moved(Context ctx) {
    Pair pair{Probe(), Probe()};
    Probe x = co_await ask_pair(ctx, std::move(pair));
    co_return x;
}
D aggregate_trivial(Context ctx) {
    Probe x = co_await ask_small(ctx, {1, 2});
    co_return x;
}

// ---- Callable objects and lists. ----

D lambda_as_function(Context ctx) {
    Probe local;
    Probe x = co_await ask_function(ctx, [local] { local.use(); });
    co_return x;
}
D lambda_with_copy(Context ctx) {
    Probe local;
    Probe x = co_await ask_callable(ctx, [local] { local.use(); });
    co_return x;
}
D lambda_with_reference(Context ctx) {
    Probe local;
    Probe x = co_await ask_callable(ctx, [&local] { local.use(); });
    co_return x;
}
D lambda_with_shared_pointer(Context ctx) {
    auto shared = std::make_shared<Probe>();
    Probe x = co_await ask_callable(ctx, [shared] { shared->use(); });
    co_return x;
}
D lambda_named(Context ctx) {
    Probe local;
    auto function = [local] { local.use(); };
    Probe x = co_await ask_callable(ctx, function);
    co_return x;
}
D lambda_before(Context ctx) {
    Probe local;
    auto call = ask_callable(ctx, [local] { local.use(); });
    Probe x = co_await std::move(call);
    co_return x;
}
#if defined(__clang__) || __GNUC__ > 12
Call<Probe> ask_list(Context ctx, std::initializer_list<Probe> probes) {
    for (const Probe& probe : probes) {
        probe.use();
    }
    return ask(ctx);
}
Call<Probe> ask_vector(Context ctx, std::vector<Probe> probes) {
    return ctx.call(step, probes.at(0));
}
D braces_as_list(Context ctx) {
    Probe x = co_await ask_list(ctx, {Probe(), Probe()});
    co_return x;
}
D braces_as_vector(Context ctx) {
    Probe x = co_await ask_vector(ctx, {Probe(), Probe()});
    co_return x;
}
#endif

// ---- Conditions. ----

D condition_of_awaits(Context ctx) {
    bool first = ctx.execution_id() == 1;
    Probe x = first ? co_await ask(ctx) : co_await ask_value(ctx, Probe());
    co_return x;
}
D condition_of_objects(Context ctx) {
    Probe local;
    bool first = ctx.execution_id() == 1;
    Probe x = co_await ask_value(ctx, first ? Probe() : local);
    co_return x;
}
D condition_of_reference(Context ctx) {
    Probe local;
    const Probe& reference = local.text.empty() ? Probe() : local;
    Probe x = co_await ask_reference(ctx, reference);
    co_return x;
}
D condition_of_trivial(Context ctx) {
    bool first = ctx.execution_id() == 1;
    Probe x = co_await ask_small(ctx, first ? Small{1, 2} : Small{2, 3});
    co_return x;
}
D condition_of_names(Context ctx) {
    std::string a = kLong;
    std::string b = kLong;
    bool first = ctx.execution_id() == 1;
    Probe x = co_await ask_text(ctx, first ? a : b);
    co_return x;
}
D condition_of_number(Context ctx) {
    bool first = ctx.execution_id() == 1;
    std::size_t n = first ? (co_await ask(ctx)).text.size() : 0;
    co_return Probe(std::string(n, 'x'));
}
D logical_and(Context ctx) {
    bool both =
        (co_await ask(ctx)).text.size() > 3 && (co_await ask_value(ctx, Probe())).text.size() > 3;
    co_return Probe(both ? "both" : "one");
}
D if_with_initializer(Context ctx) {
    if (auto x = co_await ask(ctx); x.text.size() > 3) {
        co_return x;
    }
    co_return Probe();
}
D if_of_member(Context ctx) {
    if ((co_await ask(ctx)).text.size() > 3) {
        co_return Probe();
    }
    co_return Probe("other");
}
D while_of_member(Context ctx) {
    int n = 0;
    while ((co_await ask(ctx)).text.size() > 3 && ++n < 3) {
    }
    co_return Probe();
}
D switch_with_initializer(Context ctx) {
    switch (auto x = co_await ask(ctx); x.text.size()) {
        case 0:
            co_return Probe();
        default:
            co_return x;
    }
}

// ---- Several in one statement. ----

D two_in_pair_constructor(Context ctx) {
    auto [a, b] = std::pair<Probe, Probe>(co_await ask(ctx), co_await ask(ctx));
    a.use();
    b.use();
    co_return a;
}
D two_in_aggregate(Context ctx) {
    Pair pair{co_await ask(ctx), co_await ask(ctx)};
    pair.a.use();
    co_return pair.b;
}
D two_in_arguments(Context ctx) {
    Probe x = second_of(co_await ask(ctx), co_await ask(ctx));
    co_return x;
}
D nested(Context ctx) {
    Probe x = co_await ask_value(ctx, co_await ask_value(ctx, co_await ask(ctx)));
    co_return x;
}
D after_a_comma(Context ctx) {
    Probe x = (Probe(), co_await ask(ctx));
    co_return x;
}

// ---- What becomes of the result. ----

D discarded(Context ctx) {
    co_await ask_value(ctx, Probe());
    co_return Probe();
}
D member_of_result(Context ctx) {
    std::size_t n = (co_await ask(ctx)).text.size();
    co_return Probe(std::string(n, 'x'));
}
D returned(Context ctx) {
    co_return co_await ask(ctx);
}
D returned_braces(Context ctx) {
    co_await ask(ctx);
    co_return {};
}
D assigned(Context ctx) {
    Probe x;
    x = co_await ask_value(ctx, Probe());
    co_return x;
}
D assigned_in_a_loop(Context ctx) {
    Probe x;
    for (int i = 0; i < 3; ++i) {
        x = co_await ask_value(ctx, x);
    }
    co_return x;
}
D emplaced(Context ctx) {
    std::optional<Probe> kept;
    kept.emplace(co_await ask(ctx));
    Probe other = co_await ask(ctx);
    kept->use();
    co_return *kept;
}
D pushed_back(Context ctx) {
    std::vector<Probe> kept;
    kept.push_back(co_await ask(ctx));
    kept.push_back(co_await ask_value(ctx, kept[0]));
    co_return kept[1];
}
D converted_to_variant(Context ctx) {
    std::variant<int, Probe> kept = co_await ask(ctx);
    Probe other = co_await ask(ctx);
    co_return std::get<1>(kept);
}
Durable<std::pair<Probe, Probe>> two(Context ctx) {
    Probe a = co_await ask(ctx);
    co_return std::pair<Probe, Probe>(a, Probe());
}
D bound(Context ctx) {
    auto [a, b] = co_await two(ctx);
    Probe other = co_await ask(ctx);
    a.use();
    co_return b;
}
D bound_to_reference(Context ctx) {
    auto both = co_await two(ctx);
    auto& [a, b] = both;
    Probe other = co_await ask(ctx);
    a.use();
    co_return b;
}
D range_of_local(Context ctx) {
    std::vector<Probe> probes(2);
    for (Probe& probe : probes) {
        Probe x = co_await ask_reference(ctx, probe);
        x.use();
    }
    co_return probes[0];
}
Durable<std::vector<Probe>> many(Context ctx) {
    Probe probe = co_await ask(ctx);
    co_return std::vector<Probe>{probe, probe};
}
D range_of_result(Context ctx) {
    Probe last;
    for (Probe& probe : co_await many(ctx)) {
        last = co_await ask_reference(ctx, probe);
    }
    co_return last;
}

// ---- Exceptions and destructors. ----

D caught(Context ctx) {
    Probe local;
    bool failed = false;
    try {
        Probe x = co_await ask_failing(ctx, local);
    } catch (const belay::Failure&) {
        failed = true;
    }
    if (failed) {
        local.use();
        Probe y = co_await ask(ctx);
        co_return y;
    }
    co_return local;
}
D throwing(Context ctx) {
    Probe local;
    Probe x = co_await ask(ctx);
    if (!x.text.empty()) {
        throw belay::Failure("thrown");
    }
    co_return local;
}
D caught_from_helper(Context ctx) {
    try {
        Probe x = co_await throwing(ctx);
        co_return x;
    } catch (const belay::Failure&) {
    }
    co_return Probe();
}
D assigned_before_a_throw(Context ctx) {
    Probe local;
    std::optional<Probe> got;
    std::string why;
    try {
        got = co_await ask_value(ctx, local);
        Probe y = co_await ask_failing(ctx, local);
    } catch (const belay::Failure& failure) {
        why = failure.what();
    }
    co_return *got;
}
D scope_guard(Context ctx) {
    struct Guard {
        Probe probe;
        ~Guard() { probe.use(); }
    };
    Guard guard;
    Probe x = co_await ask(ctx);
    co_return x;
}

// ---- Helpers and groups. ----

D helper(Context ctx, Probe probe) {
    Probe x = co_await ask(ctx);
    probe.use();
    co_return x;
}
D helper_of_temporary(Context ctx) {
    Probe x = co_await helper(ctx, Probe());
    co_return x;
}
D helper_of_moved(Context ctx) {
    Probe local;
    Probe x = co_await helper(ctx, std::move(local));
    co_return x;
}
D helper_named(Context ctx) {
    auto named = helper(ctx, Probe());
    Probe x = co_await std::move(named);
    co_return x;
}
D helper_of_unique(Context ctx, std::unique_ptr<Probe> probe) {
    Probe x = co_await ask(ctx);
    probe->use();
    co_return x;
}
D unique_pointer(Context ctx) {
    Probe x = co_await helper_of_unique(ctx, std::make_unique<Probe>());
    co_return x;
}
D helper_of_pair(Context ctx, Pair pair) {
    Probe x = co_await ask(ctx);
    pair.a.use();
    co_return x;
}
D helper_of_aggregate(Context ctx) {
    Probe x = co_await helper_of_pair(ctx, Pair{Probe(), Probe()});
    co_return x;
}
D helper_of_named_aggregate(Context ctx) {
    Pair pair{Probe(), Probe()};
    Probe x = co_await helper_of_pair(ctx, pair);
    co_return x;
}
D helper_of_moved_aggregate(Context ctx) {
    Pair pair{Probe(), Probe()};
    Probe x = co_await helper_of_pair(ctx, std::move(pair));
    co_return x;
}
D helper_before(Context ctx) {
    auto named = helper_of_pair(ctx, Pair{Probe(), Probe()});
    Probe x = co_await std::move(named);
    co_return x;
}
D group_of_temporaries(Context ctx) {
    auto all = co_await belay::when_all(ask(ctx), ask_value(ctx, Probe()));
    std::get<0>(all).use();
    co_return std::get<1>(all);
}
D group_of_names(Context ctx) {
    auto a = ask(ctx);
    auto b = ask_value(ctx, Probe());
    auto all = co_await belay::when_all(std::move(a), std::move(b));
    co_return std::get<1>(all);
}

// ---- The list. ----

enum class Verdict {
    kSafe,
    kWrong,        // destroys something twice or never
    kHiddenWrong,  // likewise, but only AddressSanitizer is sure to see it
    kNotCompiled,  // refused by the compiler
    kRefused,      // refused by the library, see must_not_compile
    kUnmeasured,   // wrong or not compiled by an older version of the compiler; this one may be
                   // better
};
using enum Verdict;

struct Idiom {
    const char* name;
    D (*code)(Context);
    Verdict gcc_12 = kSafe;
    Verdict clang_14 = kSafe;
};

#define IDIOM(name) #name, &name
#define NO_IDIOM(name) #name, nullptr
const Idiom idioms[] = {
    {IDIOM(no_argument)},
    {IDIOM(temporary_by_value)},
    {IDIOM(temporary_by_reference)},
    {IDIOM(constructed)},
    {IDIOM(literal_and_defaults)},
    {IDIOM(concatenated)},
    {IDIOM(setters_in_a_chain)},
    {IDIOM(aggregate), kWrong},
    {IDIOM(aggregate_designated), kWrong},
#ifndef __clang__
    {IDIOM(aggregate_parentheses), kWrong, kNotCompiled},
#else
    {NO_IDIOM(aggregate_parentheses), kWrong, kNotCompiled},
#endif
    {IDIOM(aggregate_empty), kWrong},
    {IDIOM(aggregate_as_default), kWrong},
    {IDIOM(aggregate_of_options), kWrong},
    {IDIOM(aggregate_of_text), kWrong},
    {IDIOM(aggregate_of_function)},
    {IDIOM(aggregate_of_lambda)},
    {IDIOM(aggregates_of_functions)},
    {IDIOM(aggregate_named)},
    {IDIOM(aggregate_named_reference)},
    {IDIOM(aggregate_moved)},
    {IDIOM(aggregate_trivial)},
    {IDIOM(lambda_as_function), kWrong},
    {IDIOM(lambda_with_copy), kWrong},
    {IDIOM(lambda_with_reference)},
    {IDIOM(lambda_with_shared_pointer), kHiddenWrong},
    {IDIOM(lambda_named)},
    {IDIOM(lambda_before)},
#if defined(__clang__) || __GNUC__ > 12
    {IDIOM(braces_as_list), kNotCompiled},
    {IDIOM(braces_as_vector), kNotCompiled},
#else
    {NO_IDIOM(braces_as_list), kNotCompiled},
    {NO_IDIOM(braces_as_vector), kNotCompiled},
#endif
    {IDIOM(condition_of_awaits), kWrong},
    {IDIOM(condition_of_objects), kWrong},
    {IDIOM(condition_of_reference)},
    {IDIOM(condition_of_trivial)},
    {IDIOM(condition_of_names)},
    {IDIOM(condition_of_number)},
    {IDIOM(logical_and)},
    {IDIOM(if_with_initializer)},
    {IDIOM(if_of_member), kWrong},
    {IDIOM(while_of_member)},
    {IDIOM(switch_with_initializer)},
    {IDIOM(two_in_pair_constructor)},
    {IDIOM(two_in_aggregate), kWrong, kWrong},
    {IDIOM(two_in_arguments)},
    {IDIOM(nested)},
    {IDIOM(after_a_comma)},
    {IDIOM(discarded)},
    {IDIOM(member_of_result)},
    {IDIOM(returned)},
    {IDIOM(returned_braces)},
    {IDIOM(assigned)},
    {IDIOM(assigned_in_a_loop)},
    {IDIOM(emplaced)},
    {IDIOM(pushed_back)},
    {IDIOM(converted_to_variant)},
    {IDIOM(bound)},
    {IDIOM(bound_to_reference)},
    {IDIOM(range_of_local)},
    {IDIOM(range_of_result)},
    {IDIOM(caught)},
    {IDIOM(caught_from_helper)},
    {IDIOM(assigned_before_a_throw)},
    {IDIOM(scope_guard)},
    {IDIOM(helper_of_temporary)},
    {IDIOM(helper_of_moved)},
    {IDIOM(helper_named)},
    {IDIOM(unique_pointer)},
    {IDIOM(helper_of_aggregate), kWrong},
    {IDIOM(helper_of_named_aggregate)},
    {IDIOM(helper_of_moved_aggregate)},
    {IDIOM(helper_before)},
    {IDIOM(group_of_temporaries)},
    {IDIOM(group_of_names)},
    {NO_IDIOM(helper_without_move), kRefused, kRefused},
    {NO_IDIOM(lambda_as_coroutine), kRefused, kRefused},
    {NO_IDIOM(lambda_as_coroutine_in_place), kRefused, kRefused},
};
#undef IDIOM
#undef NO_IDIOM

struct CompilerVersion {
    bool clang;
    int major;
};

#if defined(__clang__)
constexpr CompilerVersion kThisCompiler{true, __clang_major__};
#else
constexpr CompilerVersion kThisCompiler{false, __GNUC__};
#endif

// The list holds for the two versions that were measured. Of another one it says only that what was
// right has to be right, and that what the library refuses is refused.
Verdict verdict_of(const Idiom& idiom, CompilerVersion compiler = kThisCompiler) {
    const Verdict measured = compiler.clang ? idiom.clang_14 : idiom.gcc_12;
    const bool is_measured = compiler.major == (compiler.clang ? 14 : 12);
    return is_measured || measured == kSafe || measured == kRefused ? measured : kUnmeasured;
}

// Whether everything was destroyed once, wherever it was suspended.
bool is_right(D (*code)(Context)) {
    static constexpr belay::OrchestrationOf<Probe()> idiom{"Idiom"};
    live.clear();
    wrong = 0;
    {
        belay::testing::World world;
        world.on(idiom, code);
        register_activities(world);
        world.start(idiom, "i").result();
        world.torture();
    }
    return wrong == 0 && live.empty();
}

// The same in a process of its own, which may crash.
bool is_right_elsewhere(D (*code)(Context)) {
    const pid_t child = ::fork();
    if (child < 0) {
        throw std::runtime_error("fork failed");
    }
    if (child == 0) {
        bool right = false;
        ::close(STDERR_FILENO);  // What is expected to crash says so there.
        try {
            right = is_right(code);
        } catch (...) {
            right = false;
        }
        ::_exit(right ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class Compiler : public ::testing::TestWithParam<Idiom> {};

TEST_P(Compiler, GetsTheIdiomRight) {
    const Idiom& idiom = GetParam();
    switch (verdict_of(idiom)) {
        case kSafe:
            ASSERT_NE(idiom.code, nullptr);
            EXPECT_TRUE(is_right_elsewhere(idiom.code)) << "listed as safe";
            break;
        case kWrong:
            EXPECT_FALSE(is_right_elsewhere(idiom.code))
                << "listed as wrong: the list is out of date";
            break;
        case kHiddenWrong:
            break;
        case kNotCompiled:
        case kRefused:
            EXPECT_EQ(idiom.code, nullptr);
            break;
        case kUnmeasured:
            if (idiom.code != nullptr) {
                std::cout << idiom.name << " is "
                          << (is_right_elsewhere(idiom.code) ? "right" : "wrong") << "\n";
            }
            break;
    }
}

INSTANTIATE_TEST_SUITE_P(Idioms, Compiler, ::testing::ValuesIn(idioms),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(CompilerList, HasAllIdioms) {
    EXPECT_EQ(std::size(idioms), 75u);
}

// What other versions than the measured ones are held to.
TEST(CompilerList, OtherVersions) {
    for (const CompilerVersion other : {CompilerVersion{false, 13}, CompilerVersion{false, 15},
                                        CompilerVersion{true, 16}, CompilerVersion{true, 19}}) {
        for (const Idiom& idiom : idioms) {
            const Verdict measured = other.clang ? idiom.clang_14 : idiom.gcc_12;
            const Verdict verdict = verdict_of(idiom, other);
            EXPECT_NE(verdict, kWrong) << idiom.name;  // It may have been repaired.
            EXPECT_EQ(verdict == kSafe, measured == kSafe) << idiom.name;
            EXPECT_EQ(verdict == kRefused, measured == kRefused) << idiom.name;
        }
    }
    const auto verdict = [](std::string_view name, CompilerVersion compiler) {
        for (const Idiom& idiom : idioms) {
            if (idiom.name == name) {
                return verdict_of(idiom, compiler);
            }
        }
        throw std::logic_error("no such idiom");
    };
    EXPECT_EQ(verdict("aggregate", {false, 12}), kWrong);
    EXPECT_EQ(verdict("aggregate", {false, 13}), kUnmeasured);
    EXPECT_EQ(verdict("aggregate", {true, 19}), kSafe);
    EXPECT_EQ(verdict("two_in_aggregate", {true, 14}), kWrong);
    EXPECT_EQ(verdict("two_in_aggregate", {true, 19}), kUnmeasured);
    EXPECT_EQ(verdict("lambda_as_coroutine", {false, 13}), kRefused);
}

}  // namespace
