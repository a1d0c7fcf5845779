#include "viewer.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>

#include "dashboard/dashboard.hpp"
#include "serve.hpp"

namespace belay::test::soak {

namespace {

using tool::dashboard::Dashboard;

constexpr int kPatience = 10;  // seconds, for one answer

std::string token_file(const std::string& journal_path) {
    return std::filesystem::path(journal_path).parent_path().string() + "-token";
}

class Socket {
 public:
    explicit Socket(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<uint16_t>(port));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const timeval limit{.tv_sec = kPatience, .tv_usec = 0};
        setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        is_open_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
    }
    ~Socket() { ::close(socket_); }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    void send(std::string_view text) {
        while (is_open_ && !text.empty()) {
            const ssize_t size = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
            is_open_ = size > 0;
            text.remove_prefix(is_open_ ? static_cast<std::size_t>(size) : 0);
        }
    }
    // What comes up to this text, or up to the end.
    std::string read_until(std::string_view end) {
        while (is_open_ && (end.empty() || got_.find(end) == std::string::npos)) {
            receive(0);
        }
        return std::exchange(got_, "");
    }
    // False if the other side has closed it. What has come is dropped.
    bool drop_what_came() {
        while (is_open_ && receive(MSG_DONTWAIT)) {
            got_.clear();
        }
        return is_open_;
    }

 private:
    bool receive(int flags) {
        char buffer[16384];
        const ssize_t size = ::recv(socket_, buffer, sizeof buffer, flags);
        if (size > 0) {
            got_.append(buffer, static_cast<std::size_t>(size));
            return true;
        }
        is_open_ = size < 0 && errno == EAGAIN && flags == MSG_DONTWAIT;
        return false;
    }

    int socket_;
    bool is_open_ = false;
    std::string got_;
};

// The text between two others; "" if they are not there.
std::string between(const std::string& text, std::string_view before, std::string_view after) {
    const auto at = text.find(before);
    if (at == std::string::npos) {
        return "";
    }
    const auto begin = at + before.size();
    return text.substr(begin, text.find(after, begin) - begin);
}

std::string body_of(const std::string& answer) {
    const auto end = answer.find("\r\n\r\n");
    return end == std::string::npos ? "" : answer.substr(end + 4);
}

class Viewer {
 public:
    Viewer(Shared* shared, const Player& player, const std::string& journal_path)
        : shared_(shared),
          random_(player.seed),
          journal_(journal_path),
          token_file_(token_file(journal_path)) {}

    void run() {
        for (; shared_->phase != Phase::kStop; rest(random_.number(5, 150))) {
            if (cookie_.empty() && !log_in()) {
                rest(50);
            } else if (!stream_ || !stream_->drop_what_came()) {
                open_stream();
            } else {
                read_page();
            }
        }
    }

 private:
    std::string headers() const {
        const std::string host = "127.0.0.1:" + to_string(port_);
        return " HTTP/1.1\r\nHost: " + host + "\r\nOrigin: http://" + host + "\r\n" +
               (cookie_.empty() ? ""
                                : "Cookie: " + cookie_ + "\r\nX-Belay-CSRF: " + csrf_ + "\r\n");
    }

    // The whole answer; "" if there is none.
    std::string ask(const char* kind, const std::string& what, const std::string& body = "") {
        Socket socket(port_);
        socket.send(what + headers() + "Connection: close\r\n" +
                    (body.empty() ? ""
                                  : "Content-Type: application/json\r\nContent-Length: " +
                                        to_string(body.size()) + "\r\n") +
                    "\r\n" + body);
        std::string answer = socket.read_until("");
        note(kind, what, answer);
        return answer;
    }

    void note(const std::string& kind, const std::string& what, const std::string& answer) {
        status_ = answer.size() > 12 ? std::atoi(answer.c_str() + 9) : 0;
        ++shared_->calls;
        journal_.begin(kind + " " + to_string(status_), {what, body_of(answer).substr(0, 300)});
        journal_.end(Outcome::kDone, {});
        if (status_ == 401 || status_ == 403 || status_ == 0) {
            cookie_.clear();  // another dashboard has taken its place
            stream_.reset();
        }
    }

    bool log_in() {
        port_ = shared_->dashboard_port;
        std::ifstream file(token_file_);
        std::string token;
        if (port_ == 0 || !std::getline(file, token)) {
            return false;
        }
        const std::string answer =
            ask("login", "POST /api/v1/session", "{\"token\":\"" + token + "\"}");
        cookie_ = status_ == 200 ? between(answer, "Set-Cookie: ", ";") : "";
        csrf_ = between(answer, "\"csrf\":\"", "\"");
        return !cookie_.empty();
    }

    void open_stream() {
        stream_ = std::make_unique<Socket>(port_);
        stream_->send("GET /api/v1/stream" + headers() + "\r\n");
        const std::string head = stream_->read_until("}\n\n");
        const std::string id = between(head, "\"id\":\"", "\"");
        note("stream", "GET /api/v1/stream", head);
        if (!id.empty() && stream_) {
            (void)ask("watch", "POST /api/v1/stream/" + id + "/watch",
                      R"({"add":["glance:app:","glance:lib:","events:app:"],"remove":[]})");
        }
    }

    void read_page() {
        static constexpr const char* kPages[] = {"glance",
                                                 "series",
                                                 "owners",
                                                 "schedules",
                                                 "subscriptions",
                                                 "health",
                                                 "tasks",
                                                 "instances",
                                                 "flows",
                                                 "work-items",
                                                 "messages",
                                                 "dead-letters",
                                                 "events",
                                                 "bulk",
                                                 "tasks?limit=100",
                                                 "queues/w0",
                                                 "instances?limit=100"};
        static constexpr const char* kHubs[] = {"app", "jobs", "lib"};
        (void)ask("page", std::string("GET /api/v1/h/") +
                              kHubs[random_.number(0, std::size(kHubs) - 1)] + "/" +
                              kPages[random_.number(0, std::size(kPages) - 1)]);
    }

    Shared* shared_;
    Random random_;
    Journal journal_;
    std::string token_file_;
    int port_ = 0;
    std::string cookie_;
    std::string csrf_;
    std::unique_ptr<Socket> stream_;
    int status_ = 0;  // of the last answer
};

}  // namespace

void serve_dashboard(Shared* shared, const std::string& journal_path) {
    std::signal(SIGPIPE, SIG_IGN);  // as `belay dashboard` does
    serve(shared, [&](const std::string& conninfo) {
        auto dashboard = std::make_unique<Dashboard>(tool::dashboard::Options{
            .dsn = conninfo, .listen = "127.0.0.1:0", .token_file = token_file(journal_path)});
        shared->dashboard_port = dashboard->port();
        return dashboard;
    });
}

void view_dashboard(Shared* shared, const Player& player, const std::string& journal_path) {
    Viewer(shared, player, journal_path).run();
}

}  // namespace belay::test::soak
