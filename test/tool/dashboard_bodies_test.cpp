// What the dashboard shows of stored bodies, and to whom, against a real database.
#include <algorithm>
#include <fstream>
#include <map>

#include "dashboard/router.hpp"
#include "dashboard_server.hpp"

namespace belay::test {
namespace {

// A key that is redacted shows nowhere: not in lists, bodies, their parts, downloads and events.
TEST_F(DashboardServer, RedactsBodiesBeforeTheyAreCut) {
    const std::string secret = "4111-1111-1111-1111";
    const std::string id =
        hub_.tasks()
            .create({.queue = "mail",
                     .payload = {{"card", secret}, {"filler", std::string(20000, 'x')}, {"z", 1}}})
            .id.text();
    hub_.provider().enqueue_worker_work(
        {.work_item = R"({"ActivityExecute":{"instance":"i","execution_id":1,"id":2,"name":"Pay",)"
                      R"("input":"{\"card\":\"4111-1111-1111-1111\"}"}})"});
    start({.redact = {"card"}});
    const Viewer viewer = log_in();
    const std::string path = "/api/v1/h/app/tasks/" + id + "/body/payload";
    std::vector<std::string> paths = {
        "/api/v1/h/app/tasks", "/api/v1/h/app/tasks/" + id,        path,
        path + "?download=1",  "/api/v1/h/app/tasks?format=jsonl", "/api/v1/h/app/work-items"};
    // Every second place, to stay below 50 requests a second on any machine.
    for (int offset = 1; offset < 60; offset += 2) {
        paths.push_back(path + "?length=30&offset=" + std::to_string(offset));
    }
    for (const auto& one : paths) {
        const Answer answer = get(one, viewer);
        EXPECT_EQ(answer.status, 200) << one << answer.body;
        EXPECT_EQ(answer.body.find("1111-1"), std::string::npos) << one << answer.body;
    }
    const json items = get("/api/v1/h/app/work-items", viewer).parsed();
    const Answer item = get(
        "/api/v1/h/app/work-items/" + items["rows"][0]["id"].get<std::string>() + "/body/work_item",
        viewer);
    EXPECT_EQ(item.status, 200) << item.body;
    EXPECT_NE(item.body.find("[redacted]"), std::string::npos) << item.body;
    EXPECT_EQ(item.body.find("1111"), std::string::npos) << item.body;
    // The parts of what may be seen make the whole of it.
    std::string whole;
    for (std::size_t offset = 0;;) {
        const json part =
            get(path + "?length=5000&offset=" + std::to_string(offset), viewer).parsed();
        whole += part["text"].get<std::string>();
        offset = whole.size();
        if (offset >= part["bytes"].get<std::size_t>()) {
            break;
        }
    }
    EXPECT_EQ(json::parse(whole)["card"], "[redacted]");
    EXPECT_EQ(json::parse(whole)["z"], 1);
}

constexpr const char* kCanary = "canary-4111";
constexpr const char* kTask = "0190c2a4-0000-7000-8000-000000000001";
constexpr const char* kFlow = "0190c2a4-0000-7000-8000-000000000002";

class DashboardHiding : public DashboardStream {
 protected:
    // A hub with this JSON in every column that holds a body, or a part of one.
    void fill(const std::string& body) {
        auto conn = cluster->connect();
        const std::string text = "'" + body + "'";
        conn.exec("SELECT app.create_task('mail', NULL, p_task_id => '" + std::string(kTask) +
                  "'), app.create_flow(jsonb_build_object('flow_id', '" + kFlow +
                  "', 'kind', 'two', 'tasks', '[{\"key\": \"a\", \"queue\": \"flow\"}, "
                  "{\"key\": \"b\", \"queue\": \"flow\", \"after\": [\"a\"]}]'::jsonb))");
        const auto claimed =
            TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w-1", .queues = {{"mail"}}});
        EXPECT_EQ(claimed.size(), 1u);
        conn.exec("SELECT app.fail_task('" + std::string(kTask) + "', " +
                  std::to_string(claimed.at(0).epoch) + ", 'permanent', " + text + ", " + text +
                  "::jsonb)");
        conn.exec("UPDATE app.tasks SET payload = " + text + ", result = " + text +
                  ", checkpoint = " + text + ", tags = " + text + ", progress_message = " + text +
                  ", progress_pct = 5");
        conn.exec("UPDATE app.flows SET tags = " + text);
        conn.exec(
            "SELECT app.create_schedule('nightly', '0 3 * * *', "
            "'{\"queue\": \"mail\"}'::jsonb)");
        conn.exec("UPDATE app.schedules SET last_error = " + text +
                  ", task = jsonb_build_object('queue', 'mail', 'payload', " + text + "::jsonb)");
        const std::string event = "json_build_object('name', 'Pay', 'input', " + text + ")::text";
        conn.exec(
            "INSERT INTO app.instances VALUES ('i', 'Bill', '1.0.0', 1, NULL, " + text +
            ", 1, now(), now()), ('i2', 'Bill', '1.0.0', 1, 'i', " + text +
            ", 1, now(), now()); INSERT INTO app.executions VALUES ('i', 1, 'Running', NULL, "
            "now(), NULL, 1, 0, 0), ('i2', 1, 'Failed', " +
            text +
            ", now(), now(), 1, 0, 0); INSERT INTO app.history_turns (instance_id, "
            "execution_id, first_event_id, last_event_id, created_at, event_types, event_data) "
            "SELECT i, 1, 1, 2, now(), ARRAY['OrchestrationStarted', 'ActivityScheduled'], ARRAY[" +
            event + ", " + event +
            "] FROM unnest(ARRAY['i', 'i2']) AS i; INSERT INTO app.kv_store VALUES ('i', 'k', " +
            text + ", 1, 0)");
        hub_.provider().enqueue_worker_work({.work_item = json({{"ActivityExecute",
                                                                 {{"instance", "i"},
                                                                  {"execution_id", 1},
                                                                  {"id", 2},
                                                                  {"name", "Pay"},
                                                                  {"input", body}}}})
                                                              .dump()});
        conn.exec("UPDATE app.worker_queue SET last_error = " + text);
        hub_.orchestrations().start_text("Bill", body, {.instance_id = "waits"});
        conn.exec(
            "INSERT INTO app.dead_letters SELECT 1, 'worker', 1, 'i', 1, 2, NULL, NULL, "
            "work_item, 3, 'max_attempts', last_error, now(), now() FROM app.worker_queue");
        // The reason of an operator goes into the event, as does the filter of an action on many.
        conn.exec("SELECT app.cancel_tasks(jsonb_build_object('queue', 'flow', 'tags', " + text +
                  "::jsonb), 'because')");
    }

