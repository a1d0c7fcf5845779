// The dashboard's server over a raw socket, against a real database.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include <nlohmann/json.hpp>

#include "dashboard/dashboard.hpp"
#include "dashboard/http_server.hpp"
#include "programs.hpp"

namespace belay::test {
namespace {

using nlohmann::json;
using tool::dashboard::Dashboard;
using tool::dashboard::HttpServer;
using tool::dashboard::Options;
using tool::dashboard::Request;
using tool::dashboard::Response;
using tool::dashboard::ServerOptions;

// ---- A client that can say anything. ----

class Wire {
 public:
    explicit Wire(unsigned short port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const timeval limit{.tv_sec = 30, .tv_usec = 0};
        setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
    }
    explicit Wire(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
        sockaddr_un to{};
        to.sun_family = AF_UNIX;
        path.copy(to.sun_path, sizeof to.sun_path - 1);
        connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
    }
    ~Wire() { ::close(socket_); }
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    bool connected() const { return connected_; }
    // False: the server has closed it.
    bool send(std::string_view text) {
        while (!text.empty()) {
            const ssize_t size = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
            if (size <= 0) {
                return false;
            }
            text.remove_prefix(static_cast<std::size_t>(size));
        }
        return true;
    }
    // What comes, up to the end or up to a text.
    std::string read_until(const std::string& end = "") {
        char buffer[4096];
        while (end.empty() || got_.find(end) == std::string::npos) {
            const ssize_t size = ::recv(socket_, buffer, sizeof buffer, 0);
            if (size <= 0) {
                break;
            }
            got_.append(buffer, static_cast<std::size_t>(size));
        }
        return got_;
    }

 private:
    int socket_;
    bool connected_ = false;
    std::string got_;
};

struct Answer {
    int status = 0;
    std::string head;
    std::string body;

    json parsed() const { return json::parse(body, nullptr, false); }
    bool has(const std::string& header) const { return head.find(header) != std::string::npos; }
};

Answer read_answer(Wire& wire) {
    std::string text = wire.read_until();
    const std::size_t end = text.find("\r\n\r\n");
    Answer answer;
    if (end == std::string::npos) {
        return answer;
    }
    answer.head = text.substr(0, end);
    answer.body = text.substr(end + 4);
    answer.status = std::atoi(text.substr(9, 3).c_str());
    return answer;
}

std::size_t resident_kb() {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("VmRSS:")) {
            return std::stoul(line.substr(6));
        }
    }
    return 0;
}

