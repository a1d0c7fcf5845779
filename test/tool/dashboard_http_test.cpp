// The dashboard's HTTP server alone, over a raw socket.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <mutex>
#include <thread>

#include "dashboard/http_server.hpp"
#include "dashboard_server.hpp"

namespace belay::test {
namespace {

using tool::dashboard::EventStream;
using tool::dashboard::HttpServer;
using tool::dashboard::Request;
using tool::dashboard::Response;
using tool::dashboard::ServerOptions;

std::size_t resident_kb() {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("VmRSS:")) {
            return std::stoul(line.substr(6));
        }
    }
    return 0;
}

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
            if (request.target == "/stream") {
                Response response;
                response.on_stream = [this](std::shared_ptr<EventStream> stream) {
                    const std::lock_guard lock(mutex_);
                    stream_ = std::move(stream);
                };
                response.on_stream_end = [this] { ended_ = true; };
                return reply(response);
            }
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

    // The stream that a client has opened.
    std::shared_ptr<EventStream> stream_of(Wire& wire) {
        wire.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
        wire.read_until("\r\n\r\n");
        std::shared_ptr<EventStream> stream;
        await([&] {
            const std::lock_guard lock(mutex_);
            stream = stream_;
            return stream != nullptr;
        });
        return stream;
    }

    std::unique_ptr<HttpServer> server_;
    std::thread thread_;
    std::size_t bodies_ = 0;
    std::mutex mutex_;
    std::shared_ptr<EventStream> stream_;
    std::atomic<bool> ended_ = false;
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

// A hub with many queues has more to tell at once than a slow reader may leave unread.
TEST_F(HttpWire, SendsLargeTextsToStreams) {
    start({});
    Wire wire(server_->port());
    const auto stream = stream_of(wire);
    for (int i = 0; i < 5; ++i) {
        stream->send(std::string(500'000, 'a') + std::to_string(i) + "\n\n");
        EXPECT_NE(wire.read_until(std::to_string(i) + "\n\n").find('a'), std::string::npos);
        wire.forget();
    }
    EXPECT_FALSE(ended_);
}

TEST_F(HttpWire, DropsSlowReaders) {
    start({});
    const std::size_t before = resident_kb();
    Wire wire(server_->port());
    const auto stream = stream_of(wire);
    // What the system takes, and then 64 kB.
    for (int i = 0; i < 20'000 && !ended_; ++i) {
        stream->send(std::string(16 * 1024, 'a'));
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    EXPECT_TRUE(ended_);
    EXPECT_LT(resident_kb(), before + 20 * 1024);
    EXPECT_TRUE(is_served());
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

}  // namespace
}  // namespace belay::test
