// Random programs: a coroutine interprets a random tree of calls, groups, drops, retries, detached
// starts and further executions, in random orders of messages, with crashes at random places. The
// cache and crashes change nothing, and every prefix of every history is replayed.
//
// BELAY_SEED repeats a run from its first program; BELAY_LONG=1 asks for 10,000 programs.
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "belay/testing.hpp"

namespace {

using belay::Call;
using belay::Context;
using belay::Durable;
using belay::testing::CacheMode;
using belay::testing::World;
using nlohmann::json;
using namespace std::chrono_literals;

constexpr belay::ActivityOf<std::string(int)> work{"Work"};
constexpr belay::OrchestrationOf<std::string(json)> program_name{"Program"};
constexpr belay::OrchestrationOf<std::string(json)> rounds_name{"Rounds"};

// ---- Programs. ----

json random_program(std::mt19937_64& random, int depth) {
    const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    const int number = draw(100);
    if (depth > 0) {
        const auto below = [&] { return random_program(random, depth - 1); };
        switch (draw(9)) {
            case 0:
                return {"seq", below(), below(), below()};
            case 1:
                return {"all", below(), below()};
            case 2:
                return {"any", below(), below()};
            case 3:
                return {"attempt", below()};
            case 4:
                return {"child", below()};
            case 5:
                return {"shield", below()};
            case 6:
                return {"start", below()};
            case 7:
                return {"rounds", below(), number % 4};
            default:
                return {"seq", below(), below()};
        }
    }
    static const std::vector<const char*> leaves = {
        "work",  "work",    "sleep",  "retry",  "vector", "settled", "try",    "drop",
        "event", "dequeue", "record", "random", "value",  "version", "status", "ready"};
    return {leaves[static_cast<std::size_t>(draw(static_cast<int>(leaves.size())))], number};
}

Durable<std::string> interpret(Context ctx, json program);

std::vector<Call<std::string>> make_calls(const Context& ctx, int number) {
    std::vector<Call<std::string>> calls;
    for (int i = 0; i <= number % 4; ++i) {
        calls.push_back(ctx.call(work, number + i));
    }
    return calls;
}

Durable<std::string> interpret_group(Context ctx, json program) {
    const std::string op = program[0];
    if (op == "all") {
        auto both =
            co_await belay::when_all(interpret(ctx, program[1]), interpret(ctx, program[2]));
        co_return std::get<0>(both) + std::get<1>(both);
    }
    auto won = co_await belay::when_any(interpret(ctx, program[1]), interpret(ctx, program[2]));
    const std::string text = won.index() == 0 ? std::get<0>(won) : std::get<1>(won);
    co_return "(" + std::to_string(won.index()) + text + ")";
}

Durable<std::string> interpret_vector(Context ctx, std::string op, int number) {
    std::vector<Call<std::string>> calls = make_calls(ctx, number);
    std::string text;
    if (op == "settled") {
        auto ends = co_await belay::when_all_settled(std::move(calls));
        for (const auto& end : ends) {
            text += end.ok() ? end.value() : "!";
        }
    } else if (op == "ready") {
        std::size_t first = co_await belay::any_ready(calls);
        text = std::to_string(first);
    } else if (op == "try") {
        std::vector<std::string> values = co_await belay::try_all(std::move(calls));
        text = std::to_string(values.size());
    } else {
        std::vector<std::string> values = co_await belay::when_all(std::move(calls));
        for (const std::string& value : values) {
            text += value;
        }
    }
    co_return text;
}

Durable<std::string> interpret_wait(Context ctx, std::string op, int number) {
    const std::string name = "n" + std::to_string(number % 2);
    Call<std::string> message =
        op == "event" ? ctx.event<std::string>(name) : ctx.dequeue<std::string>(name);
    Call<void> deadline = ctx.sleep(std::chrono::milliseconds(number));
    auto won = co_await belay::when_any(std::move(message), std::move(deadline));
    co_return won.index() == 0 ? std::get<0>(won) : std::string("late");
}

std::string interpret_value(const Context& ctx, const std::string& op, int number) {
    const std::string key = "k" + std::to_string(number % 3);
    if (op == "random") {
        return std::to_string(ctx.random() % 10) + ctx.uuid().substr(0, 2);
    }
    if (op == "record") {
        return ctx.record([number] { return std::to_string(number); });
    }
    if (op == "version") {
        return std::to_string(ctx.version("change " + key, 1));
    }
    if (op == "status") {
        ctx.set_status(key);
        return ctx.get<std::string>(key).value_or("none");
    }
    if (number % 5 == 0) {
        ctx.clear(key);
    } else {
        ctx.set(key, std::to_string(number));
    }
    return ctx.get<std::string>(key).value_or("cleared");
}

Durable<std::string> interpret_leaf(Context ctx, std::string op, int number) {
    if (op == "work") {
        std::string text = co_await ctx.call(work, number);
        co_return text;
    }
    if (op == "sleep") {
        co_await ctx.sleep(std::chrono::milliseconds(number));
        co_return "z";
    }
    if (op == "retry") {
        std::string text =
            co_await ctx.retry(work, number, belay::Retry(3).backoff(10ms).attempt_timeout(60s));
        co_return text;
    }
    if (op == "drop") {
        Call<std::string> dropped = ctx.call(work, number);
        if (number % 2 == 0) {
            co_await ctx.sleep(std::chrono::milliseconds(number));
        }
        co_return "d";
    }
    if (op == "event" || op == "dequeue") {
        std::string text = co_await interpret_wait(ctx, op, number);
        co_return text;
    }
    if (op == "vector" || op == "settled" || op == "try" || op == "ready") {
        std::string text = co_await interpret_vector(ctx, op, number);
        co_return text;
    }
    co_return interpret_value(ctx, op, number);
}

Durable<std::string> interpret_shielded(Context ctx, json program) {
    const belay::CancelShield shield = ctx.shield();
    std::string text = co_await interpret(ctx, std::move(program));
    co_return text;
}

// A program of its own, in an instance of its own, whose end no other awaits.
std::string start_detached(const Context& ctx, const json& program) {
    const std::string id = "detached-" + ctx.uuid();
    ctx.start(program_name, id, program);
    return "s";
}

// A program in several executions of one instance: [program, how many are left, what they said].
Durable<std::string> interpret_rounds(Context ctx, json state) {
    json program = state[0];
    std::string text = co_await interpret(ctx, program);
    const int left = state[1];
    if (left > 0) {
        state[1] = left - 1;
        state[2] = state[2].get<std::string>() + text;
        co_return ctx.continue_as_new(state);
    }
    co_return state[2].get<std::string>() + text;
}

Durable<std::string> interpret(Context ctx, json program) {
    const std::string op = program[0];
    if (op == "start") {
        co_return start_detached(ctx, program[1]);
    }
    if (op == "rounds") {
        json state = json::array();
        state.push_back(program[1]);
        state.push_back(program[2]);
        state.push_back("");
        std::string text = co_await ctx.call(rounds_name, state);
        co_return text;
    }
    if (op == "seq") {
        std::string text;
        for (std::size_t i = 1; i < program.size(); ++i) {
            json next = program[i];
            std::string part = co_await interpret(ctx, next);
            text += part;
        }
        co_return text;
    }
    if (op == "all" || op == "any") {
        std::string text = co_await interpret_group(ctx, program);
        co_return text;
    }
    if (op == "attempt") {
        auto settled = co_await belay::attempt(interpret(ctx, program[1]));
        co_return settled.ok() ? settled.value() : "<" + std::string(settled.error().what()) + ">";
    }
    if (op == "child") {
        json below = program[1];
        std::string text = co_await ctx.call(program_name, below);
        co_return text;
    }
    if (op == "shield") {
        std::string text = co_await interpret_shielded(ctx, program[1]);
        co_return text;
    }
    std::string text = co_await interpret_leaf(ctx, op, program[1].get<int>());
    co_return text;
}

// ---- Runs. ----

struct Disturbance {
    CacheMode cache = CacheMode::kOn;
    int crash_every = 0;  // steps
    bool cancel = false;
};

// All histories, and how the instance has ended.
std::string run(std::uint64_t seed, const json& program, const Disturbance& disturbance) {
    World world(seed);
    world.cache(disturbance.cache);
    world.reorder_messages(seed);
    world.on(program_name, &interpret);
    world.on(rounds_name, &interpret_rounds);
    world.on(work, [&world](const belay::testing::Activity& activity, int number) {
        // A function of what is stored: the same in every run.
        const auto dice = (static_cast<std::uint64_t>(number) * 31 +
                           static_cast<std::uint64_t>(activity.id) * 17) %
                          7;
        if (dice == 0) {
            throw belay::Failure("failed", number % 2 == 0);
        }
        world.sleep(std::chrono::milliseconds(dice * 5));
        return "w" + std::to_string(number);
    });
    world.start(program_name, program, "p");
    int steps = 0;
    const auto settle = [&] {
        while (world.step()) {
            if (disturbance.crash_every > 0 && ++steps % disturbance.crash_every == 0) {
                world.crash();
            }
        }
    };
    world.manual_time();
    for (int i = 0; i < 8; ++i) {
        settle();
        if (i == 5 && disturbance.cancel) {
            world.cancel("p", "enough");
        } else if (i % 2 == 0) {
            world.raise("p", "n" + std::to_string(i % 4 / 2), "e" + std::to_string(i));
        } else {
            world.enqueue("p", "n" + std::to_string(i % 4 / 2), "q" + std::to_string(i));
        }
        settle();
        world.advance(std::chrono::milliseconds(15));
    }
    world.advance(std::chrono::hours(1));
    world.torture();
    std::string all = world.state("p").status + " " + world.state("p").output + "\n";
    for (const std::string& id : world.instances()) {
        all += id + "\n";
        for (std::int64_t execution = 1; execution <= world.state(id).execution_id; ++execution) {
            for (const std::string& event : world.events(id, execution)) {
                all += event + "\n";
            }
        }
    }
    return all;
}

std::int64_t number_from(const char* variable, std::int64_t otherwise) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? otherwise : std::stoll(text);
}

