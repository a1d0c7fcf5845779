// HTTP/1.1 over Boost: sockets, requests within limits, answers, and event streams.
//
// May touch: sockets and the path of the Unix socket. Must not: know routes, sessions or the
// database: its handlers do.
#include "http_server.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <list>
#include <stdexcept>

#include <boost/asio.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

namespace belay::tool::dashboard {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Socket = asio::generic::stream_protocol::socket;
using boost::system::error_code;

}  // namespace

const std::string& Request::header(const std::string& name) const {
    static const std::string kNone;
    const auto found = headers.find(name);
    return found == headers.end() ? kNone : found->second;
}

class Peer;

struct HttpServer::Impl {
    ServerOptions options;
    asio::io_context loop{1};
    asio::ip::tcp::acceptor tcp{loop};
    asio::local::stream_protocol::acceptor local{loop};
    unsigned short port = 0;
    asio::steady_timer grace{loop};  // after stop(), for what is being handled
    bool stopping = false;
    std::list<std::weak_ptr<Peer>> waiting;  // for a header; the oldest first
    std::map<Peer*, std::weak_ptr<Peer>> peers;
    std::size_t streams = 0;
    std::vector<std::unique_ptr<asio::steady_timer>> timers;

    void listen();
    template <typename Acceptor>
    void accept(Acceptor& acceptor);
    void take(Socket socket, std::string address);
    void tick(asio::steady_timer& timer, std::chrono::milliseconds interval,
              const std::shared_ptr<std::function<void()>>& body);
};

// One connection. Everything of it runs in the event loop.
class Peer : public std::enable_shared_from_this<Peer> {
 public:
    Peer(HttpServer::Impl& server, Socket socket, std::string address)
        : server_(server),
          socket_(std::move(socket)),
          address_(std::move(address)),
          deadline_(server.loop),
          comments_(server.loop) {}
    ~Peer() {
        server_.peers.erase(this);
        if (server_.stopping && server_.peers.empty()) {
            error_code ignored;
            server_.grace.cancel(ignored);
        }
    }

    void start() {
        server_.peers[this] = weak_from_this();
        read_header();
    }

    bool is_stream() const { return streaming_; }

    void close() {
        if (closed_) {
            return;
        }
        closed_ = true;
        leave_waiting();
        error_code ignored;
        deadline_.cancel(ignored);
        comments_.cancel(ignored);
        socket_.shutdown(Socket::shutdown_both, ignored);
        socket_.close(ignored);
        if (streaming_) {
            --server_.streams;
            if (on_stream_end_) {
                std::exchange(on_stream_end_, {})();
            }
        }
    }

    void send(std::string text) {
        if (closed_ || ending_) {
            return;
        }
        // One text alone may be larger.
        if (unsent_ > server_.options.max_unsent) {
            close();
            return;
        }
        unsent_ += text.size();
        outgoing_.push_back(std::move(text));
        if (outgoing_.size() == 1) {
            write_next();
        }
    }

    // Closes when everything was written.
    void end() {
        ending_ = true;
        if (outgoing_.empty()) {
            close();
        }
    }

 private:
    void leave_waiting() {
        if (waits_) {
            server_.waiting.erase(place_);
            waits_ = false;
        }
    }

    void expire_after(std::chrono::milliseconds time) {
        deadline_.expires_after(time);
        deadline_.async_wait([self = shared_from_this()](error_code error) {
            if (!error) {
                self->close();
            }
        });
    }

    void read_header() {
        if (server_.stopping) {
            close();
            return;
        }
        parser_.emplace();
        parser_->header_limit(static_cast<std::uint32_t>(server_.options.max_header));
        parser_->body_limit(server_.options.max_body);
        place_ = server_.waiting.insert(server_.waiting.end(), weak_from_this());
        waits_ = true;
        if (buffer_.size() > 0) {
            read_rest_of_header();
            return;
        }
        // Between requests a connection may rest for longer than a header may take.
        expire_after(requests_ == 0 ? server_.options.header_timeout
                                    : server_.options.idle_timeout);
        socket_.async_wait(Socket::wait_read, [self = shared_from_this()](error_code error) {
            if (error) {
                self->close();
            } else {
                self->read_rest_of_header();
            }
        });
    }

    void read_rest_of_header() {
        expire_after(server_.options.header_timeout);
        http::async_read_header(
            socket_, buffer_, *parser_,
            [self = shared_from_this()](error_code error, std::size_t) { self->on_header(error); });
    }

