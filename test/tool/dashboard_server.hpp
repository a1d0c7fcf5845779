// A dashboard that runs in the test, and what can be said to it over a raw socket.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include <nlohmann/json.hpp>

#include "dashboard/dashboard.hpp"
#include "programs.hpp"

namespace belay::test {

using nlohmann::json;
using tool::dashboard::Dashboard;
using tool::dashboard::Options;

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
    // What was read so far is not looked at again.
    void forget() { got_.clear(); }

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

inline Answer read_answer(Wire& wire) {
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

}  // namespace belay::test
