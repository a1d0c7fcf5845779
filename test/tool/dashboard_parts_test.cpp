// The parts of the dashboard's server that need neither a socket nor a database.
#include <gtest/gtest.h>

#include "dashboard/actions.hpp"
#include "dashboard/bodies.hpp"
#include "dashboard/hub_rates.hpp"
#include "dashboard/latency.hpp"
#include "dashboard/limits.hpp"
#include "dashboard/router.hpp"
#include "dashboard/sessions.hpp"
#include "dashboard/statement.hpp"
#include "dashboard/streams.hpp"

namespace belay::tool::dashboard {
namespace {

// ---- The list of hubs. ----

TEST(DashboardHubs, RatesAreThoseSinceTheLastLook) {
    HubRates hubs;
    const auto look = [&](std::int64_t at, const std::string& viewer, const Json& counters) {
        Json rows = Json::array({{{"name", "app"}, {"counters", counters}}});
        hubs.put(viewer, at, rows);
        EXPECT_FALSE(rows[0].contains("counters"));
        return rows[0]["rates"];
    };
    EXPECT_TRUE(look(10000, "ada", {100, 50, 0, 0}).is_null());
    EXPECT_EQ(look(12000, "ada", {120, 60, 1, 0}),
              (Json{{"in", 10.0}, {"done", 5.0}, {"lost", 0.5}, {"failed", 0.0}}));
    // Another viewer's look does not shorten the time; one that is close shares the rates.
    EXPECT_TRUE(look(12500, "bob", {130, 60, 1, 0}).is_null());
    EXPECT_EQ(look(12500, "ada", {130, 60, 1, 0})["in"], 10.0);
    EXPECT_EQ(look(14000, "ada", {140, 60, 1, 0})["in"], 10.0);
    // A reset, a long pause, and no shared memory.
    EXPECT_EQ(look(16000, "ada", {3, 0, 0, 0})["in"], 0.0);
    EXPECT_TRUE(look(90000, "ada", {9, 0, 0, 0}).is_null());
    EXPECT_TRUE(look(92000, "ada", nullptr).is_null());
    EXPECT_TRUE(look(94000, "ada", {9, 0, 0, 0}).is_null());
    hubs.forget(94001);
    EXPECT_TRUE(look(96000, "ada", {19, 0, 0, 0}).is_null());
}

// ---- Routes. ----

TEST(DashboardRouter, KnowsItsRoutesAndNoOthers) {
    EXPECT_EQ(find_route("GET", "/", "").place, Place::kShell);
    EXPECT_EQ(find_route("GET", "/h/app/tasks?tab=failed", "").place, Place::kShell);
    EXPECT_EQ(find_route("POST", "/", "").status, 405);
    EXPECT_EQ(find_route("GET", "/healthz", "").place, Place::kHealth);
    EXPECT_EQ(find_route("GET", "/api/v1/me", "").place, Place::kMe);
    EXPECT_EQ(find_route("POST", "/api/v1/session", "").place, Place::kLogIn);
    EXPECT_EQ(find_route("DELETE", "/api/v1/session", "").place, Place::kLogOut);
    EXPECT_EQ(find_route("GET", "/api/v1/session", "").allow, "POST, DELETE");
    EXPECT_EQ(find_route("GET", "/api/v1/h/app/actions", "").status, 405);
    EXPECT_EQ(find_route("POST", "/api/v1/h/app/actions", "").place, Place::kActions);
    EXPECT_EQ(find_route("GET", "/api/v1/stream", "").place, Place::kStream);
    EXPECT_EQ(find_route("POST", "/api/v1/stream/x/watch", "").ids.at(0), "x");
    for (const char* target :
         {"/api/", "/api/v1", "/api/v1/", "/api/v2/me", "/api/v1/nothing", "/api/v1/h/app",
          "/api/v1/h/app/nothing", "/api/v1/h/app/tasks/x/nothing", "/api/v1/h//tasks",
          "/api/v1/h/app/tasks/", "/api/v1/h/app/tasks/%zz", "/api/v1/h/app/tasks/a%00b",
          "/assets/x", "/assets/x/y/z", "/assets/x/y?z", "*"}) {
        EXPECT_EQ(find_route("GET", target, "").status, 404) << target;
    }
    for (const char* target :
         {"/api/v1/me?x=1", "/api/v1/h/app/tasks?evil=1", "/api/v1/h/app/tasks?limit=1&limit=2",
          "/api/v1/h/app/tasks?%zz=1"}) {
        EXPECT_EQ(find_route("GET", target, "").status, 400) << target;
    }
}

TEST(DashboardRouter, DecodesIds) {
    const Route route = find_route(
        "GET", "/api/v1/h/%22%3B%20DROP/instances/a%2Fb%25%23%3F/body/1.2?offset=0&length=9", "");
    EXPECT_EQ(route.place, Place::kRead);
    EXPECT_EQ(route.read, "instance_body");
    EXPECT_EQ(route.hub, "\"; DROP");
    EXPECT_EQ(route.ids, (std::vector<std::string>{"a/b%#?", "1.2"}));
    EXPECT_EQ(route.get("length"), "9");
    // Browsers resolve dots.
    EXPECT_EQ(find_route("GET", "/api/v1/h/app/instances/~..", "").ids.at(0), "..");
    EXPECT_EQ(find_route("GET", "/api/v1/h/app/instances/~~x", "").ids.at(0), "~x");
    EXPECT_EQ(find_route("GET", "/api/v1/h/app/tasks?filter=%7B%22a%22%3A+1%7D", "").get("filter"),
              "{\"a\": 1}");
}

TEST(DashboardRouter, LivesBelowABasePath) {
    EXPECT_EQ(find_route("GET", "/belay/api/v1/me", "/belay").place, Place::kMe);
    EXPECT_EQ(find_route("GET", "/belay", "/belay").place, Place::kShell);
    EXPECT_EQ(find_route("GET", "/api/v1/me", "/belay").status, 404);
    EXPECT_EQ(find_route("GET", "/belayx/api/v1/me", "/belay").status, 404);
}

TEST(DashboardRouter, HasAStatementOrASamplerForEveryRead) {
    for (const auto& pattern : read_patterns()) {
        EXPECT_NE(level_of_read(pattern.name), "") << pattern.name;
    }
}

// ---- Sessions and limits. ----

TEST(DashboardSessions, EndInTime) {
    Sessions sessions;
    const auto credential = std::make_shared<Credential>();
    const Session begun = sessions.begin(credential, "", 1000);
    EXPECT_EQ(begun.id.size(), 43u);
    EXPECT_NE(begun.id, begun.csrf);
    EXPECT_TRUE(sessions.find(begun.id, 1000 + Sessions::kIdleMs - 1));
    // That was a use.
    EXPECT_TRUE(sessions.find(begun.id, 1000 + 2 * Sessions::kIdleMs - 2));
    EXPECT_FALSE(sessions.find(begun.id, 1000 + 4 * Sessions::kIdleMs));
    EXPECT_FALSE(sessions.find("", 1000));
    EXPECT_FALSE(sessions.find(begun.id + "x", 1000));
    const Session busy = sessions.begin(credential, "", 0);
    for (std::int64_t at = 0; at < Sessions::kTotalMs; at += Sessions::kIdleMs / 2) {
        EXPECT_TRUE(sessions.find(busy.id, at));
    }
    EXPECT_FALSE(sessions.find(busy.id, Sessions::kTotalMs));
    std::vector<std::string> ended;
    EXPECT_EQ(sessions.expire(Sessions::kTotalMs * 2, ended).size(), 2u);
    EXPECT_EQ(ended.size(), 2u);
    EXPECT_EQ(sessions.size(), 0u);
}

TEST(DashboardSessions, AreBoundedAndHaveFewStreams) {
    Sessions sessions;
    const auto credential = std::make_shared<Credential>();
    const Session first = sessions.begin(credential, "", 1);
    for (std::size_t i = 0; i < Sessions::kMost; ++i) {
        sessions.begin(credential, "", 2);
    }
    EXPECT_EQ(sessions.size(), Sessions::kMost);
    EXPECT_FALSE(sessions.find(first.id, 2));
    const Session session = sessions.begin(credential, "", 3);
    for (int i = 0; i < Sessions::kMostStreams; ++i) {
        EXPECT_TRUE(sessions.take_stream(session.id));
    }
    EXPECT_FALSE(sessions.take_stream(session.id));
    sessions.give_stream(session.id);
    EXPECT_TRUE(sessions.take_stream(session.id));
    for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(sessions.may_request(session.id, 5));
    }
    EXPECT_FALSE(sessions.may_request(session.id, 5));
    EXPECT_TRUE(sessions.may_request(session.id, 25));
}

TEST(DashboardSessions, CompareSecretsWhole) {
    EXPECT_TRUE(equals_secret("abc", "abc"));
    for (const char* other : {"", "ab", "abcd", "abd", "abcabc"}) {
        EXPECT_FALSE(equals_secret(other, "abc")) << other;
    }
    EXPECT_FALSE(equals_secret("", ""));
    EXPECT_NE(random_secret(), random_secret());
}

// How long a login has to wait; one that may try fails.
static std::int64_t fail(LoginLimits& limits, const std::string& address, std::int64_t now) {
    const std::int64_t wait = limits.begin(address, now);
    if (wait == 0) {
        limits.failed(address, now);
    }
    return wait;
}

TEST(DashboardLimits, SlowDownLogins) {
    LoginLimits limits;
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(fail(limits, "a", i), 0);
    }
    const std::int64_t first = limits.begin("a", 5);
    EXPECT_GT(first, 50000);
    EXPECT_EQ(fail(limits, "b", 5), 0);
    EXPECT_EQ(fail(limits, "a", 5 + first), 0);
    // From many addresses: 20 in all.
    LoginLimits spread;
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(fail(spread, "address " + std::to_string(i), i), 0);
    }
    EXPECT_GT(spread.begin("another", 20), 0);
    // Pauses grow.
    LoginLimits stubborn;
    std::int64_t now = 0;
    std::int64_t longest = 0;
    for (int i = 0; i < 80; ++i) {
        const std::int64_t wait = fail(stubborn, "a", now);
        longest = std::max(longest, wait);
        now += wait;
    }
    EXPECT_EQ(longest, 300000);
}