// Until it is so; no test waits longer than a minute for what it expects.
template <typename Condition>
void await(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!condition()) {
        ASSERT_LT(std::chrono::steady_clock::now(), end);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

// ---- HTTP alone. ----

class HttpWire : public testing::Test {
 protected:
    void start(ServerOptions options) {
        options.judge = [](const Request& request) -> std::optional<Response> {
            if (request.target == "/refused") {
                return Response{.status = 403, .body = "no"};
            }
            return std::nullopt;
        };
        options.handle = [this](Request request, tool::dashboard::Reply reply) {
            bodies_ += request.body.size();
            reply({.status = 200, .body = "ok " + request.target});
        };
        options.refuse = [](int status, const std::string& word) {
            return Response{.status = status, .body = word};
        };
        server_ = std::make_unique<HttpServer>(std::move(options));
        thread_ = std::thread([this] { server_->run(); });
    }
    void TearDown() override {
        server_->stop();
        thread_.join();
    }
    Answer ask(const std::string& text) {
        Wire wire(server_->port());
        wire.send(text);
        return read_answer(wire);
    }
    bool is_served() {
        return ask("GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").body == "ok /x";
    }

    std::unique_ptr<HttpServer> server_;
    std::thread thread_;
    std::size_t bodies_ = 0;
};

// T1: what has no end is refused, and costs no memory.
TEST_F(HttpWire, RefusesWhatHasNoEnd) {
    start({});
    ASSERT_TRUE(is_served());
    const std::size_t before = resident_kb();
    for (const std::string& part :
         {std::string(64 * 1024, 'a'), std::string("X-Header: value\r\n")}) {
        Wire wire(server_->port());
        wire.send("GET /");
        if (part[0] == 'X') {
            wire.send(" HTTP/1.1\r\n");
        }
        std::size_t sent = 0;
        while (sent < 64 * 1024 * 1024 && wire.send(part)) {
            sent += part.size();
        }
        EXPECT_LT(sent, 16u * 1024 * 1024);
        const std::string answer = wire.read_until();
        EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 431")) << answer.substr(0, 80);
    }
    EXPECT_TRUE(is_served());
    EXPECT_LT(resident_kb(), before + 10 * 1024);
}

TEST_F(HttpWire, RefusesChunksLargeBodiesAndOldVersions) {
    start({});
    EXPECT_EQ(ask("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
                  "chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
                  .status,
              501);
    EXPECT_EQ(ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n").status, 413);
    EXPECT_EQ(ask("GET / HTTP/1.0\r\n\r\n").status, 400);
    EXPECT_EQ(ask("nonsense\r\n\r\n").status, 400);
    EXPECT_EQ(
        ask("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n").status,
        400);
    // The header is judged before a byte of the body is read.
    EXPECT_EQ(
        ask("POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nhello").status,
        403);
    EXPECT_EQ(bodies_, 0u);
    EXPECT_TRUE(is_served());
}

TEST_F(HttpWire, EndsSlowHeaders) {
    start({.header_timeout = std::chrono::milliseconds(200)});
    Wire wire(server_->port());
    const auto begin = std::chrono::steady_clock::now();
    wire.send("GET / HTTP/1.1\r\nHost: a\r\n");
    EXPECT_EQ(wire.read_until(), "");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    EXPECT_TRUE(is_served());
}

TEST_F(HttpWire, ServesOthersWhileAThousandConnectionsWait) {
    start({});
    const std::size_t before = resident_kb();
    std::vector<std::unique_ptr<Wire>> idle;
    for (int i = 0; i < 1000; ++i) {
        idle.push_back(std::make_unique<Wire>(server_->port()));
        if (i % 250 == 0) {
            EXPECT_TRUE(is_served()) << i;
        }
    }
    EXPECT_TRUE(is_served());
    EXPECT_LT(resident_kb(), before + 10 * 1024);
}

TEST_F(HttpWire, KeepsConnectionsAndAnswersInOrder) {
    start({});
    Wire wire(server_->port());
    wire.send(
        "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\nConnection: "
        "close\r\n\r\n");
    const std::string all = wire.read_until();
    EXPECT_LT(all.find("ok /1"), all.find("ok /2"));
    EXPECT_NE(all.find("ok /2"), std::string::npos);
}

// ---- The dashboard. ----

class DashboardServer : public WithPrograms {
 protected:
    // A running dashboard, and one who is logged in.
    struct Viewer {
        std::string cookie;
        std::string csrf;
    };

    void TearDown() override {
        stop();
        WithPrograms::TearDown();
    }

    void start(Options options = {}) {
        if (options.dsn.empty()) {
            options.dsn = cluster->conninfo();
        }
        if (options.listen == "127.0.0.1:7780") {
            options.listen = "127.0.0.1:0";
        }
        dashboard_ = std::make_unique<Dashboard>(options);
        thread_ = std::thread([this] { dashboard_->run(); });
    }
    void stop() {
        if (dashboard_) {
            dashboard_->stop();
            thread_.join();
            dashboard_.reset();
        }
    }

    std::string host() const { return "127.0.0.1:" + std::to_string(dashboard_->port()); }

    Answer raw(const std::string& text) {
        Wire wire(dashboard_->port());
        wire.send(text);
        return read_answer(wire);
    }
    Answer get(const std::string& path, const Viewer& viewer = {}, const std::string& more = "") {
        return raw("GET " + path + " HTTP/1.1\r\nHost: " + host() + "\r\nConnection: close\r\n" +
                   (viewer.cookie.empty() ? "" : "Cookie: " + viewer.cookie + "\r\n") + more +
                   "\r\n");
    }
    Answer post(const std::string& path, const json& body, const Viewer& viewer = {},
                const std::string& method = "POST") {
        return raw_post(path, body.dump(), viewer, "http://" + host(), "application/json",
                        viewer.csrf, method);
    }
    Answer raw_post(const std::string& path, const std::string& body, const Viewer& viewer,
                    const std::string& origin, const std::string& type, const std::string& csrf,
                    const std::string& method = "POST") {
        return raw(method + " " + path + " HTTP/1.1\r\nHost: " + host() +
                   "\r\nConnection: close\r\nContent-Type: " + type + "\r\n" +
                   (origin.empty() ? "" : "Origin: " + origin + "\r\n") +
                   (csrf.empty() ? "" : "X-Belay-CSRF: " + csrf + "\r\n") +
                   (viewer.cookie.empty() ? "" : "Cookie: " + viewer.cookie + "\r\n") +
                   "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    }
    static Viewer viewer_of(const Answer& answer) {
        const std::size_t at = answer.head.find("Set-Cookie: ");
        EXPECT_NE(at, std::string::npos) << answer.head << answer.body;
        const std::string cookie = answer.head.substr(at + 12);
        return {cookie.substr(0, cookie.find(';')), answer.parsed().value("csrf", "")};
    }
    Viewer log_in() { return viewer_of(post("/api/v1/session", {{"token", dashboard_->token()}})); }

    Answer act(const Viewer& viewer, const std::string& action, const json& args,
               bool dry_run = false, const std::string& key = "") {
        static int number = 0;
        return post("/api/v1/h/app/actions",
                    {{"action", action},
                     {"args", args},
                     {"reason", "test"},
                     {"key", key.empty() ? "k" + std::to_string(++number) : key},
                     {"dry_run", dry_run}},
                    viewer);
    }

    std::unique_ptr<Dashboard> dashboard_;
    std::thread thread_;
};

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
    EXPECT_NE(get("/belay/").body.find("/belay/assets/"), std::string::npos);
}

// T3: each read and each action for each level, as in SQL.
TEST_F(DashboardServer, AllowsWhatTheRoleMayDoInSql) {
    const std::string task =
        hub_.tasks().create({.queue = "mail", .payload = Json::object()}).id.text();
    hub_.orchestrations().start_text("Bill", "", {.instance_id = "i"});
    const std::vector<std::pair<std::string, std::string>> reads = {
        {"glance", "monitor"},
        {"find?text=i", "monitor"},
        {"owners", "monitor"},
        {"schedules", "monitor"},
        {"subscriptions", "monitor"},
        {"health", "monitor"},
        {"queues/mail", "monitor"},
        {"tasks", "monitor"},
        {"tasks/" + task, "client"},
        {"tasks/" + task + "/explain", "monitor"},
        {"tasks/" + task + "/waitpoints", "monitor"},
        {"tasks/" + task + "/body/payload", "monitor"},
        {"instances", "monitor"},
        {"instances/i/tree", "monitor"},
        {"instances/i/kv", "client"},
        {"flows", "monitor"},
        {"work-items", "operator"},
        {"dead-letters", "operator"},
        {"messages", "operator"},
        {"events", "monitor"},
    };
    auto conn = cluster->connect();
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
        for (const auto& [path, needs] : reads) {
            const Answer answer = get("/api/v1/h/app/" + path, viewer);
            EXPECT_EQ(answer.status, has.contains(needs) ? 200 : 403)
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
    EXPECT_EQ(answer("flows/" + flow.id.text())["members"].size(), 2u);
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

// T5: a dashboard that is read-only writes nothing; nor do reads of one that is not.
TEST_F(DashboardServer, WritesNothingByReading) {
    start({.read_only = true});
    const Viewer viewer = log_in();
    EXPECT_EQ(act(viewer, "pause_queue", {{"queue", "mail"}}).status, 403);
    EXPECT_EQ(act(viewer, "pause_queue", {{"queue", "mail"}}, true).status, 403);
    stop();
    // Whatever a function of the hub tries.
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

// T6: logins with roles of PostgreSQL.
TEST_F(DashboardServer, LogsInRolesOfPostgresql) {
    auto conn = cluster->connect();
    conn.exec(
        "CREATE ROLE ada LOGIN PASSWORD 'right'; SELECT belay.grant_hub('app', 'ada', 'monitor')");
    start({.login = "postgres"});
    // The server trusts everybody: that lets nobody in here.
    EXPECT_EQ(post("/api/v1/session", {{"user", "ada"}, {"password", "right"}}).status, 401);
    EXPECT_EQ(post("/api/v1/session", {{"token", dashboard_->token()}}).status, 401);
    const std::string hba = conn.value("SELECT current_setting('hba_file')");
    conn.exec(
        "COPY (SELECT 'local all ada scram-sha-256' UNION ALL SELECT 'local all all trust') TO '" +
        hba + "'");
    conn.exec("SELECT pg_reload_conf()");
    await([&] {
        try {
            cluster->connect("postgres", "ada");
            return false;
        } catch (const std::runtime_error&) {
            return true;
        }
    });
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
    conn.exec("COPY (SELECT 'local all all trust') TO '" + hba + "'");
    conn.exec("SELECT pg_reload_conf(); DROP OWNED BY ada; DROP ROLE ada");
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

TEST_F(DashboardServer, ActsForUsersOfAProxy) {
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

// ---- Streams. ----

class DashboardStream : public DashboardServer {
 protected:
    struct Open {
        std::unique_ptr<Wire> wire;
        std::string id;
    };
    Open open_stream(const Viewer& viewer) {
        Open open{std::make_unique<Wire>(dashboard_->port()), ""};
        open.wire->send("GET /api/v1/stream HTTP/1.1\r\nHost: " + host() +
                        "\r\nCookie: " + viewer.cookie + "\r\n\r\n");
        const std::string text = open.wire->read_until("\"id\":\"");
        const std::string all = open.wire->read_until("}\n\n");
        const std::size_t at = all.find("\"id\":\"") + 6;
        open.id = all.substr(at, all.find('"', at) - at);
        EXPECT_EQ(open.id.size(), 43u) << all;
        return open;
    }
    int watch(const Viewer& viewer, const Open& open, const std::vector<std::string>& add,
              const std::vector<std::string>& remove = {}) {
        return post("/api/v1/stream/" + open.id + "/watch", {{"add", add}, {"remove", remove}},
                    viewer)
            .status;
    }
};

TEST_F(DashboardStream, TellsWhatChanges) {
    const std::string id = hub_.tasks().create({.queue = "mail"}).id.text();
    start();
    const Viewer viewer = log_in();
    const Open open = open_stream(viewer);
    EXPECT_EQ(watch(viewer, open, {"glance:app:", "task:app:" + id}), 200);
    EXPECT_NE(open.wire->read_until("event: glance").find("event: glance"), std::string::npos);
    open.wire->read_until("event: changed");
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

// A hub that nobody looks at is not sampled for the objects that somebody watches.
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

// T9: nobody looks, nothing is asked; many look, it costs as one.
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
    for (int i = 0; i < 10; ++i) {
        viewers.push_back(log_in());
        EXPECT_EQ(get("/api/v1/h/app/glance", viewers.back()).status, 200);
        streams.push_back(open_stream(viewers.back()));
        EXPECT_EQ(watch(viewers.back(), streams.back(), {"glance:app:"}), 200);
    }
    const std::size_t watched = statements();
    EXPECT_GT(watched, none);
    std::this_thread::sleep_for(std::chrono::seconds(6));
    // Ten viewers of one role: a statement each 2 s, and what is asked each half a minute.
    EXPECT_LE(statements(), watched + 3 + 3);
    EXPECT_GT(statements(), watched);
    EXPECT_EQ(snapshots(), "0");
    streams.clear();
    // The sampler ends with its last viewer.
    std::size_t last = statements();
    await([&] {
        std::this_thread::sleep_for(std::chrono::seconds(3));
        return std::exchange(last, statements()) == last;
    });
    std::this_thread::sleep_for(std::chrono::seconds(5));
    EXPECT_EQ(statements(), last);
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
