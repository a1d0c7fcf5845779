// Streams of the dashboard, against a real database: what they tell, and what they cost.
#include <atomic>

#include "dashboard_server.hpp"

namespace belay::test {
namespace {

TEST_F(DashboardStream, TellsWhatChanges) {
    const std::string id = hub_.tasks().create({.queue = "mail"}).id.text();
    start();
    const Viewer viewer = log_in();
    const Open open = open_stream(viewer);
    EXPECT_EQ(watch(viewer, open, {"glance:app:", "task:app:" + id}), 200);
    EXPECT_NE(open.wire->read_until("event: glance").find("event: glance"), std::string::npos);
    open.wire->read_until("event: changed");
    open.wire->forget();
    hub_.tasks().force_cancel(Uuid(id));
    const std::string told = "\"what\":\"task\",\"id\":\"" + id + "\"";
    const std::string all = open.wire->read_until(told);
    EXPECT_NE(all.find(told), std::string::npos);
    // Another session has no say over this stream.
    const Viewer other = log_in();
    EXPECT_EQ(watch(other, open, {"glance:app:"}), 404);
    // Log out ends it.
    EXPECT_EQ(post("/api/v1/session", json::object(), viewer, "DELETE").status, 200);
    EXPECT_NE(open.wire->read_until().find("event: bye"), std::string::npos);
}

// A flow is waited for, as tasks are: what happens to a member is told without a sample.
TEST_F(DashboardStream, WaitsForFlows) {
    const auto flow =
        hub_.flows().create({.kind = "two",
                             .tasks = {{.key = "a", .task = {.queue = "mail"}},
                                       {.key = "b", .task = {.queue = "mail"}, .after = {"a"}}}});
    start();
    const Viewer viewer = log_in();
    const Open open = open_stream(viewer);
    EXPECT_EQ(watch(viewer, open, {"flow:app:" + flow.id.text()}), 200);
    open.wire->read_until("event: changed");
    auto conn = cluster->connect();
    await([&] {
        return conn.value(
                   "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'belay "
                   "dashboard' AND state = 'active' AND query LIKE '%wait_for_work%'") == "1";
    });
    open.wire->forget();
    ASSERT_EQ(TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w-1"}).size(), 1u);
    const std::string told = "\"what\":\"flow\",\"id\":\"" + flow.id.text() + "\"";
    EXPECT_NE(open.wire->read_until(told).find(told), std::string::npos);
}

TEST_F(DashboardStream, TellsOfEvents) {
    cluster->connect().exec("SELECT belay.set_hub_option('app', 'events', 'operator')");
    start({.redact = {"reason"}});
    const Viewer viewer = log_in();
    const Open open = open_stream(viewer);
    EXPECT_EQ(watch(viewer, open, {"events:app:"}), 200);
    hub_.queues()["mail"].pause();
    EXPECT_NE(open.wire->read_until("queue_changed").find("event: events"), std::string::npos);
    hub_.queues()["mail"].resume();
    hub_.queues()["letters"].pause();
    const std::string all = open.wire->read_until("letters");
    EXPECT_NE(all.find("\"subject\":\"letters\""), std::string::npos) << all;
}

// A hub that no viewer looks at is not sampled for the objects that some viewer watches.
TEST_F(DashboardStream, SamplesOnlyWhatIsLookedAt) {
    const std::string id = hub_.tasks().create({.queue = "mail"}).id.text();
    start();
    const Viewer viewer = log_in();
    const Open open = open_stream(viewer);
    EXPECT_EQ(watch(viewer, open, {"task:app:" + id}), 200);
    open.wire->read_until("event: changed");
    hub_.tasks().change_priority(Uuid(id), 3);
    hub_.tasks().force_cancel(Uuid(id));
    const std::string told = "\"id\":\"" + id + "\"}\n\nevent: changed";
    EXPECT_EQ(open.wire->read_until(told).find("event: glance"), std::string::npos);
}

// A wait that fails leaves no connection without limits behind.
TEST_F(DashboardStream, LimitsEveryReadAfterAWaitThatFails) {
    auto conn = cluster->connect();
    conn.exec(
        "CREATE ROLE watcher LOGIN; SELECT belay.grant_hub('app', 'watcher', 'monitor'); REVOKE "
        "EXECUTE ON PROCEDURE app.wait_for_work FROM watcher, PUBLIC; CREATE OR REPLACE FUNCTION "
        "app.find(p_text text) RETURNS TABLE (what text, id text, label text) LANGUAGE sql AS "
        "'SELECT ''task'', current_setting(''statement_timeout''), p_text'");
    start({.dsn = cluster->conninfo("postgres", "watcher")});
    const std::string id = hub_.tasks().create({.queue = "mail"}).id.text();
    const Viewer viewer = log_in();
    const Open open = open_stream(viewer);
    EXPECT_EQ(watch(viewer, open, {"task:app:" + id}), 200);
    await([&] {
        return cluster->log().find("permission denied for procedure wait_for_work") !=
               std::string::npos;
    });
    for (int i = 0; i < 20; ++i) {
        const json found =
            get("/api/v1/h/app/find?text=" + std::to_string(i), viewer).parsed()["rows"];
        EXPECT_EQ(found[0]["id"], "2s") << found;
    }
    stop();
    conn.exec("DROP OWNED BY watcher; DROP ROLE watcher");
}

TEST_F(DashboardStream, AreFew) {
    start();
    const Viewer viewer = log_in();
    std::vector<Open> all;
    for (int i = 0; i < 8; ++i) {
        all.push_back(open_stream(viewer));
    }
    EXPECT_EQ(get("/api/v1/stream", viewer).status, 429);
    all.pop_back();
    await([&] {
        Wire wire(dashboard_->port());
        wire.send("GET /api/v1/stream HTTP/1.1\r\nHost: " + host() +
                  "\r\nCookie: " + viewer.cookie + "\r\n\r\n");
        return wire.read_until("\r\n").starts_with("HTTP/1.1 200");
    });
}

// T9: without viewers nothing is asked; many viewers cost as much as one.
TEST_F(DashboardStream, CostsLittle) {
    auto conn = cluster->connect();
    conn.exec("CREATE ROLE counted SUPERUSER LOGIN; ALTER ROLE counted SET log_statement = 'all'");
    // Statements of the dashboard in the server's log.
    const auto statements = [] {
        const std::string log = cluster->log();
        std::size_t count = 0;
        for (const char* mark : {"LOG:  statement: ", "LOG:  execute "}) {
            for (std::size_t at = 0; (at = log.find(mark, at)) != std::string::npos; ++at) {
                ++count;
            }
        }
        return count;
    };
    const auto snapshots = [&] {
        return conn.value(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'belay dashboard' AND "
            "backend_xmin IS NOT NULL AND clock_timestamp() - xact_start > interval '2 s'");
    };
    start({.dsn = cluster->conninfo("postgres", "counted")});
    const std::size_t none = statements();
    std::vector<Viewer> viewers;
    std::vector<Open> streams;
    for (int i = 0; i < 50; ++i) {
        viewers.push_back(log_in());
        EXPECT_EQ(get("/api/v1/h/app/glance", viewers.back()).status, 200);
        streams.push_back(open_stream(viewers.back()));
        EXPECT_EQ(watch(viewers.back(), streams.back(), {"glance:app:"}), 200);
    }
    EXPECT_GT(statements(), none);
    // Fifty viewers of one role: a statement each 2 s, and what is asked once a minute of rights,
    // in the time that it really took. Once the streams have begun, which takes a busy machine
    // longer.
    await([&] {
        const std::size_t before = statements();
        const auto begin = std::chrono::steady_clock::now();
        await([&] { return statements() >= before + 3; });
        const std::size_t later = statements();
        const auto seconds =
            std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - begin)
                .count();
        return later <= before + static_cast<std::size_t>(seconds / 2 + 1) +
                            4 * static_cast<std::size_t>(seconds / 60 + 1);
    });
    EXPECT_EQ(snapshots(), "0");
    streams.clear();
    // The sampler ends with its last viewer: two of its periods pass without a statement.
    await([&] {
        const std::size_t last = statements();
        std::this_thread::sleep_for(std::chrono::seconds(5));
        return statements() == last;
    });
    stop();
    conn.exec("DROP ROLE counted");
}

// T10: many at once, under ThreadSanitizer in its run.
TEST_F(DashboardStream, SurvivesManyAtOnceAndARestartOfTheDatabase) {
    std::vector<std::string> ids;
    for (int i = 0; i < 20; ++i) {
        ids.push_back(hub_.tasks().create({.queue = "mail"}).id.text());
    }
    start();
    std::vector<std::thread> threads;
    std::atomic<int> good = 0;
    for (int i = 0; i < 10; ++i) {
        threads.emplace_back([&, i] {
            const Viewer viewer = log_in();
            std::vector<Open> streams;
            for (int k = 0; k < 5; ++k) {
                streams.push_back(open_stream(viewer));
                watch(viewer, streams.back(), {"glance:app:", "task:app:" + ids[(i + k) % 20]});
            }
            for (int k = 0; k < 5; ++k) {
                good += get("/api/v1/h/app/tasks/" + ids[(i + k) % 20], viewer).status == 200;
                act(viewer, "change_priority", {{"task_id", ids[i]}, {"priority", k}});
            }
            streams[0].wire->read_until("event: glance");
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_GT(good, 0);
    const Viewer viewer = log_in();
    const Open open = open_stream(viewer);
    watch(viewer, open, {"glance:app:", "task:app:" + ids[0]});
    cluster->restart();
    await([&] { return get("/api/v1/h/app/tasks", viewer).status == 200; });
}

}  // namespace
}  // namespace belay::test