TEST(DashboardLimits, CountWhatIsBeingTried) {
    LoginLimits limits;
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(limits.begin("a", 0), 0);
    }
    EXPECT_GT(limits.begin("a", 0), 0);
    EXPECT_EQ(limits.begin("b", 0), 0);
    limits.gave_up("b");
    // One that is let in, or is not told of the password, makes room.
    limits.succeeded("a");
    EXPECT_EQ(limits.begin("a", 0), 0);
    EXPECT_GT(limits.begin("a", 0), 0);
    limits.gave_up("a");
    EXPECT_EQ(limits.begin("a", 0), 0);
    for (int i = 0; i < 5; ++i) {
        limits.failed("a", 1);
    }
    EXPECT_GT(limits.begin("a", 2), 50000);
    // In all.
    LoginLimits spread;
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(spread.begin("address " + std::to_string(i), 0), 0);
    }
    EXPECT_GT(spread.begin("another", 0), 0);
}

// ---- Bodies. ----

TEST(DashboardBodies, RedactKeysAndKeepTheRest) {
    const std::vector<std::string> keys = {"password", "ssn"};
    EXPECT_EQ(redacted(R"({"a": 9007199254740993, "password": "x", "a": 1})", keys),
              R"({"a": 9007199254740993, "password": "[redacted]", "a": 1})");
    EXPECT_EQ(redacted(R"([{"ssn":{"x":[1,"}"]}},{"ssn" : 12}])", keys),
              R"([{"ssn":"[redacted]"},{"ssn" : "[redacted]"}])");
    // Written with an escape, as a value, and cut in the middle.
    EXPECT_EQ(redacted(R"({"p\u0061ssword":1})", keys), R"({"p\u0061ssword":"[redacted]"})");
    EXPECT_EQ(redacted(R"({"x":"password"})", keys), R"({"x":"password"})");
    EXPECT_EQ(redacted(R"({"password": "secr)", keys), R"({"password": "[redacted])"
                                                       "\"");
    EXPECT_EQ(redacted(R"({"password":)", keys), R"({"password":)");
    EXPECT_EQ(redacted("no JSON \"at all", keys), "no JSON \"at all");
    // JSON inside a string, also if the string is cut.
    EXPECT_EQ(redacted(R"({"input":"{\"ssn\": 12, \"a\": 1}"})", keys),
              R"({"input":"{\"ssn\": \"[redacted]\", \"a\": 1}"})");
    EXPECT_EQ(redacted(R"({"input":"{\"a\": 1, \"ssn\": \"12-34)", keys).find("12-34"),
              std::string::npos);
    EXPECT_EQ(redacted(R"({"input":"{\"ssn\": \"12\u00)", keys).find("12"), std::string::npos);
    EXPECT_EQ(redacted(R"({"a":"say \"x\""})", keys), R"({"a":"say \"x\""})");
    Json answer = {{"rows", {{{"payload", R"({"ssn": 1})"}, {"task_id", "ssn"}}}},
                   {"input", {{"text", R"({"ssn": 2})"}, {"bytes", 10}}},
                   {"sql", R"({"ssn": 3})"}};
    apply_policy({.redact = keys}, answer);
    EXPECT_EQ(answer["rows"][0]["payload"], R"({"ssn": "[redacted]"})");
    EXPECT_EQ(answer["input"]["text"], R"({"ssn": "[redacted]"})");
    apply_policy({.hidden = true}, answer);
    EXPECT_TRUE(answer["rows"][0]["payload"].is_null());
    // Of what is shown: the size of a value that is hidden is hidden, too.
    EXPECT_EQ(answer["input"]["bytes"], std::string(R"({"ssn": "[redacted]"})").size());
    EXPECT_EQ(answer["rows"][0]["task_id"], "ssn");
}

TEST(DashboardBodies, AreCutAtACharacter) {
    EXPECT_EQ(cut_at_character("aä", 2), "a");
    EXPECT_EQ(cut_at_character("aä", 3), "aä");
    EXPECT_EQ(cut_at_character("€", 2), "");
}

// ---- Actions. ----

TEST(DashboardActions, AreCompleteAndShowWhatTheyDo) {
    for (const auto& action : actions()) {
        ActionCall call{.action = &action, .reason = "because", .key = "k"};
        for (const auto& argument : action.arguments) {
            call.args[argument.key] = argument.type == Action::Type::kUuid
                                          ? Json("0190c2a4-0000-7000-8000-0000000000ff")
                                      : argument.type == Action::Type::kInteger ? Json("7")
                                      : argument.type == Action::Type::kNumber  ? Json(1.5)
                                      : argument.type == Action::Type::kFlag    ? Json(true)
                                      : argument.type == Action::Type::kJson    ? Json("{\"a\": 1}")
                                                                                : Json("it's");
        }
        const Json described = describe(call, "app", true);
        EXPECT_NE(described["sql"].get<std::string>().find("SELECT * FROM "), std::string::npos);
        EXPECT_EQ(described["sql"].get<std::string>().find('$'), std::string::npos) << action.name;
        EXPECT_EQ(described["effect"].get<std::string>().find(':'), std::string::npos)
            << action.name;
        EXPECT_EQ(described["command"].get<std::string>().find(" :"), std::string::npos);
        if (action.kind == Action::Kind::kDestructive) {
            EXPECT_NE(described["confirm"], "") << action.name;
        }
        // The event of an operator's action has the reason; where there is a dialog, it can be
        // typed in.
        if (action.kind != Action::Kind::kSafe && std::string_view(action.level) == "operator") {
            EXPECT_NE(described["reason"], "none") << action.name;
        }
    }
    const Json pause = describe({.action = find_action("pause_queue"), .args = {{"queue", "it's"}}},
                                "My hub", true);
    EXPECT_EQ(pause["sql"], "SELECT * FROM \"My hub\".pause_queue('it''s');");
    EXPECT_EQ(pause["command"], "belay pause --queue 'it'\\''s' --hub 'My hub'");
    // What is not given leaves no option behind.
    EXPECT_EQ(describe({.action = find_action("pause_hub")}, "app", true)["command"],
              "belay pause --hub app");
    EXPECT_EQ(
        describe({.action = find_action("pause_hub"), .reason = "why not"}, "app", true)["command"],
        "belay pause --reason 'why not' --hub app");
    EXPECT_EQ(describe({.action = find_action("set_queue"), .args = {{"queue", "a"}}}, "app",
                       true)["command"],
              "");
    // Each operator approves separately.
    const ActionCall approval{.action = find_action("approve_task"),
                              .args = {{"task_id", "0190c2a4-0000-7000-8000-0000000000ff"},
                                       {"waitpoint_id", "0190c2a4-0000-7000-8000-0000000000fe"}},
                              .key = "k-1"};
    EXPECT_NE(describe(approval, "app", true)["sql"].get<std::string>().find("'k-1'"),
              std::string::npos);
}

TEST(DashboardActions, RefuseWhatIsNotInTheTable) {
    const auto refused = [](const std::string& body) {
        try {
            ActionCall call = parse_action(body);
            Values values;
            statement_of(call, "app", "app", values);
            return false;
        } catch (const BadRequest&) {
            return true;
        }
    };
    EXPECT_FALSE(refused(
        R"({"action":"delete_task","args":{"task_id":"0190c2a4-0000-7000-8000-0000000000ff"},"key":"k","dry_run":false})"));
    for (const char* body :
         {"", "[]", "{}", R"({"action":"drop_hub","args":{}})",
          R"({"action":"delete_task","args":{"task_id":"x"},"key":"k"})",
          R"({"action":"delete_task","args":{},"key":"k"})",
          R"({"action":"delete_task","args":{"task_id":7},"key":"k"})",
          R"({"action":"pause_queue","args":{"queue":"a"}})",
          R"({"action":"pause_queue","args":{"queue":"a","more":1},"key":"k"})",
          R"({"action":"pause_queue","args":{"queue":"a\u0000b"},"key":"k"})",
          R"({"action":"pause_queue","args":{"queue":"a"},"key":"k","more":1})",
          R"({"action":"cancel_instance","args":{"instance_id":"a"},"key":"k"})",
          R"({"action":"redrive_dead_letter","args":{"id":"1; DROP"},"key":"k"})"}) {
        EXPECT_TRUE(refused(body)) << body;
    }
}

// ---- Latencies. ----

TEST(DashboardLatency, HasPercentilesWithinTheirBuckets) {
    const std::vector<std::int64_t> bounds = {10, 20, 100};
    const auto of = [&](std::vector<std::int64_t> buckets) {
        return latency({{"wait", std::move(buckets)}}, "wait", bounds);
    };
    EXPECT_EQ(of({100, 0, 0, 0}), Json::parse(R"({"p50": 5, "p95": 10, "p99": 10,
                                                  "buckets": [100, 0, 0, 0]})"));
    const Json spread = of({50, 0, 50, 0});
    EXPECT_EQ(spread["p50"], 10);
    EXPECT_EQ(spread["p95"], 92);
    EXPECT_EQ(spread["p99"], 98);
    EXPECT_EQ(of({0, 1, 0, 0})["p50"], 15);
    // The last bucket has no upper bound.
    EXPECT_EQ(of({0, 0, 0, 3})["p50"], 100);
    EXPECT_EQ(of({97, 0, 0, 3})["p50"], 5);
    EXPECT_EQ(of({97, 0, 0, 3})["p99"], 100);
}

TEST(DashboardLatency, TellsNothingHappenedFromNotMeasured) {
    const std::vector<std::int64_t> bounds = {10, 20};
    EXPECT_EQ(latency({{"wait", {0, 0, 0}}}, "wait", bounds),
              Json::parse(R"({"p50": null, "p95": null, "p99": null, "buckets": [0, 0, 0]})"));
    EXPECT_TRUE(latency({}, "wait", bounds).is_null());
    EXPECT_TRUE(latency({{"run", {1, 0, 0}}}, "wait", bounds).is_null());
    // A server that tells no bounds, or others.
    EXPECT_TRUE(latency({{"wait", {1, 0, 0}}}, "wait", {}).is_null());
    EXPECT_TRUE(latency({{"wait", {1, 0, 0}}}, "wait", {10}).is_null());
}

TEST(DashboardLatency, AddsTheQueuesOfAGlance) {
    const auto durations = durations_of(Json::parse(R"({"queues": [
        {"queue": "orchestrator", "durations": {"wait": {"sum_ms": 9, "buckets": [1, 2, 0]},
                                                "run": {"sum_ms": 0, "buckets": [0, 0, 0]}}},
        {"queue": "worker", "durations": {"wait": {"sum_ms": 7, "buckets": [0, 1, 4]},
                                          "run": {"sum_ms": 3, "buckets": [3, 0, 0]}}},
        {"queue": "tasks", "durations": {"wait": {"sum_ms": 1, "buckets": [1, 0, 0]},
                                         "run": {"sum_ms": 1, "buckets": [0, 1, 0]}}}]})"));
    EXPECT_EQ(durations, (Durations{{"wait", {2, 3, 4}}, {"run", {3, 1, 0}}}));
    // Without shared memory, and from a server that does not count durations.
    EXPECT_TRUE(durations_of(Json::parse(R"({"queues": [{"queue": "worker", "durations": null},
                                                        {"queue": "tasks"}]})"))
                    .empty());
}

TEST(DashboardLatency, CountsWhatHappenedBetweenSamples) {
    const Durations first = {{"wait", {5, 2, 0}}, {"run", {1, 0, 0}}};
    const Durations second = {{"wait", {5, 4, 1}}, {"run", {1, 0, 0}}};
    EXPECT_EQ(durations_since(first, second), (Durations{{"wait", {0, 2, 1}}, {"run", {0, 0, 0}}}));
    // After a reset, what was counted since.
    EXPECT_EQ(durations_since(second, {{"wait", {9, 0, 0}}, {"run", {1, 2, 0}}}),
              (Durations{{"wait", {9, 0, 0}}, {"run", {0, 2, 0}}}));
    // The first sample, and none.
    EXPECT_TRUE(durations_since({}, second).empty());
    EXPECT_TRUE(durations_since(second, {}).empty());
    EXPECT_TRUE(durations_since({{"wait", {1, 1}}}, {{"wait", {1, 1, 1}}}).empty());
    Durations window;
    add(window, {});
    add(window, durations_since(first, second));
    add(window, {{"wait", {9, 0, 0}}});
    EXPECT_EQ(window, (Durations{{"wait", {9, 2, 1}}, {"run", {0, 0, 0}}}));
}

// ---- Watches. ----

TEST(DashboardStreams, KeepTheLatestWatches) {
    Streams streams;
    Session session;
    session.id = "s";
    session.credential = std::make_shared<Credential>();
    const std::string id = streams.open(session, nullptr);
    for (int i = 0; i < 70; ++i) {
        EXPECT_TRUE(streams.watch(id, "s", {{"task", "app", std::to_string(100 + i)}}, {}));
    }
    const auto watched = streams.watched();
    ASSERT_EQ(watched.size(), 1u);
    EXPECT_EQ(watched[0].objects.size(), Streams::kMostWants);
    EXPECT_TRUE(watched[0].objects.contains({"task", "app", "169"}));
    EXPECT_FALSE(watched[0].objects.contains({"task", "app", "100"}));
}

TEST(DashboardStreams, ParseWatches) {
    const std::set<std::string> hubs = {"app", "app:b", "\"; DROP"};
    EXPECT_EQ(*parse_want("task:app:x:y", hubs), (Want{"task", "app", "x:y"}));
    EXPECT_EQ(*parse_want("task:app:b:x", hubs), (Want{"task", "app:b", "x"}));
    EXPECT_EQ(*parse_want("glance:\"; DROP:", hubs), (Want{"glance", "\"; DROP", ""}));
    EXPECT_FALSE(parse_want("task:other:x", hubs));
    EXPECT_FALSE(parse_want("queue:app:x", hubs));
    EXPECT_FALSE(parse_want("task", hubs));
    EXPECT_EQ(event_text("x", {{"a", "1\n2"}}), "event: x\ndata: {\"a\":\"1\\n2\"}\n\n");
}

}  // namespace
}  // namespace belay::tool::dashboard