TEST(Property, RandomProgramsInEveryMode) {
    const auto first =
        static_cast<std::uint64_t>(number_from("BELAY_SEED", std::random_device{}() & 0x7fffffff));
    const std::int64_t count = number_from("BELAY_LONG", 0) == 1 ? 10000 : 150;
    std::cout << "BELAY_SEED=" << first << ", " << count << " programs" << std::endl;
    int ended = 0;
    std::map<std::string, int> seen;
    for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(count); ++seed) {
        std::mt19937_64 random(seed);
        const json program = random_program(random, static_cast<int>(random() % 4));
        SCOPED_TRACE("BELAY_SEED=" + std::to_string(seed) + " " + program.dump());
        const bool cancel = random() % 4 == 0;
        const int crash_every = static_cast<int>(1 + random() % 5);
        std::string plain;
        ASSERT_NO_THROW(plain = run(seed, program, {.cancel = cancel}));
        ASSERT_EQ(run(seed, program, {.cache = CacheMode::kOff, .cancel = cancel}), plain);
        ASSERT_EQ(run(seed, program, {.crash_every = crash_every, .cancel = cancel}), plain);
        ended += plain.starts_with("Completed") || plain.starts_with("Failed");
        for (const char* const type : {"OrchestrationChained", "OrchestrationContinuedAsNew"}) {
            seen[type] += plain.find(type) != std::string::npos;
        }
    }
    for (const auto& [type, programs] : seen) {
        std::cout << type << " in " << programs << " programs" << std::endl;
        EXPECT_GT(programs, 0) << type;
    }
    // An hour is enough for all of them.
    EXPECT_EQ(ended, count);
}

}  // namespace