    // What could not be read is answered once, and the connection closed.
    bool failed(error_code error) {
        if (!error) {
            return false;
        }
        if (error == http::error::header_limit || error == http::error::buffer_overflow) {
            refuse(server_.options.refuse(431, "header_too_large"));
        } else if (error == http::error::body_limit) {
            refuse(server_.options.refuse(413, "body_too_large"));
        } else if (error.category() == make_error_code(http::error::bad_method).category() &&
                   error != http::error::end_of_stream && error != http::error::partial_message) {
            refuse(server_.options.refuse(400, "bad_request"));
        } else {
            close();
        }
        return true;
    }

    void on_header(error_code error) {
        leave_waiting();
        if (closed_ || failed(error)) {
            return;
        }
        ++requests_;
        const auto& message = parser_->get();
        request_ = {};
        request_.method = std::string(message.method_string());
        request_.target = std::string(message.target());
        request_.peer = address_;
        for (const auto& field : message) {
            std::string name(field.name_string());
            for (char& c : name) {
                c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
            }
            auto& value = request_.headers[name];
            value += (value.empty() ? "" : ", ") + std::string(field.value());
        }
        if (request_.headers.contains("transfer-encoding")) {
            refuse(server_.options.refuse(501, "transfer_encoding"));
            return;
        }
        if (message.version() != 11) {
            refuse(server_.options.refuse(400, "http_version"));
            return;
        }
        if (auto refusal = server_.options.judge(request_)) {
            refuse(std::move(*refusal));
            return;
        }
        keep_alive_ = message.keep_alive();
        http::async_read(
            socket_, buffer_, *parser_,
            [self = shared_from_this()](error_code error, std::size_t) { self->on_body(error); });
    }

    void on_body(error_code error) {
        if (closed_ || failed(error)) {
            return;
        }
        error_code ignored;
        deadline_.cancel(ignored);
        request_.body = std::move(parser_->get().body());
        // The reply may come from any thread, and after the client has gone.
        Reply reply = [weak = weak_from_this(), &loop = server_.loop](Response response) {
            asio::post(loop, [weak, response = std::move(response)]() mutable {
                if (const auto self = weak.lock()) {
                    self->answer(std::move(response));
                }
            });
        };
        handling_ = shared_from_this();
        handled_.emplace(server_.loop.get_executor());
        server_.options.handle(std::move(request_), std::move(reply));
    }

    void answer(Response response) {
        const auto self = std::exchange(handling_, nullptr);
        handled_.reset();
        if (closed_ || self == nullptr) {
            return;
        }
        if (response.on_stream) {
            open_stream(std::move(response));
        } else {
            write(std::move(response), keep_alive_ && !server_.stopping);
        }
    }

    // The body was not read: the connection cannot continue.
    void refuse(Response response) { write(std::move(response), false); }

    void write(Response response, bool keep_alive) {
        auto message = std::make_shared<http::response<http::string_body>>(
            static_cast<http::status>(response.status), 11);
        for (const auto& [name, value] : response.headers) {
            message->insert(name, value);
        }
        message->body() = std::move(response.body);
        message->keep_alive(keep_alive);
        message->prepare_payload();
        expire_after(server_.options.write_timeout);
        http::async_write(
            socket_, *message,
            [self = shared_from_this(), message, keep_alive](error_code error, std::size_t) {
                if (self->closed_) {
                    return;
                }
                if (error || !keep_alive) {
                    self->linger(error);
                } else {
                    self->read_header();
                }
            });
    }

    // Reads on for a moment, so that the answer is not lost by a reset while the client still
    // writes.
    void linger(error_code error) {
        error_code ignored;
        socket_.shutdown(Socket::shutdown_send, ignored);
        if (error || ignored) {
            close();
            return;
        }
        expire_after(std::chrono::milliseconds(500));
        drain();
    }

    void drain() {
        socket_.async_read_some(asio::buffer(discarded_),
                                [self = shared_from_this()](error_code error, std::size_t size) {
                                    self->drained_ += size;
                                    if (error || self->drained_ > 256 * 1024) {
                                        self->close();
                                    } else {
                                        self->drain();
                                    }
                                });
    }

