// Logins of the dashboard, and what ends with a session, against a real database.
#include <algorithm>
#include <atomic>
#include <fstream>

#include "dashboard_server.hpp"

namespace belay::test {
namespace {

class DashboardLogin : public DashboardServer {
 protected:
    // The server asks ada for a password.
    static void ask_for_passwords() {
        set_hba("SELECT 'local all ada scram-sha-256' UNION ALL SELECT 'local all all trust'");
        await([&] {
            try {
                cluster->connect("postgres", "ada");
                return false;
            } catch (const std::runtime_error&) {
                return true;
            }
        });
    }
    static void trust_all() { set_hba("SELECT 'local all all trust'"); }

 private:
    static void set_hba(const std::string& lines) {
        auto conn = cluster->connect();
        const std::string hba = conn.value("SELECT current_setting('hba_file')");
        conn.exec("COPY (" + lines + ") TO '" + hba + "'");
        conn.exec("SELECT pg_reload_conf()");
    }
};

// T6: logins with roles of PostgreSQL.
TEST_F(DashboardLogin, LogsInRolesOfPostgresql) {
    auto conn = cluster->connect();
    conn.exec(
        "CREATE ROLE ada LOGIN PASSWORD 'right'; SELECT belay.grant_hub('app', 'ada', 'monitor')");
    start({.login = "postgres"});
    // The server trusts all users: that admits no user here.
    EXPECT_EQ(post("/api/v1/session", {{"user", "ada"}, {"password", "right"}}).status, 401);
    EXPECT_EQ(post("/api/v1/session", {{"token", dashboard_->token()}}).status, 401);
    ask_for_passwords();
    stop();
    start({.login = "postgres"});
    EXPECT_EQ(post("/api/v1/session", {{"user", "ada"}, {"password", "wrong"}}).status, 401);
    const Answer in = post("/api/v1/session", {{"user", "ada"}, {"password", "right"}});
    ASSERT_EQ(in.status, 200) << in.body;
    const Viewer viewer = viewer_of(in);
    EXPECT_EQ(get("/api/v1/me", viewer).parsed()["user"], "ada");
    EXPECT_EQ(get("/api/v1/h/app/tasks", viewer).status, 200);
    const auto connections = [&] {
        return conn.value("SELECT count(*) FROM pg_stat_activity WHERE usename = 'ada'");
    };
    EXPECT_NE(connections(), "0");
    EXPECT_EQ(post("/api/v1/session", json::object(), viewer, "DELETE").status, 200);
    EXPECT_EQ(get("/api/v1/me", viewer).status, 401);
    await([&] { return connections() == "0"; });
    // Five failures a minute.
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(post("/api/v1/session", {{"user", "ada"}, {"password", "wrong"}}).status, 401);
    }
    const Answer limited = post("/api/v1/session", {{"user", "ada"}, {"password", "right"}});
    EXPECT_EQ(limited.status, 429);
    EXPECT_TRUE(limited.has("Retry-After: "));
    trust_all();
    conn.exec("DROP OWNED BY ada; DROP ROLE ada");
}

// Guesses that are made at once are no more than guesses one after the other.
TEST_F(DashboardLogin, CountsGuessesBeforeTheyAreTried) {
    start({.login = "postgres"});
    std::atomic<int> tried = 0;
    std::atomic<int> limited = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 40; ++i) {
        threads.emplace_back([&, i] {
            const int status =
                post("/api/v1/session", {{"user", "nobody"}, {"password", "p" + std::to_string(i)}})
                    .status;
            tried += status == 401 ? 1 : 0;
            limited += status == 429 ? 1 : 0;
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_LE(tried, 5);
    EXPECT_EQ(tried + limited, 40);
}

// A job that runs with a password ends with the session that has it.
TEST_F(DashboardLogin, EndsJobsWithTheirSession) {
    auto conn = cluster->connect();
    conn.exec(
        "CREATE ROLE ada LOGIN PASSWORD 'right'; SELECT belay.grant_hub('app', 'ada', 'operator'); "
        "SELECT app.create_task('mail', NULL) FROM generate_series(1, 600)");
    ask_for_passwords();
    start({.login = "postgres"});
    const auto log_in = [&] {
        return viewer_of(post("/api/v1/session", {{"user", "ada"}, {"password", "right"}}));
    };
    const auto cancelled = [&] {
        return conn.value("SELECT count(*) FROM app.tasks WHERE state = 'cancelled'");
    };
    const Viewer viewer = log_in();
    // The first portion waits for this one.
    auto other = cluster->connect();
    other.exec("BEGIN; SELECT FROM app.tasks FOR UPDATE");
    const Answer started = post("/api/v1/h/app/bulk",
                                {{"action", "cancel_task"},
                                 {"filter", json::object()},
                                 {"upto", conn.value("SELECT max(id::text) FROM app.tasks")},
                                 {"reason", "test"},
                                 {"key", "k"},
                                 {"dry_run", false}},
                                viewer);
    ASSERT_EQ(started.status, 200) << started.body;
    await([&] {
        return conn.value(
                   "SELECT count(*) FROM pg_stat_activity WHERE usename = 'ada' AND "
                   "wait_event_type = 'Lock'") == "1";
    });
    EXPECT_EQ(post("/api/v1/session", json::object(), viewer, "DELETE").status, 200);
    other.exec("ROLLBACK");
    await([&] {
        return conn.value("SELECT count(*) FROM pg_stat_activity WHERE usename = 'ada'") == "0";
    });
    const Viewer again = log_in();
    const std::string id = started.parsed()["id"].get<std::string>();
    json job;
    await([&] {
        job = get("/api/v1/h/app/bulk/" + id, again).parsed();
        return job["state"] != "running" && job["state"] != "stopping";
    });
    EXPECT_EQ(job["state"], "stopped") << job;
    EXPECT_NE(cancelled(), "600");
    // It continues for who has logged in again.
    const json next = post("/api/v1/h/app/bulk/" + id + "/go-on", {{"key", "k2"}}, again).parsed();
    await([&] {
        return get("/api/v1/h/app/bulk/" + next["id"].get<std::string>(), again)
                   .parsed()["state"] == "done";
    });
    EXPECT_EQ(cancelled(), "600");
    stop();
    trust_all();
    conn.exec("DROP OWNED BY ada; DROP ROLE ada");
}

TEST_F(DashboardLogin, ActsForUsersOfAProxy) {
    const std::string file = cluster->file("secret");
    std::ofstream(file) << "a secret of the proxy\n";
    auto conn = cluster->connect();
    conn.exec(
        "CREATE ROLE front LOGIN; CREATE ROLE ada IN ROLE pg_monitor; GRANT ada TO front; SELECT "
        "belay.grant_hub('app', 'ada', 'monitor'); CREATE ROLE eve");
    start({.dsn = cluster->conninfo() + " user=front", .login = "proxy", .token_file = file});
    const std::string secret = "X-Belay-Proxy-Secret: a secret of the proxy\r\n";
    EXPECT_EQ(get("/api/v1/me", {}, "X-Remote-User: ada\r\n").status, 403);
    EXPECT_EQ(get("/api/v1/me", {}, secret + "X-Remote-User: eve\r\n").status, 401);
    const Answer me = get("/api/v1/me", {}, secret + "X-Remote-User: ada\r\n");
    ASSERT_EQ(me.status, 200) << me.body;
    EXPECT_EQ(me.parsed()["user"], "ada");
    const Viewer viewer = viewer_of(me);
    EXPECT_EQ(get("/api/v1/h/app/tasks", viewer, secret + "X-Remote-User: ada\r\n").status, 200);
    // The session of one user is not another's.
    EXPECT_EQ(get("/api/v1/h/app/tasks", viewer, secret + "X-Remote-User: eve\r\n").status, 401);
    stop();
    conn.exec("DROP OWNED BY ada; DROP ROLE front, ada, eve");
}

}  // namespace
}  // namespace belay::test
