// belay dashboard: what the parts of the server are put together to.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace belay::tool::dashboard {

struct Options {
    std::string dsn = {};
    std::string listen = "127.0.0.1:7780";
    std::string login = "token";  // token, postgres or proxy
    bool read_only = false;
    std::vector<std::string> hubs = {};  // none: all
    std::string public_url = {};
    std::string base_path = {};
    std::vector<std::string> redact = {};
    std::string bodies = "all";  // all, operator or none
    std::string token_file = {};
    int max_connections = 16;
    bool log = false;
};

class Dashboard {
 public:
    // Checks the options and binds the socket. Throws std::runtime_error; UsageError for options.
    explicit Dashboard(Options options);
    ~Dashboard();

    void run();            // until stop()
    void stop() noexcept;  // from any thread

    // Where it is reached, without the token.
    std::string url() const;
    // The token of the login; "" unless the login is token.
    const std::string& token() const;
    unsigned short port() const;

    // Connections to the database.
    std::size_t connections() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// belay dashboard --check: what the role can see. Returns the exit code.
int check_dashboard(const Options& options);

}  // namespace belay::tool::dashboard