    void open_stream(Response response) {
        if (server_.streams >= server_.options.max_streams || server_.stopping) {
            write(server_.options.refuse(503, "too_many_streams"), keep_alive_);
            if (response.on_stream_end) {
                response.on_stream_end();
            }
            return;
        }
        ++server_.streams;
        streaming_ = true;
        on_stream_end_ = std::move(response.on_stream_end);
        std::string head = "HTTP/1.1 200 OK\r\nConnection: close\r\n";
        for (const auto& [name, value] : response.headers) {
            head += name + ": " + value + "\r\n";
        }
        send(head + "\r\n");
        response.on_stream(make_stream());
        // A client sends nothing more; its end is seen by reading.
        watch_end();
        comment();
    }

    std::shared_ptr<EventStream> make_stream();

    void watch_end() {
        socket_.async_read_some(asio::buffer(discarded_),
                                [self = shared_from_this()](error_code error, std::size_t) {
                                    if (error) {
                                        self->close();
                                    } else {
                                        self->watch_end();
                                    }
                                });
    }

    void comment() {
        comments_.expires_after(server_.options.comment_interval);
        comments_.async_wait([self = shared_from_this()](error_code error) {
            if (!error && !self->closed_) {
                self->send(":\n\n");
                self->comment();
            }
        });
    }

    void write_next() {
        expire_after(server_.options.write_timeout);
        asio::async_write(socket_, asio::buffer(outgoing_.front()),
                          [self = shared_from_this()](error_code error, std::size_t size) {
                              if (self->closed_) {
                                  return;
                              }
                              if (error) {
                                  self->close();
                                  return;
                              }
                              self->unsent_ -= size;
                              self->outgoing_.pop_front();
                              error_code ignored;
                              self->deadline_.cancel(ignored);
                              if (!self->outgoing_.empty()) {
                                  self->write_next();
                              } else if (self->ending_) {
                                  self->close();
                              }
                          });
    }

    HttpServer::Impl& server_;
    Socket socket_;
    std::string address_;
    asio::steady_timer deadline_;
    asio::steady_timer comments_;
    boost::beast::flat_buffer buffer_{64 * 1024};
    std::optional<http::request_parser<http::string_body>> parser_;
    Request request_;
    std::list<std::weak_ptr<Peer>>::iterator place_;
    std::shared_ptr<Peer> handling_;  // itself, while a request is being handled
    std::optional<asio::executor_work_guard<asio::io_context::executor_type>> handled_;
    std::deque<std::string> outgoing_;
    std::size_t unsent_ = 0;
    std::size_t drained_ = 0;
    std::size_t requests_ = 0;
    std::function<void()> on_stream_end_;
    char discarded_[4096];
    bool waits_ = false;
    bool keep_alive_ = false;
    bool streaming_ = false;
    bool ending_ = false;
    bool closed_ = false;
};

namespace {

class PeerStream : public EventStream {
 public:
    PeerStream(asio::io_context& loop, std::weak_ptr<Peer> peer)
        : loop_(loop), peer_(std::move(peer)) {}

    void send(std::string text) override {
        asio::post(loop_, [peer = peer_, text = std::move(text)]() mutable {
            if (const auto self = peer.lock()) {
                self->send(std::move(text));
            }
        });
    }
    void close() override {
        asio::post(loop_, [peer = peer_] {
            if (const auto self = peer.lock()) {
                self->end();
            }
        });
    }

 private:
    asio::io_context& loop_;
    std::weak_ptr<Peer> peer_;
};

}  // namespace

std::shared_ptr<EventStream> Peer::make_stream() {
    return std::make_shared<PeerStream>(server_.loop, weak_from_this());
}

void HttpServer::Impl::listen() {
    if (!options.unix_path.empty()) {
        struct stat found {};
        if (lstat(options.unix_path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode)) {
            // One that answers belongs to another process.
            asio::local::stream_protocol::socket probe(loop);
            error_code error;
            probe.connect(options.unix_path, error);
            if (!error) {
                throw std::runtime_error("socket " + options.unix_path + " is in use");
            }
            ::unlink(options.unix_path.c_str());
        }
        local.open();
        const mode_t before = ::umask(0117);
        error_code error;
        local.bind(options.unix_path, error);
        ::umask(before);
        if (error) {
            throw std::runtime_error("cannot bind " + options.unix_path + ": " + error.message());
        }
        local.listen();
        accept(local);
        return;
    }
    error_code error;
    const asio::ip::tcp::endpoint endpoint(asio::ip::make_address(options.address, error),
                                           options.port);
    if (error) {
        throw std::runtime_error("\"" + options.address + "\" is no address");
    }
    tcp.open(endpoint.protocol());
    tcp.set_option(asio::ip::tcp::acceptor::reuse_address(true));
    tcp.bind(endpoint, error);
    if (error) {
        throw std::runtime_error("cannot listen on " + options.address + ":" +
                                 std::to_string(options.port) + ": " + error.message());
    }
    tcp.listen();
    port = tcp.local_endpoint().port();
    accept(tcp);
}

