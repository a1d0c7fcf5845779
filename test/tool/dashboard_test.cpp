// The dashboard's server over a raw socket, against a real database.
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "dashboard/actions.hpp"
#include "dashboard/router.hpp"
#include "dashboard_server.hpp"

namespace belay::test {
namespace {

TEST_F(DashboardServer, ServesPagesWithoutASession) {
    start();
    EXPECT_EQ(get("/healthz").body, "ok");
    for (const char* path : {"/", "/h/app/tasks?tab=failed", "/login"}) {
        const Answer page = get(path);
        EXPECT_EQ(page.status, 200) << path;
        EXPECT_TRUE(page.has("require-trusted-types-for 'script'"));
        EXPECT_TRUE(page.has("X-Content-Type-Options: nosniff"));
        EXPECT_TRUE(page.has("Cross-Origin-Opener-Policy: same-origin"));
        EXPECT_EQ(page.body.find("@assets@"), std::string::npos);
        EXPECT_FALSE(page.has("Access-Control"));
    }
    const std::string page = get("/").body;
    const std::size_t name = page.find("theme.js");
    ASSERT_NE(name, std::string::npos);
    const std::size_t at = page.rfind("/assets/", name);
    const std::string script = page.substr(at, name + 8 - at);
    const Answer asset = get(script);
    EXPECT_EQ(asset.status, 200);
    EXPECT_TRUE(asset.has("immutable"));
    EXPECT_TRUE(asset.has("Content-Encoding: gzip"));
    EXPECT_EQ(get("/assets/other/app.js").status, 404);
    EXPECT_EQ(get("/api/v1/me").status, 401);
}

// T2: what another page in the same browser could send is refused, and changes nothing.
TEST_F(DashboardServer, RefusesOtherOrigins) {
    start();
    const Viewer viewer = log_in();
    const std::string body =
        R"({"action":"pause_queue","args":{"queue":"mail"},"reason":"","key":"k","dry_run":false})";
    const std::string path = "/api/v1/h/app/actions";
    const std::string ours = "http://" + host();
    hub_.tasks().create({.queue = "mail"});
    EXPECT_EQ(raw("GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n").status, 421);
    EXPECT_EQ(raw("GET / HTTP/1.1\r\nConnection: close\r\n\r\n").status, 421);
    EXPECT_EQ(
        raw_post(path, body, viewer, "http://evil.example", "application/json", viewer.csrf).status,
        403);
    EXPECT_EQ(raw_post(path, body, viewer, "", "application/json", viewer.csrf).status, 403);
    EXPECT_EQ(raw_post(path, body, viewer, "null", "application/json", viewer.csrf).status, 403);
    EXPECT_EQ(raw_post(path, body, viewer, ours, "application/json", "").status, 403);
    EXPECT_EQ(raw_post(path, body, viewer, ours, "application/json", "x").status, 403);
    for (const char* type : {"text/plain", "application/x-www-form-urlencoded", ""}) {
        EXPECT_EQ(raw_post(path, body, viewer, ours, type, viewer.csrf).status, 403) << type;
    }
    EXPECT_EQ(get(path, viewer).status, 405);
    EXPECT_EQ(get("/api/v1/me", viewer, "Sec-Fetch-Site: cross-site\r\n").status, 403);
    EXPECT_EQ(get("/api/v1/me", viewer, "Sec-Fetch-Site: same-origin\r\n").status, 200);
    const Viewer other = log_in();
    EXPECT_EQ(raw_post(path, body, other, ours, "application/json", viewer.csrf).status, 403);
    EXPECT_EQ(get("/api/v1/me", {.cookie = viewer.cookie + "x", .csrf = ""}).status, 401);
    EXPECT_FALSE(hub_.queues().depths().at(0).paused);
    // Nor does any other request that changes something go without them.
    for (const auto& [method, other_path] :
         std::vector<std::pair<std::string, std::string>>{{"POST", "/api/v1/h/app/bulk"},
                                                          {"POST", "/api/v1/h/app/bulk/1/stop"},
                                                          {"POST", "/api/v1/h/app/bulk/1/go-on"},
                                                          {"POST", "/api/v1/stream/x/watch"},
                                                          {"DELETE", "/api/v1/session"}}) {
        EXPECT_EQ(raw_post(other_path, "{}", viewer, ours, "application/json", "", method).status,
                  403)
            << other_path;
        EXPECT_EQ(raw_post(other_path, "{}", viewer, "http://evil.example", "application/json",
                           viewer.csrf, method)
                      .status,
                  403)
            << other_path;
        EXPECT_EQ(
            raw_post(other_path, "{}", viewer, ours, "text/plain", viewer.csrf, method).status, 403)
            << other_path;
    }
    EXPECT_EQ(raw_post("/api/v1/session", json({{"token", dashboard_->token()}}).dump(), {},
                       "http://evil.example", "application/json", "")
                  .status,
              403);
    EXPECT_EQ(get("/api/v1/me", viewer).status, 200);
    // As it should be.
    EXPECT_EQ(raw_post(path, body, viewer, ours, "application/json", viewer.csrf).status, 200);
    EXPECT_TRUE(hub_.queues().depths().at(0).paused);
}

TEST_F(DashboardServer, SetsStrictCookies) {
    start({.base_path = "/belay"});
    const Answer answer =
        raw_post("/belay/api/v1/session", json({{"token", dashboard_->token()}}).dump(), {},
                 "http://" + host(), "application/json", "");
    ASSERT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.has("Set-Cookie: belay_session_" + std::to_string(dashboard_->port())));
    EXPECT_TRUE(answer.has("HttpOnly; SameSite=Strict; Path=/belay"));
    EXPECT_FALSE(answer.has("Secure"));
    EXPECT_NE(get("/belay/").body.find("/belay/assets/"), std::string::npos);
    stop();
    // Behind a proxy with TLS.
    start({.public_url = "https://ops.example.org"});
    const std::string body = json({{"token", dashboard_->token()}}).dump();
    const auto ask = [&](const std::string& asked, const std::string& origin) {
        return raw("POST /api/v1/session HTTP/1.1\r\nHost: " + asked +
                   "\r\nConnection: close\r\nContent-Type: application/json\r\nOrigin: " + origin +
                   "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    };
    EXPECT_EQ(ask("evil.example", "https://ops.example.org").status, 421);
    EXPECT_EQ(ask("ops.example.org", "http://ops.example.org").status, 403);
    const Answer secure = ask("ops.example.org", "https://ops.example.org");
    EXPECT_EQ(secure.status, 200);
    EXPECT_TRUE(secure.has("; Secure"));
}

// T3: each read and each action for each level, as in SQL.
TEST_F(DashboardServer, AllowsWhatTheRoleMayDoInSql) {
    const std::string task =
        hub_.tasks().create({.queue = "mail", .payload = Json::object()}).id.text();
    const std::string flow =
        hub_.flows()
            .create({.kind = "one", .tasks = {{.key = "a", .task = {.queue = "mail"}}}})
            .id.text();
    hub_.orchestrations().start_text("Bill", "", {.instance_id = "i"});
    hub_.provider().enqueue_worker_work(
        {.work_item = R"({"ActivityExecute":{"instance":"i","execution_id":1,"id":2,"name":"Pay",)"
                      R"("input":""}})"});
    auto conn = cluster->connect();
    const std::string item = conn.value("SELECT id FROM app.worker_queue");
    conn.exec(
        "INSERT INTO app.dead_letters SELECT 1, 'worker', 1, 'i', 1, 2, NULL, NULL, work_item, 3, "
        "'max_attempts', NULL, now(), now() FROM app.worker_queue");
    struct Read {
        std::string name;
        std::string path;
        std::vector<std::string> levels;  // each of them is enough
    };
    const std::vector<Read> reads = {
        {"glance", "glance", {"monitor"}},
        {"series", "series?range=1h", {"monitor"}},
        {"find", "find?text=i", {"monitor"}},
        {"owners", "owners", {"monitor"}},
        {"schedules", "schedules", {"monitor"}},
        {"subscriptions", "subscriptions", {"monitor"}},
        {"health", "health", {"monitor"}},
        {"queue", "queues/mail", {"monitor"}},
        {"tasks", "tasks", {"monitor"}},
        {"task", "tasks/" + task, {"client"}},
        {"task_explain", "tasks/" + task + "/explain", {"monitor"}},
        {"task_waitpoints", "tasks/" + task + "/waitpoints", {"monitor"}},
        {"task_body", "tasks/" + task + "/body/payload", {"monitor"}},
        {"instances", "instances", {"monitor"}},
        {"instance", "instances/i", {"monitor"}},
        {"instance_history", "instances/i/history", {"monitor", "worker"}},
        {"instance_tree", "instances/i/tree", {"monitor"}},
        {"instance_kv", "instances/i/kv", {"client"}},
        {"instance_body", "instances/i/body/input", {"client"}},
        {"flows", "flows", {"monitor"}},
        {"flow", "flows/" + flow, {"client"}},
        {"work_items", "work-items", {"operator"}},
        {"work_item_explain", "work-items/" + item + "/explain", {"monitor"}},
        {"work_item_body", "work-items/" + item + "/body/work_item", {"operator"}},
        {"messages", "messages", {"operator"}},
        {"dead_letters", "dead-letters", {"operator"}},
        {"dead_letter_body", "dead-letters/1/body/work_item", {"operator"}},
        {"bulk_jobs", "bulk", {}},
        {"bulk_job", "bulk/1", {}},
        {"events", "events", {"monitor"}},
    };
    for (const auto& pattern : tool::dashboard::read_patterns()) {
        EXPECT_TRUE(
            std::ranges::any_of(reads, [&](const Read& read) { return read.name == pattern.name; }))
            << "no level is tested of " << pattern.name;
    }
    conn.exec(
        "CREATE ROLE r_none LOGIN; CREATE ROLE r_client LOGIN; CREATE ROLE r_worker LOGIN; CREATE "
        "ROLE r_monitor LOGIN; CREATE ROLE r_operator LOGIN");
    for (const char* level : {"client", "worker", "monitor", "operator"}) {
        conn.exec("SELECT belay.grant_hub('app', 'r_" + std::string(level) + "', '" + level + "')");
    }
    const std::map<std::string, std::set<std::string>> includes = {
        {"none", {}},
        {"client", {"client"}},
        {"worker", {"client", "worker"}},
        {"monitor", {"client", "monitor"}},
        {"operator", {"client", "worker", "monitor", "operator"}},
        {"owner", {"client", "worker", "monitor", "operator", "owner"}}};
    for (const auto& [level, has] : includes) {
        start({.dsn = cluster->conninfo() + (level == "owner" ? "" : " user=r_" + level)});
        const Viewer viewer = log_in();
        for (const auto& [name, path, levels] : reads) {
            if (levels.empty()) {
                continue;  // in the memory of the dashboard, see below
            }
            const Answer answer = get("/api/v1/h/app/" + path, viewer);
            const bool allowed = std::ranges::any_of(
                levels, [&](const std::string& enough) { return has.contains(enough); });
            EXPECT_EQ(answer.status, allowed ? 200 : 403)
                << level << " " << path << " " << answer.body.substr(0, 300);
            if (answer.status == 403) {
                EXPECT_EQ(answer.parsed()["sqlstate"], "42501");
            }
        }
        const json me = get("/api/v1/me", viewer).parsed();
        const json& actions = me["hubs"]["app"]["actions"];
        const bool operates = has.contains("operator");
        const auto listed = [&](const char* action) {
            return std::find(actions.begin(), actions.end(), action) != actions.end();
        };
        EXPECT_EQ(listed("cancel_task"), operates) << level;
        EXPECT_EQ(listed("check_hub"), level == "owner") << level;
        EXPECT_EQ(listed("cancel_instance"), has.contains("client") && level != "monitor") << level;
        EXPECT_EQ(act(viewer, "pause_queue", {{"queue", "mail"}}, true).parsed()["allowed"],
                  operates);
        EXPECT_EQ(act(viewer, "pause_queue", {{"queue", "mail"}}).status, operates ? 200 : 403)
            << level;
        EXPECT_EQ(hub_.queues().depths().at(0).paused, operates);
        hub_.queues()["mail"].resume();
        EXPECT_EQ(post("/api/v1/h/app/bulk",
                       {{"action", "redrive_dead_letter"},
                        {"ids", {"7"}},
                        {"filter", json::object()},
                        {"key", "k"},
                        {"dry_run", false}},
                       viewer)
                      .status,
                  operates ? 200 : 403)
            << level;
        EXPECT_EQ(get("/api/v1/h/app/bulk", viewer).status, has.contains("monitor") ? 200 : 404);
        EXPECT_EQ(get("/api/v1/h/app/bulk/1", viewer).status, operates ? 200 : 404) << level;
        EXPECT_EQ(get("/api/v1/h/nowhere/tasks", viewer).status, 404);
        stop();
    }
    conn.exec(
        "DROP OWNED BY r_none, r_client, r_worker, r_monitor, r_operator; DROP ROLE r_none, "
        "r_client, r_worker, r_monitor, r_operator");
}

TEST_F(DashboardServer, ReadsWhatIsThere) {
    const std::string payload = R"({"n": 9007199254740993, "text": "<script>"})";
    const std::string task =
        hub_.tasks()
            .create({.queue = "mail", .payload = belay::Json::parse(payload), .kind = "welcome"})
            .id.text();
    const auto flow =
        hub_.flows().create({.kind = "two",
                             .tasks = {{.key = "a", .task = {.queue = "mail"}},
                                       {.key = "b", .task = {.queue = "mail"}, .after = {"a"}}}});
    hub_.orchestrations().start_text("Bill", R"({"a": 1})", {.instance_id = "x/y%..#?"});
    start();
    const Viewer viewer = log_in();
    const auto answer = [&](const std::string& path) {
        const Answer got = get("/api/v1/h/app/" + path, viewer);
        EXPECT_EQ(got.status, 200) << path << got.body;
        return got.parsed();
    };
    const json tasks = answer("tasks");
    EXPECT_EQ(tasks["rows"].size(), 3u);
    EXPECT_NE(tasks["sql"].get<std::string>().find("app.browse_tasks("), std::string::npos);
    EXPECT_EQ(
        answer("tasks?filter=%7B%22payload%22%3A%7B%22text%22%3A%22%3Cscript%3E%22%7D%7D")["rows"]
            .size(),
        1u);
    const json one = answer("tasks/" + task);
    EXPECT_EQ(json::parse(one["payload"]["text"].get<std::string>())["text"], "<script>");
    EXPECT_NE(one["payload"]["text"].get<std::string>().find("9007199254740993"),
              std::string::npos);
    EXPECT_EQ(one["queue"], "mail");
    EXPECT_EQ(answer("tasks/" + task + "/explain")["rows"][0]["reason"], "claimable");
    EXPECT_EQ(answer("flows")["rows"][0]["counts"]["blocked"], 1);
    // R5: times of members.
    const json members = answer("flows/" + flow.id.text())["members"];
    ASSERT_EQ(members.size(), 2u);
    for (const char* key :
         {"started_at_ms", "terminal_at_ms", "attempt_index", "failure_class", "progress"}) {
        EXPECT_TRUE(members[0].contains(key)) << key;
    }
    const json instance = answer("instances/x%2Fy%25..%23%3F");
    EXPECT_EQ(instance["instance_id"], "x/y%..#?");
    EXPECT_EQ(answer("find?text=" + task)["rows"][0]["what"], "task");
    const json glance = answer("glance");
    EXPECT_EQ(glance["queues"][0]["ready"]["n"], 2);
    EXPECT_EQ(glance["provider"].size(), 2u);
    EXPECT_EQ(get("/api/v1/hubs", viewer).parsed()["rows"][0]["name"], "app");
    EXPECT_FALSE(answer("health")["sizes"].empty());
    EXPECT_EQ(answer("health")["intents"], (json{{"n", 0}, {"capped", false}}));
    // What is wrong is said.
    EXPECT_EQ(get("/api/v1/h/app/tasks/0190c2a4-0000-7000-8000-0000000000ff", viewer).status, 404);
    EXPECT_EQ(get("/api/v1/h/app/tasks/nonsense", viewer).status, 404);
    EXPECT_EQ(get("/api/v1/h/app/tasks?filter=%7B%22evil%22%3A1%7D", viewer).status, 400);
    EXPECT_EQ(get("/api/v1/h/app/tasks?after=nonsense", viewer).status, 400);
    // Lists follow the orders of the functions, page by page.
    const json page = answer("tasks?limit=2");
    ASSERT_EQ(page["rows"].size(), 2u);
    const json rest = answer("tasks?limit=2&after=" + page["next"].get<std::string>());
    ASSERT_EQ(rest["rows"].size(), 1u);
    EXPECT_TRUE(rest["next"].is_null());
    EXPECT_NE(rest["rows"][0]["task_id"], page["rows"][1]["task_id"]);
    EXPECT_EQ(
        answer("tasks?order=parked&filter=%7B%22state%22%3A%5B%22blocked%22%5D%7D")["rows"].size(),
        1u);
    EXPECT_EQ(get("/api/v1/h/app/tasks?order=sideways", viewer).status, 400);
    // An instance that no dispatcher has seen is listed too.
    EXPECT_EQ(answer("instances?order=running")["rows"][0]["status"], "Pending");
    EXPECT_EQ(answer("messages")["rows"][0]["kind"], "StartOrchestration");
    EXPECT_TRUE(answer("events")["rows"].is_array());
    EXPECT_EQ(answer("queues/mail")["queue"]["ready"]["n"], 2);
    EXPECT_EQ(answer("owners")["complete"], true);
    EXPECT_TRUE(answer("work-items")["rows"].empty());
    EXPECT_TRUE(answer("dead-letters")["rows"].empty());
    EXPECT_EQ(json::parse(answer("tasks/" + task + "/body/payload")["text"].get<std::string>()),
              json::parse(payload));
    // Downloads are no pages.
    const Answer lines = get("/api/v1/h/app/tasks?format=jsonl", viewer);
    EXPECT_TRUE(lines.has("Content-Disposition: attachment"));
    EXPECT_TRUE(lines.has("Content-Security-Policy: sandbox"));
    EXPECT_EQ(std::count(lines.body.begin(), lines.body.end(), '\n'), 3);
}

// What is beyond a list is not lost.
TEST_F(DashboardServer, ShowsWhatListsLeaveOut) {
    auto conn = cluster->connect();
    conn.exec(
        "INSERT INTO app.instances SELECT i, 'Bill', '1.0.0', 1, p, NULL, 0, now(), now() FROM "
        "(SELECT 'root' AS i, NULL AS p UNION ALL SELECT format('c%s', lpad(n::text, 3, '0')), "
        "'root' FROM generate_series(1, 250) AS n UNION ALL SELECT 'grandchild', 'c001') AS x");
    conn.exec(
        "SELECT app.create_task(format('q%s', lpad(n::text, 3, '0')), NULL) FROM "
        "generate_series(1, 200) AS n; SELECT app.create_task('zz', NULL) FROM generate_series(1, "
        "3)");
    const std::string id = conn.value(
        "SELECT task_id FROM app.create_task('mail', NULL, p_dedup_key => "
        "'schedule:nightly:1000')");
    conn.exec(
        "SELECT app.create_schedule('nightly', '0 3 * * *', '{\"queue\": \"mail\"}'::jsonb); "
        "UPDATE app.schedules SET last_due_ms = 1000");
    start();
    const Viewer viewer = log_in();
    const auto answer = [&](const std::string& path) {
        const Answer got = get("/api/v1/h/app/" + path, viewer);
        EXPECT_EQ(got.status, 200) << path << got.body;
        return got.parsed();
    };
    const json tree = answer("instances/root/tree");
    ASSERT_EQ(tree["rows"].size(), 202u);
    EXPECT_EQ(tree["rows"][0]["more"], 50);
    EXPECT_EQ(tree["rows"][1]["instance_id"], "c001");
    EXPECT_EQ(tree["rows"][2]["instance_id"], "grandchild");
    EXPECT_EQ(tree["rows"][2]["depth"], 2);
    EXPECT_EQ(tree["complete"], true);
    // Beyond the first 200 queues, and one that nothing is known of.
    const json queue = answer("queues/zz");
    EXPECT_EQ(queue["listed"], false);
    EXPECT_EQ(queue["queue"]["ready"], (json{{"n", 3}, {"capped", false}}));
    EXPECT_EQ(answer("queues/q001")["listed"], true);
    EXPECT_EQ(answer("queues/none")["queue"]["ready"]["n"], 0);
    EXPECT_EQ(answer("schedules")["rows"][0]["last_task_id"], id);
    bool has_limit = false;
    const json health = answer("health");
    for (const auto& part : health["shared_memory"]) {
        has_limit = has_limit || (part["what"] == "leases" && part["of"].is_number());
    }
    EXPECT_TRUE(has_limit);
}

// A member of a flow has its neighbours without the flow being read.
TEST_F(DashboardServer, ShowsTheNeighboursOfAMember) {
    NewFlow spec{.kind = "wide", .tasks = {{.key = "first", .task = {.queue = "mail"}}}};
    for (int i = 0; i < 30; ++i) {
        spec.tasks.push_back(
            {.key = "m" + std::to_string(i), .task = {.queue = "mail"}, .after = {"first"}});
    }
    const auto flow = hub_.flows().create(spec);
    start();
    const Viewer viewer = log_in();
    const json all = get("/api/v1/h/app/flows/" + flow.id.text(), viewer).parsed()["members"];
    const auto first = std::ranges::find_if(all, [](const json& m) { return m["key"] == "first"; });
    const json task =
        get("/api/v1/h/app/tasks/" + (*first)["task_id"].get<std::string>(), viewer).parsed();
    EXPECT_EQ(task["downstream"].size(), 20u);
    EXPECT_EQ(task["downstream_more"], 10);
    EXPECT_EQ(task["downstream"][0]["key"].get<std::string>().front(), 'm');
    EXPECT_EQ(task["downstream"][0]["state"], "blocked");
    EXPECT_EQ(task["sql"].get<std::string>().find("get_flow"), std::string::npos);
    const json member =
        get("/api/v1/h/app/tasks/" + task["downstream"][0]["task_id"].get<std::string>(), viewer)
            .parsed();
    EXPECT_EQ(member["upstream"][0]["key"], "first");
    EXPECT_EQ(member["upstream"][0]["state"], "ready");
    EXPECT_EQ(member["upstream_more"], 0);
}

TEST_F(DashboardServer, SaysWhatAnActionOnManyWillSkip) {
    const std::string first = hub_.tasks().create({.queue = "mail"}).id.text();
    const std::string second = hub_.tasks().create({.queue = "mail"}).id.text();
    hub_.tasks().force_cancel(Uuid(first));
    start();
    const Viewer viewer = log_in();
    const auto skipped = [&](const std::string& action, const json& ids) {
        json body = {{"action", action}, {"filter", json::object()}, {"dry_run", true}};
        if (ids.is_null()) {
            body["upto"] = second;
        } else {
            body["ids"] = ids;
        }
        const Answer got = post("/api/v1/h/app/bulk", body, viewer);
        EXPECT_EQ(got.status, 200) << got.body;
        return got.parsed()["skipped"];
    };
    const json ended = json::array({{{"reason", "already ended"}, {"n", 1}}});
    const json open = json::array({{{"reason", "not ended yet"}, {"n", 1}}});
    EXPECT_EQ(skipped("cancel_task", nullptr), ended);
    EXPECT_EQ(skipped("cancel_task", {first, second}), ended);
    EXPECT_EQ(skipped("replay_task", nullptr), open);
    EXPECT_EQ(skipped("replay_task", {"0190c2a4-0000-7000-8000-0000000000ff"}),
              json::array({{{"reason", "gone meanwhile"}, {"n", 1}}}));
    EXPECT_EQ(skipped("discard_dead_letter", {"7"}),
              json::array({{{"reason", "gone meanwhile"}, {"n", 1}}}));
}

// What continues has as many before it as the first job left.
TEST_F(DashboardServer, GoesOnWithWhatIsLeft) {
    auto conn = cluster->connect();
    conn.exec(
        "INSERT INTO app.dead_letters SELECT n, 'worker', n, 'i', 1, 2, NULL, NULL, "
        "'{\"ActivityExecute\":{\"instance\":\"i\",\"execution_id\":1,\"id\":2,\"name\":\"Pay\","
        "\"input\":\"\"}}', 3, 'max_attempts', NULL, now(), now() FROM generate_series(1, 600) AS "
        "n");
    start();
    const Viewer viewer = log_in();
    // In portions of 500. The first letter waits.
    auto other = cluster->connect();
    other.exec("BEGIN; LOCK TABLE app.worker_queue IN SHARE MODE");
    const Answer started = post("/api/v1/h/app/bulk",
                                {{"action", "redrive_dead_letter"},
                                 {"filter", json::object()},
                                 {"upto", "600"},
                                 {"key", "k"},
                                 {"dry_run", false}},
                                viewer);
    ASSERT_EQ(started.status, 200) << started.body;
    const std::string path = "/api/v1/h/app/bulk/" + started.parsed()["id"].get<std::string>();
    await([&] {
        return conn.value(
                   "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'belay "
                   "dashboard' AND wait_event_type = 'Lock'") == "1";
    });
    EXPECT_EQ(post(path + "/stop", json::object(), viewer).status, 200);
    other.exec("ROLLBACK");
    json job;
    await([&] {
        job = get(path, viewer).parsed();
        return job["state"] == "stopped";
    });
    EXPECT_EQ(job["done"], 500) << job;
    EXPECT_EQ(conn.value("SELECT count(*) FROM app.dead_letters"), "100");
    const json next = post(path + "/go-on", {{"key", "k2"}}, viewer).parsed();
    EXPECT_EQ(next["total"]["n"], 100) << next;
    await([&] { return conn.value("SELECT count(*) FROM app.dead_letters") == "0"; });
}

TEST_F(DashboardServer, ShowsWaitsBetweenSamples) {
    start();
    const Viewer viewer = log_in();
    const auto answer = [&](const std::string& path) {
        return get("/api/v1/h/app/" + path, viewer).parsed();
    };
    const auto claim = [&](int count) {
        for (int i = 0; i < count; ++i) {
            hub_.tasks().create({.queue = "mail"});
        }
        return TaskCalls(hub_)
            .claim({.worker = "w", .worker_instance = "w-1", .max_tasks = count})
            .size();
    };
    // What was counted before the first sample is not of the time that was watched.
    constexpr int kBefore = 200;
    EXPECT_EQ(claim(kBefore), kBefore);
    EXPECT_TRUE(answer("glance")["wait"].is_null());
    EXPECT_TRUE(answer("series")["wait"].is_null());
    json wait;
    std::size_t claimed = 0;
    int counted = 0;
    await([&] {
        claimed += claim(1);
        answer("glance");  // takes a sample if the last one is old
        wait = answer("series")["wait"];
        counted = 0;
        if (wait.is_object()) {
            for (const auto& bucket : wait["buckets"]) {
                counted += bucket.get<int>();
            }
        }
        return counted > 0;
    });
    EXPECT_EQ(wait["buckets"].size(), 22u);
    EXPECT_TRUE(wait["p50"].is_number());
    EXPECT_TRUE(wait["p99"].is_number());
    EXPECT_LE(counted, static_cast<int>(claimed));
    // Those of a queue of tasks are recorded each minute.
    EXPECT_TRUE(answer("series?queue=mail").contains("wait"));
}

TEST_F(DashboardServer, ShowsWhatTheHubRecorded) {
    Connection& connection = hub_.connection();
    // In one transaction: the background worker records all of it, or nothing yet.
    connection.exec("SELECT app.create_task('mail', p_kind => 'send'), app.create_task('post')");
    connection.exec("SELECT app.reconcile('{stat_minutes}')");
    start();
    const Viewer viewer = log_in();
    const auto created = [&](const std::string& query) {
        const json series = get("/api/v1/h/app/series?" + query, viewer).parsed();
        double sum = 0;
        for (const auto& rate : series["in"]) {
            sum += rate.get<double>() * series["step_ms"].get<double>() / 1000;
        }
        EXPECT_EQ(series["t"].size(), series["in"].size());
        return std::lround(sum);
    };
    for (const std::string range : {"1h", "24h", "7d"}) {
        EXPECT_EQ(created("range=" + range), 2) << range;
        EXPECT_EQ(created("range=" + range + "&queue=mail"), 1) << range;
        EXPECT_EQ(created("range=" + range + "&queue=none"), 0) << range;
    }
    EXPECT_EQ(get("/api/v1/h/app/series?range=1y", viewer).status, 400);
    const json queue = get("/api/v1/h/app/queues/mail", viewer).parsed();
    ASSERT_EQ(queue["kinds"].size(), 1u);
    EXPECT_EQ(queue["kinds"][0]["kind"], "send");
    EXPECT_EQ(queue["kinds"][0]["wait"]["buckets"].size(), 22u);
    // Rates of a queue of tasks, between two samples.
    get("/api/v1/h/app/glance", viewer);
    json rates;
    await([&] {
        const json glance = get("/api/v1/h/app/glance", viewer).parsed();
        rates = glance["queues"][0]["rates"];
        return rates.is_object();
    });
    EXPECT_EQ(rates["in"], 0.0);
    EXPECT_TRUE(rates.contains("failed"));
}

// Its arguments are bound with the types of the page: a function with another type is not found.
TEST_F(DashboardServer, CallsFunctionsThatAreThere) {
    using Type = tool::dashboard::Action::Type;
    start();
    const Viewer viewer = log_in();
    for (const auto& action : tool::dashboard::actions()) {
        json args = json::object();
        for (const auto& argument : action.arguments) {
            args[argument.key] = argument.type == Type::kUuid
                                     ? json("0190c2a4-0000-7000-8000-0000000000ff")
                                 : argument.type == Type::kInteger ? json("7")
                                 : argument.type == Type::kNumber  ? json(1.5)
                                 : argument.type == Type::kFlag    ? json(true)
                                 : argument.type == Type::kJson    ? json("{}")
                                                                   : json("x");
        }
        const Answer answer = act(viewer, action.name, args);
        EXPECT_EQ(answer.body.find("42883"), std::string::npos) << action.name << answer.body;
    }
}

TEST_F(DashboardServer, ActsOnceAndOnWhatWasSeen) {
    const std::string id = hub_.tasks().create({.queue = "mail"}).id.text();
    start();
    const Viewer viewer = log_in();
    const json dry =
        act(viewer, "change_priority", {{"task_id", id}, {"priority", 7}}, true).parsed();
    EXPECT_EQ(dry["sql"], "SELECT * FROM app.change_priority('" + id + "', 7::integer);");
    EXPECT_EQ(hub_.tasks().list().at(0).priority, 0);
    const json done =
        act(viewer, "change_priority", {{"task_id", id}, {"priority", 7}}, false, "same").parsed();
    EXPECT_EQ(done["effective"], true) << done.dump();
    // The same request is not done twice.
    hub_.tasks().change_priority(Uuid(id), 1);
    EXPECT_EQ(
        act(viewer, "change_priority", {{"task_id", id}, {"priority", 7}}, false, "same").parsed(),
        done);
    EXPECT_EQ(hub_.tasks().list().at(0).priority, 1);
    // The page has seen an epoch that is over.
    const json seen = get("/api/v1/h/app/tasks/" + id, viewer).parsed();
    const auto claimed = TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w-1"});
    ASSERT_EQ(claimed.size(), 1u);
    const json stale =
        act(viewer, "cancel_task", {{"task_id", id}, {"expected_epoch", seen["lease_epoch"]}})
            .parsed();
    EXPECT_EQ(stale["effective"], false) << stale.dump();
    EXPECT_EQ(hub_.tasks().list().at(0).state, TaskState::kActive);
    const json now = get("/api/v1/h/app/tasks/" + id, viewer).parsed();
    EXPECT_EQ(act(viewer, "cancel_task", {{"task_id", id}, {"expected_epoch", now["lease_epoch"]}})
                  .parsed()["effective"],
              true);
    EXPECT_EQ(hub_.tasks().list().at(0).state, TaskState::kCancelled);
    // AU-2: who did it and why.
    const json told = get("/api/v1/h/app/events?filter=%7B%22topics%22%3A%5B%22operator%22%5D%2C%22"
                          "subject%22%3A%22" +
                              id + "%22%7D",
                          viewer)
                          .parsed()["rows"];
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(told[0]["type"], "task_cancelled");
    EXPECT_EQ(told[0]["via"], "belay dashboard");
    EXPECT_EQ(told[0]["reason"], "test");
    // Errors of the functions come word for word.
    const Answer again =
        act(viewer, "revoke_lease", {{"task_id", "0190c2a4-0000-7000-8000-0000000000ff"}});
    EXPECT_EQ(again.status, 404);
    EXPECT_EQ(again.parsed()["sqlstate"], "QB002");
}

// T5: a dashboard that is read-only writes nothing; nor do reads of one that is not.
TEST_F(DashboardServer, WritesNothingByReading) {
    start({.read_only = true});
    const Viewer viewer = log_in();
    EXPECT_EQ(act(viewer, "pause_queue", {{"queue", "mail"}}).status, 403);
    EXPECT_EQ(act(viewer, "pause_queue", {{"queue", "mail"}}, true).status, 403);
    stop();
    // Anything that a function of the hub may try.
    cluster->connect().exec(
        "CREATE TABLE written (a integer); CREATE FUNCTION public.writes() RETURNS boolean "
        "LANGUAGE "
        "plpgsql AS 'BEGIN INSERT INTO public.written VALUES (1); RETURN true; END'; DROP VIEW "
        "app.subscriptions; CREATE VIEW app.subscriptions AS SELECT NULL::text AS name, "
        "NULL::text[] AS topics, NULL::bigint AS lag_rows, NULL::double precision AS lag_seconds, "
        "NULL::timestamptz AS lease_until, NULL::integer AS horizon_pid, NULL::timestamptz AS "
        "created_at WHERE public.writes()");
    start();
    const Viewer second = log_in();
    EXPECT_EQ(get("/api/v1/h/app/subscriptions", second).parsed()["sqlstate"], "25006");
    cluster->connect().exec("DROP FUNCTION public.writes() CASCADE; DROP TABLE written");
}

TEST_F(DashboardServer, ReadsOnAStandby) {
    const std::string task = hub_.tasks().create({.queue = "mail"}).id.text();
    const auto standby = cluster->make_standby();
    start({.dsn = standby->conninfo()});
    const Viewer viewer = log_in();
    EXPECT_EQ(get("/api/v1/me", viewer).parsed()["standby"], true);
    for (const std::string path :
         {"glance", "series?range=15m", "series?range=1h", "owners", "schedules", "subscriptions",
          "health", "queues/mail", "tasks", "instances", "flows", "work-items", "messages",
          "dead-letters", "events", "find?text=x"}) {
        const Answer answer = get("/api/v1/h/app/" + path, viewer);
        EXPECT_EQ(answer.status, 200) << path << " " << answer.body;
    }
    EXPECT_EQ(get("/api/v1/h/app/tasks/" + task, viewer).status, 200);
    const json dry = act(viewer, "pause_queue", {{"queue", "mail"}}, true).parsed();
    EXPECT_EQ(dry["allowed"], false);
    EXPECT_EQ(act(viewer, "pause_queue", {{"queue", "mail"}}).parsed()["sqlstate"], "25006");
    const json many = {{"action", "cancel_task"}, {"ids", {task}}, {"filter", json::object()},
                       {"reason", "x"},           {"key", "k"},    {"dry_run", false}};
    EXPECT_EQ(post("/api/v1/h/app/bulk", many, viewer).status, 403);
    stop();
}

// T7: no library more than before.
TEST_F(DashboardServer, NeedsNoOtherLibrary) {
    const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const auto listed = tool::run_shell("ldd " + shell_quoted((here / "belay").string()), "", {},
                                        {}, std::chrono::seconds(5));
    EXPECT_EQ(listed.code, 0);
    EXPECT_EQ(listed.output.find("boost"), std::string::npos) << listed.output;
    EXPECT_EQ(listed.output.find("libz."), std::string::npos) << listed.output;
}

TEST_F(DashboardServer, RefusesAddressesThatAreNotItsOwn) {
    EXPECT_THROW(Dashboard({.listen = "0.0.0.0:0"}), std::runtime_error);
    EXPECT_THROW(Dashboard({.listen = "0.0.0.0:0", .public_url = "https://a.example"}),
                 std::runtime_error);
    EXPECT_THROW(
        Dashboard({.listen = "0.0.0.0:0", .login = "postgres", .public_url = "http://a.example"}),
        std::runtime_error);
    EXPECT_THROW(Dashboard({.listen = "127.0.0.1:0", .login = "proxy"}), std::runtime_error);
    EXPECT_THROW(Dashboard({.listen = "nonsense"}), std::runtime_error);
    const std::string path = cluster->file("d.sock");
    start({.listen = "unix:" + path});
    struct stat found {};
    ASSERT_EQ(::stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0660u);
    Wire wire(path);
    wire.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(read_answer(wire).body, "ok");
}

// The database away: said, and back again without a restart of the dashboard.
TEST_F(DashboardServer, LivesWithoutADatabase) {
    start({.dsn = "host=/nonexistent user=x"});
    const Viewer viewer = log_in();
    const Answer answer = get("/api/v1/me", viewer);
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.body.find("nonexistent"), std::string::npos) << answer.body;
}

TEST_F(DashboardServer, NeverRunsAnOwnersCodeWithMoreThanHisRights) {
    auto conn = cluster->connect();
    conn.exec(
        "CREATE ROLE evil; GRANT USAGE ON LANGUAGE belay TO evil; GRANT CREATE ON DATABASE "
        "postgres "
        "TO evil; SET ROLE evil; SELECT belay.create_hub('theirs'); CREATE FUNCTION theirs.spy() "
        "RETURNS text LANGUAGE plpgsql AS 'BEGIN BEGIN RESET ROLE; EXCEPTION WHEN OTHERS THEN "
        "NULL; "
        "END; RETURN current_user; END'; DROP VIEW theirs.subscriptions; CREATE VIEW "
        "theirs.subscriptions AS SELECT theirs.spy() AS name, NULL::text[] AS topics, NULL::bigint "
        "AS lag_rows, NULL::double precision AS lag_seconds, NULL::timestamptz AS lease_until, "
        "NULL::integer AS horizon_pid, NULL::timestamptz AS created_at; CREATE OR REPLACE FUNCTION "
        "theirs.pause_queue(p_queue text) RETURNS void LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION "
        "''%'', theirs.spy(); END'; RESET ROLE");
    start();
    const Viewer viewer = log_in();
    EXPECT_EQ(get("/api/v1/h/theirs/subscriptions", viewer).parsed()["rows"][0]["name"], "evil");
    const Answer act = post("/api/v1/h/theirs/actions",
                            {{"action", "pause_queue"},
                             {"args", {{"queue", "x"}}},
                             {"reason", ""},
                             {"key", "k"},
                             {"dry_run", false}},
                            viewer);
    EXPECT_EQ(act.parsed()["message"], "evil (P0001)") << act.body;
    stop();
    conn.exec("DROP SCHEMA theirs CASCADE; DROP OWNED BY evil; DROP ROLE evil");
}

}  // namespace
}  // namespace belay::test
