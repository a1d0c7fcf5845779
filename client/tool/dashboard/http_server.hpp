// HTTP/1.1 for the dashboard: one thread with an event loop, any number of event streams. The only
// part that knows Boost; everything else sees strings.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::tool::dashboard {

struct Request {
    std::string method;
    std::string target;                          // path and query, as sent
    std::map<std::string, std::string> headers;  // names in lower case; repeated ones with ", "
    std::string body;
    std::string peer;  // the client's address; "" over a Unix socket

    // "" if it is not there.
    const std::string& header(const std::string& name) const;
};

// An answer without an end: server-sent events. Any thread may use it.
class EventStream {
 public:
    virtual ~EventStream() = default;
    virtual void send(std::string text) = 0;
    virtual void close() = 0;  // after what was sent
};

struct Response {
    int status = 200;
    std::vector<std::pair<std::string, std::string>> headers = {};
    std::string body = {};
    // Makes a stream of the answer: called in the event loop when the header was sent.
    std::function<void(std::shared_ptr<EventStream>)> on_stream = {};
    std::function<void()> on_stream_end = {};
};

using Reply = std::function<void(Response)>;

struct ServerOptions {
    std::string address = "127.0.0.1";
    unsigned short port = 0;     // 0: a free one
    std::string unix_path = {};  // instead of address and port
    std::size_t max_header = 16 * 1024;
    std::size_t max_body = 1024 * 1024;
    std::size_t max_connections = 128;
    std::size_t max_streams = 64;
    std::size_t max_unsent = 64 * 1024;               // of a stream, when a text comes to it
    std::chrono::milliseconds header_timeout{10000};  // also for the body
    std::chrono::milliseconds idle_timeout{75000};
    std::chrono::milliseconds write_timeout{15000};
    std::chrono::milliseconds comment_interval{15000};  // of a stream
    std::chrono::milliseconds grace{5000};  // after stop(), for requests that are being handled
    // Judges a header before a byte of the body is read; an answer refuses the request.
    std::function<std::optional<Response>(const Request&)> judge = {};
    // Handles a request. The reply may come later, from any thread, once.
    std::function<void(Request, Reply)> handle = {};
    // The answer to what is not HTTP, too large or too many: status and word.
    std::function<Response(int, const std::string&)> refuse = {};
};

class HttpServer {
 public:
    // Binds the socket. Throws std::runtime_error.
    explicit HttpServer(ServerOptions options);
    ~HttpServer();

    void run();   // until stop()
    void stop();  // from any thread; streams end after what was sent
    unsigned short port() const;

    // Calls body in the event loop again and again. Before run().
    void every(std::chrono::milliseconds interval, std::function<void()> body);

    struct Impl;  // of http_server.cpp

 private:
    std::shared_ptr<Impl> impl_;
};

}  // namespace belay::tool::dashboard