template <typename Acceptor>
void HttpServer::Impl::accept(Acceptor& acceptor) {
    acceptor.async_accept([this, &acceptor](error_code error, auto socket) {
        if (!acceptor.is_open()) {
            return;
        }
        if (!error) {
            std::string address;
            if constexpr (std::is_same_v<Acceptor, asio::ip::tcp::acceptor>) {
                error_code ignored;
                socket.set_option(asio::ip::tcp::no_delay(true), ignored);
                address = socket.remote_endpoint(ignored).address().to_string();
            }
            take(Socket(std::move(socket)), std::move(address));
            accept(acceptor);
            return;
        }
        // Out of descriptors: a pause, so that the loop does not spin.
        auto timer = std::make_shared<asio::steady_timer>(loop, std::chrono::milliseconds(100));
        timer->async_wait([this, &acceptor, timer](error_code stopped) {
            if (!stopped && acceptor.is_open()) {
                accept(acceptor);
            }
        });
    });
}

void HttpServer::Impl::take(Socket socket, std::string address) {
    // A connection that has sent no request gives way to a new one.
    while (peers.size() >= options.max_connections && !waiting.empty()) {
        const auto oldest = waiting.front().lock();
        if (oldest == nullptr) {
            waiting.pop_front();
        } else {
            oldest->close();
            peers.erase(oldest.get());
        }
    }
    if (peers.size() >= options.max_connections) {
        return;  // closes the socket
    }
    std::make_shared<Peer>(*this, std::move(socket), std::move(address))->start();
}

void HttpServer::Impl::tick(asio::steady_timer& timer, std::chrono::milliseconds interval,
                            const std::shared_ptr<std::function<void()>>& body) {
    timer.expires_after(interval);
    timer.async_wait([this, &timer, interval, body](error_code error) {
        if (!error && !stopping) {
            (*body)();
            tick(timer, interval, body);
        }
    });
}

HttpServer::HttpServer(ServerOptions options) : impl_(std::make_shared<Impl>()) {
    impl_->options = std::move(options);
    impl_->listen();
}

HttpServer::~HttpServer() {
    if (!impl_->options.unix_path.empty()) {
        ::unlink(impl_->options.unix_path.c_str());
    }
}

void HttpServer::run() {
    impl_->loop.run();
    // Handlers that were never called hold connections.
    const auto peers = impl_->peers;
    for (const auto& [peer, weak] : peers) {
        if (const auto self = weak.lock()) {
            self->close();
        }
    }
    impl_->loop.restart();
    impl_->loop.poll();
}

void HttpServer::stop() {
    asio::post(impl_->loop, [impl = impl_] {
        impl->stopping = true;
        error_code ignored;
        impl->tcp.close(ignored);
        impl->local.close(ignored);
        for (auto& timer : impl->timers) {
            timer->cancel(ignored);
        }
        const auto peers = impl->peers;
        const auto waiting = impl->waiting;
        for (const auto& weak : waiting) {
            if (const auto peer = weak.lock()) {
                peer->close();
            }
        }
        for (const auto& [peer, weak] : peers) {
            if (const auto self = weak.lock(); self && self->is_stream()) {
                self->end();
            }
        }
        if (!impl->peers.empty()) {
            impl->grace.expires_after(impl->options.grace);
            impl->grace.async_wait([impl](error_code error) {
                if (!error) {
                    impl->loop.stop();
                }
            });
        }
    });
}

unsigned short HttpServer::port() const {
    return impl_->port;
}

void HttpServer::every(std::chrono::milliseconds interval, std::function<void()> body) {
    impl_->timers.push_back(std::make_unique<asio::steady_timer>(impl_->loop));
    impl_->tick(*impl_->timers.back(), interval,
                std::make_shared<std::function<void()>>(std::move(body)));
}

}  // namespace belay::tool::dashboard
