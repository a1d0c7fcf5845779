// belay replay-history and belay versions, with a plugin and a hub.
#include <thread>

#include "belay/runtime.hpp"
#include "programs.hpp"

namespace belay::test {
namespace {

constexpr OrchestrationOf<std::string(std::string)> same{"Same"};
constexpr OrchestrationOf<std::string(std::string)> changed{"Changed"};

// What the plugin's "Same" does, and what "Changed" did before.
Durable<std::string> wait_for_go(Context ctx, std::string name) {
    if (ctx.version("greet first", 1) >= 1) {
        ctx.set_status("waiting for " + name);
    }
    std::string text = co_await ctx.event<std::string>("go");
    co_return text;
}

class Replay : public WithPrograms {
 protected:
    // Instances that wait: two of each.
    void SetUp() override {
        WithPrograms::SetUp();
        Runtime runtime({.connection = {.conninfo = cluster->conninfo()}, .hub = "app"});
        runtime.on(same, &wait_for_go);
        runtime.on(changed, &wait_for_go);
        std::thread running([&] { runtime.run(); });
        const auto waits = [](const OptionalText& status) { return status.has_value(); };
        for (const char* id : {"s1", "s2"}) {
            start(hub_, same, "you", {.instance_id = id}).wait_status(waits);
        }
        for (const char* id : {"c1", "c2"}) {
            start(hub_, changed, "you", {.instance_id = id}).wait_status(waits);
        }
        runtime.stop();
        running.join();
    }

    static std::string plugin() { return beside("libreplay_plugin.so"); }
    static Ran replay(std::vector<std::string> words) {
        words.insert(words.begin(), {"belay", "replay-history", "--plugin", plugin()});
        return run(words);
    }
};

TEST_F(Replay, RunningInstances) {
    const Ran good = replay({"--hub", "app", "--name", "Same"});
    EXPECT_EQ(good.code, 0) << good.err;
    // In the order of list_instances, which is not promised.
    EXPECT_TRUE(good.out == "s1: ok, 4 events\ns2: ok, 4 events\n" ||
                good.out == "s2: ok, 4 events\ns1: ok, 4 events\n")
        << good.out;

    const Ran all = replay({"--hub", "app"});
    EXPECT_EQ(all.code, 1);
    EXPECT_NE(all.out.find("s1: ok, 4 events\n"), std::string::npos) << all.out;
    EXPECT_NE(all.out.find("c1: nondeterministic: event 2 of c1, execution 1 (Changed 1.0.0)\n"),
              std::string::npos)
        << all.out;
    EXPECT_NE(all.out.find("the code wants:  ActivityScheduled \"Check\""), std::string::npos);
    EXPECT_EQ(all.err, "belay: 2 of 4 histories differ from the code\n");

    const Ran some = replay({"--hub", "app", "--name", "Changed", "--sample", "1"});
    EXPECT_EQ(some.code, 1);
    EXPECT_EQ(some.err, "belay: 1 of 1 histories differ from the code\n");
}

TEST_F(Replay, OneInstance) {
    EXPECT_EQ(replay({"--hub", "app", "--instance", "s1"}).out, "s1: ok, 4 events\n");
    EXPECT_EQ(replay({"--hub", "app", "--instance", "c2"}).code, 1);
    const Ran none = replay({"--hub", "app", "--instance", "x"});
    EXPECT_EQ(none.code, 1);
    EXPECT_EQ(none.err, "belay: there is no instance \"x\" with a history\n");
    // Nothing was stored.
    EXPECT_EQ(hub_.orchestrations().history("c2").size(), 4u);
}

TEST_F(Replay, Files) {
    const std::string file = cluster->file("h.json");
    std::ofstream(file) << run({"belay", "history", "s1", "--json"}).out;
    EXPECT_EQ(replay({file}).out, file + ": ok, 4 events\n");
    const Ran json = replay({file, "--json"});
    EXPECT_EQ(json.code, 0) << json.err;
    EXPECT_NE(json.out.find("\"waits_for\""), std::string::npos) << json.out;

    std::ofstream(file) << run({"belay", "history", "c1", "--json"}).out;
    EXPECT_EQ(replay({file}).code, 1);
    EXPECT_EQ(replay({"/nonexistent"}).code, 1);
}

// A status with another text is legal, and reported if that is asked for.
TEST_F(Replay, Strict) {
    const std::string file = cluster->file("strict.json");
    std::string history = run({"belay", "history", "s1", "--json"}).out;
    const std::string status = "waiting for you";
    const auto at = history.find(status);
    ASSERT_NE(at, std::string::npos) << history;
    std::ofstream(file) << history;
    EXPECT_EQ(replay({file, "--strict"}).out, file + ": ok, 4 events\n");
    std::ofstream(file) << history.replace(at, status.size(), "waiting for me");
    EXPECT_EQ(replay({file}).out, file + ": ok, 4 events\n");
    const Ran strict = replay({file, "--strict"});
    EXPECT_EQ(strict.code, 1);
    EXPECT_NE(strict.out.find("the history has: CustomStatusUpdated waiting for me"),
              std::string::npos)
        << strict.out;
    EXPECT_NE(strict.out.find("the code wants:  CustomStatusUpdated waiting for you"),
              std::string::npos)
        << strict.out;
    EXPECT_EQ(strict.err, "belay: 1 of 1 histories differ from the code\n");
}

TEST_F(Replay, Plugins) {
    const Ran missing =
        run({"belay", "replay-history", "--plugin", "/nonexistent.so", "--hub", "app"});
    EXPECT_EQ(missing.code, 1);
    EXPECT_EQ(missing.err.find("belay: cannot load the plugin: "), 0u) << missing.err;
    EXPECT_EQ(run({"belay", "replay-history"}).code, 2);
}

TEST_F(Replay, Versions) {
    const Ran table = run({"belay", "versions"});
    EXPECT_EQ(table.code, 0) << table.err;
    const Ran json = run({"belay", "versions", "--name", "Same", "--json"});
    EXPECT_EQ(nlohmann::json::parse(json.out),
              nlohmann::json::parse(
                  R"([{"name": "Same", "version": "1.0.0", "change": null, "change_version": null,
                       "instances": 2},
                      {"name": "Same", "version": "1.0.0", "change": "greet first",
                       "change_version": "1", "instances": 2}])"));
}

}  // namespace
}  // namespace belay::test
