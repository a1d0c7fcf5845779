// Connections of the dashboard to the database, and the threads that use them. Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "belay/hub.hpp"
#include "sessions.hpp"

namespace belay::tool::dashboard {

// All connections are in use.
class Busy : public std::runtime_error {
 public:
    Busy() : std::runtime_error("too many connections to the database are in use") {}
};

// The connection string with other values for some keys; options are added to those that are there.
// "" as dsn means libpq's environment. Throws Error for what is no connection string.
std::string changed_conninfo(const std::string& dsn,
                             const std::vector<std::pair<std::string, std::string>>& changes);

// What every connection of the dashboard is: it cannot write by itself, nor run for long.
std::string dashboard_conninfo(const std::string& dsn, const std::string& role = {});

class Database {
 public:
    explicit Database(std::size_t max_connections) : max_(max_connections) {}

    // A connection for as long as it lives. One that broke, or is left inside a transaction, is not
    // used again.
    class Lease {
     public:
        Lease(Database& database, std::shared_ptr<const Credential> credential,
              std::unique_ptr<Connection> connection)
            : database_(&database),
              credential_(std::move(credential)),
              connection_(std::move(connection)) {}
        Lease(Lease&&) noexcept = default;
        Lease& operator=(Lease&&) = delete;
        ~Lease() {
            if (connection_) {
                database_->give_back(*credential_, std::move(connection_), is_spoiled_);
            }
        }
        // Its session is set otherwise than the others: it is closed, not used again.
        void spoil() { is_spoiled_ = true; }
        Connection& operator*() { return *connection_; }
        Connection* operator->() { return connection_.get(); }

     private:
        Database* database_;
        std::shared_ptr<const Credential> credential_;
        std::unique_ptr<Connection> connection_;
        bool is_spoiled_ = false;
    };

    // Throws Busy, or Error if the database is away or refuses.
    Lease lease(const std::shared_ptr<const Credential>& credential);

    // Closes connections that are not in use: of this credential, or all but one that rested for
    // `older` ms.
    void close_idle(const Credential& credential);
    void close_idle(std::int64_t now_ms, std::int64_t older_ms);

    std::size_t size() const;

 private:
    struct Idle {
        std::string key;
        std::unique_ptr<Connection> connection;
        std::int64_t since_ms;
    };
    void give_back(const Credential& credential, std::unique_ptr<Connection> connection,
                   bool is_spoiled);

    std::size_t max_;
    mutable std::mutex mutex_;
    std::vector<Idle> idle_;
    std::vector<std::string> revoked_;  // keys of credentials that ended
    std::size_t open_ = 0;
};

// Some threads that do jobs in order.
class Jobs {
 public:
    Jobs(int threads, std::size_t most);
    ~Jobs();

    // False: there are too many already.
    bool add(std::function<void()> job);
    void stop();  // what was added is done first

 private:
    void run();

    std::size_t most_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> jobs_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

std::int64_t steady_ms();
std::int64_t system_ms();

}  // namespace belay::tool::dashboard