    // All reads that there are, of the objects of fill().
    static std::vector<std::string> all_reads() {
        static const std::map<std::string, std::vector<std::string>> ids = {
            {"queues", {"mail"}}, {"tasks", {kTask}},    {"instances", {"i", "i2", "waits"}},
            {"flows", {kFlow}},   {"work-items", {"1"}}, {"dead-letters", {"1"}},
            {"bulk", {"1"}}};
        static const std::map<std::string, std::vector<std::string>> fields = {
            {"tasks",
             {"payload", "result", "checkpoint", "tags", "failure_message", "failure_details"}},
            {"instances", {"input", "output", "custom_status", "1.1"}},
            {"work-items", {"work_item", "last_error"}},
            {"dead-letters", {"work_item", "detail"}}};
        std::vector<std::string> paths;
        for (const auto& pattern : tool::dashboard::read_patterns()) {
            std::vector<std::string> built = {""};
            for (std::size_t i = 0; i < pattern.segments.size(); ++i) {
                const std::string segment = pattern.segments[i];
                std::vector<std::string> next;
                const auto& choice = segment != "*" ? std::vector<std::string>{segment}
                                     : i == 1       ? ids.at(pattern.segments[0])
                                                    : fields.at(pattern.segments[0]);
                for (const auto& before : built) {
                    for (const auto& one : choice) {
                        next.push_back(before + "/" + one);
                    }
                }
                built = next;
            }
            for (const auto& path : built) {
                paths.push_back("/api/v1/h/app" + path);
                const auto has = [&](const char* key) {
                    return std::ranges::find_if(pattern.keys, [&](const char* known) {
                               return std::string(known) == key;
                           }) != pattern.keys.end();
                };
                if (has("download")) {
                    paths.push_back(paths.back() + "?download=1");
                }
                if (has("format")) {
                    paths.push_back(paths.back() + "?format=jsonl");
                }
            }
        }
        return paths;
    }
    // Of how many reads the answer has the canary.
    int leaks(const Viewer& viewer, bool expected) {
        int count = 0;
        int done = 0;
        for (const auto& path : all_reads()) {
            const Answer answer = get(path, viewer);
            EXPECT_NE(answer.status, 400) << path << answer.body;
            EXPECT_NE(answer.status, 500) << path << answer.body;
            done += answer.status == 200 ? 1 : 0;
            const bool leaked = answer.body.find(kCanary) != std::string::npos;
            EXPECT_TRUE(!leaked || expected) << path << "\n" << answer.body;
            count += leaked ? 1 : 0;
            // 50 requests a second.
            std::this_thread::sleep_for(std::chrono::milliseconds(25));
        }
        EXPECT_GE(done, 20);
        return count;
    }
};

TEST_F(DashboardHiding, LeakNowhereWhenTheyAreHidden) {
    fill(R"({"card": "canary-4111"})");
    cluster->connect().exec(
        "CREATE ROLE r_monitor LOGIN; SELECT belay.grant_hub('app', 'r_monitor', 'monitor')");
    start();
    // The test of the test: where there is something to hide.
    EXPECT_GE(leaks(log_in(), true), 30);
    stop();
    start({.bodies = "none"});
    leaks(log_in(), false);
    // Sentences are no bodies.
    const Viewer viewer = log_in();
    const json waits = get("/api/v1/h/app/instances/i", viewer).parsed()["waits"];
    ASSERT_FALSE(waits.empty());
    const json item = get("/api/v1/h/app/work-items/1/explain", viewer).parsed()["rows"];
    ASSERT_FALSE(item.empty());
    EXPECT_TRUE(item[0]["detail"]["text"].is_string() || item[0]["detail"]["text"].is_null());
    const json health = get("/api/v1/h/app/health", viewer).parsed();
    for (const auto& option : health["options"]) {
        EXPECT_TRUE(option["option"] != "max_attempts" || option["value"].is_string()) << option;
    }
    stop();
    start({.dsn = cluster->conninfo() + " user=r_monitor", .bodies = "operator"});
    leaks(log_in(), false);
    stop();
    start({.redact = {"card"}});
    leaks(log_in(), false);
    stop();
    cluster->connect().exec("DROP OWNED BY r_monitor; DROP ROLE r_monitor");
}

// Who does not see bodies does not learn by asking for what is in them.
TEST_F(DashboardHiding, AreNotFoundByFiltersWhenTheyAreHidden) {
    fill(R"({"card": "canary-4111"})");
    const std::vector<std::pair<std::string, json>> filters = {
        {"tasks", {{"payload", {{"card", kCanary}}}}},
        {"tasks", {{"result", json::object()}}},
        {"tasks", {{"failure", json::object()}}},
        {"tasks", {{"message", "can"}}},
        {"tasks", {{"tags", {{"card", kCanary}}}}},
        {"flows", {{"tags", {{"card", kCanary}}}}},
        {"instances", {{"input", "can"}}},
        {"instances", {{"output", "can"}}}};
    const auto escaped = [](const std::string& text) {
        std::string out;
        for (const char c : text) {
            char hex[4];
            std::snprintf(hex, sizeof hex, "%%%02X", static_cast<unsigned char>(c));
            out += hex;
        }
        return out;
    };
    const auto ask = [&](const Viewer& viewer, int wanted) {
        for (const auto& [list, filter] : filters) {
            const Answer answer =
                get("/api/v1/h/app/" + list + "?filter=" + escaped(filter.dump()), viewer);
            EXPECT_EQ(answer.status, wanted) << list << filter << answer.body;
            if (wanted == 400) {
                EXPECT_NE(answer.body.find("looks into bodies"), std::string::npos) << answer.body;
            }
        }
        const Answer many = post("/api/v1/h/app/bulk",
                                 {{"action", "replay_task"},
                                  {"filter", {{"payload", {{"card", kCanary}}}}},
                                  {"upto", kTask},
                                  {"dry_run", true}},
                                 viewer);
        EXPECT_EQ(many.status, wanted) << many.body;
        EXPECT_EQ(
            get("/api/v1/h/app/tasks?filter=" + escaped(R"({"queue":"mail"})"), viewer).status,
            200);
    };
    start();
    ask(log_in(), 200);
    stop();
    start({.bodies = "none"});
    ask(log_in(), 400);
    stop();
    start({.redact = {"card"}});
    ask(log_in(), 400);
}

// The stream says no more than the reads.
TEST_F(DashboardHiding, LeakIntoNoStream) {
    fill(R"({"card": "canary-4111"})");
    start({.bodies = "none"});
    const Viewer viewer = log_in();
    const Open open = open_stream(viewer);
    EXPECT_EQ(watch(viewer, open, {"glance:app:", "events:app:"}), 200);
    open.wire->read_until("event: events");
    const std::string all = open.wire->read_until("event: glance");
    const std::string more = open.wire->read_until("schedules_with_errors");
    EXPECT_NE(more.find("schedules_with_errors"), std::string::npos);
    EXPECT_EQ(more.find(kCanary), std::string::npos) << more;
}

// What an operator looked for is not told to those who may not look.
TEST_F(DashboardHiding, AreHiddenInTheFiltersOfJobs) {
    fill(R"({"card": "canary-4111"})");
    auto conn = cluster->connect();
    conn.exec(
        "CREATE ROLE front LOGIN; CREATE ROLE ada; CREATE ROLE eve; GRANT ada, eve TO front; "
        "SELECT belay.grant_hub('app', 'ada', 'operator'), belay.grant_hub('app', 'eve', "
        "'monitor')");
    const std::string file = cluster->file("secret");
    std::ofstream(file) << "a secret of the proxy\n";
    start({.dsn = cluster->conninfo() + " user=front",
           .login = "proxy",
           .bodies = "operator",
           .token_file = file});
    const auto user = [&](const std::string& name) {
        return "X-Belay-Proxy-Secret: a secret of the proxy\r\nX-Remote-User: " + name + "\r\n";
    };
    const Viewer ada = viewer_of(get("/api/v1/me", {}, user("ada")));
    const Viewer eve = viewer_of(get("/api/v1/me", {}, user("eve")));
    const std::string body = json({{"action", "replay_task"},
                                   {"filter", {{"payload", {{"card", kCanary}}}}},
                                   {"upto", kTask},
                                   {"key", "k"},
                                   {"dry_run", false}})
                                 .dump();
    const Answer started =
        raw("POST /api/v1/h/app/bulk HTTP/1.1\r\nHost: " + host() + "\r\nConnection: close\r\n" +
            "Content-Type: application/json\r\nOrigin: http://" + host() +
            "\r\nX-Belay-CSRF: " + ada.csrf + "\r\nCookie: " + ada.cookie + "\r\n" + user("ada") +
            "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    ASSERT_EQ(started.status, 200) << started.body;
    EXPECT_NE(get("/api/v1/h/app/bulk", ada, user("ada")).body.find(kCanary), std::string::npos);
    for (const char* path : {"/api/v1/h/app/bulk", "/api/v1/h/app/bulk/1"}) {
        const Answer seen = get(path, eve, user("eve"));
        EXPECT_EQ(seen.status, 200);
        EXPECT_NE(seen.body.find("[hidden]"), std::string::npos) << seen.body;
        EXPECT_EQ(seen.body.find(kCanary), std::string::npos) << seen.body;
    }
    stop();
    conn.exec("DROP OWNED BY ada, eve; DROP ROLE front, ada, eve");
}

}  // namespace
}  // namespace belay::test
