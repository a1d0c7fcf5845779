// A proxy between a client and a server, on unix sockets, that breaks a connection at a chosen
// message: before the server gets it, after that, or when the server has answered.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace belay::test {

enum class Break {
    kBefore,  // the server does not get the message
    kDuring,  // the server gets it, and the client gets no answer; the server may notice
    kAfter,   // the server has answered, and the client does not get the answer
};

class Proxy {
 public:
    // `server` is the directory of the server's socket.
    explicit Proxy(std::string server) : server_(std::move(server) + "/.s.PGSQL.5432") {
        std::string pattern = "/tmp/belay-proxy-XXXXXX";
        if (::mkdtemp(pattern.data()) == nullptr) {
            throw std::runtime_error("mkdtemp failed");
        }
        directory_ = pattern;
        listener_ = make_socket();
        const sockaddr_un address = address_of(directory_ + "/.s.PGSQL.5432");
        check(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address));
        check(::listen(listener_, 64));
        accepting_ = std::thread([this] { accept_all(); });
    }
    ~Proxy() {
        stopping_ = true;
        accepting_.join();
        for (std::thread& thread : serving_) {
            thread.join();
        }
        ::close(listener_);
        std::filesystem::remove_all(directory_);
    }
    Proxy(const Proxy&) = delete;
    Proxy& operator=(const Proxy&) = delete;

    std::string conninfo() const {
        return "host=" + directory_ + " port=5432 dbname=postgres user=postgres";
    }

    // Breaks the connection of the n-th message from now on that has this text, once.
    void break_at(std::string text, int nth, Break how) {
        const std::lock_guard lock(mutex_);
        text_ = std::move(text);
        left_ = nth;
        how_ = how;
    }
    int broken() const { return broken_; }
    // How often a client has sent something.
    int messages() const { return messages_; }

 private:
    static void check(int result) {
        if (result < 0) {
            throw std::runtime_error("a socket of the proxy failed");
        }
    }
    static int make_socket() {
        const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        check(made);
        return made;
    }
    static sockaddr_un address_of(const std::string& path) {
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        if (path.size() >= sizeof address.sun_path) {
            throw std::runtime_error("the path of a socket is too long");
        }
        path.copy(address.sun_path, path.size());
        return address;
    }

    void accept_all() {
        while (!stopping_) {
            pollfd ready{.fd = listener_, .events = POLLIN, .revents = 0};
            if (::poll(&ready, 1, 20) != 1) {
                continue;
            }
            const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            if (client < 0) {
                continue;
            }
            serving_.emplace_back([this, client] { serve(client); });
        }
    }

    // Whether the connection is to be broken at what the client has sent.
    bool is_time(std::string_view sent, Break& how) {
        const std::lock_guard lock(mutex_);
        if (left_ == 0 || sent.find(text_) == std::string_view::npos || --left_ != 0) {
            return false;
        }
        how = how_;
        ++broken_;
        return true;
    }

    static bool pass(int from, int to, std::string& copy) {
        std::array<char, 65536> buffer;
        const ssize_t count = ::recv(from, buffer.data(), buffer.size(), 0);
        if (count <= 0) {
            return false;
        }
        copy.assign(buffer.data(), static_cast<std::size_t>(count));
        return to < 0 || send_all(to, copy);
    }
    static bool send_all(int to, std::string_view text) {
        while (!text.empty()) {
            const ssize_t count = ::send(to, text.data(), text.size(), MSG_NOSIGNAL);
            if (count <= 0) {
                return false;
            }
            text.remove_prefix(static_cast<std::size_t>(count));
        }
        return true;
    }

    void serve(int client) {
        const int server = make_socket();
        const sockaddr_un address = address_of(server_);
        if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
            forward(client, server);
        }
        ::close(server);
        ::close(client);
    }

    void forward(int client, int server) {
        std::string text;
        std::array<pollfd, 2> ready = {pollfd{.fd = client, .events = POLLIN, .revents = 0},
                                       pollfd{.fd = server, .events = POLLIN, .revents = 0}};
        while (!stopping_) {
            if (::poll(ready.data(), ready.size(), 20) <= 0) {
                continue;
            }
            if (ready[1].revents != 0 && !pass(server, client, text)) {
                return;
            }
            if (ready[0].revents == 0) {
                continue;
            }
            if (!pass(client, -1, text)) {
                return;
            }
            ++messages_;
            Break how = Break::kBefore;
            const bool now = is_time(text, how);
            if (now && how == Break::kBefore) {
                return;
            }
            if (!send_all(server, text) || (now && how == Break::kDuring)) {
                return;
            }
            if (now) {
                // The server has answered as soon as it has sent something.
                pass(server, -1, text);
                return;
            }
        }
    }

    const std::string server_;
    std::string directory_;
    int listener_ = -1;
    std::atomic<bool> stopping_ = false;
    std::atomic<int> broken_ = 0;
    std::atomic<int> messages_ = 0;
    std::mutex mutex_;
    std::string text_;
    int left_ = 0;
    Break how_ = Break::kBefore;
    std::vector<std::thread> serving_;  // of the accepting thread until it has ended
    std::thread accepting_;
};

}  // namespace belay::test
