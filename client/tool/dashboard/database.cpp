// Connections to the database by credential, and the threads that use them.
//
// May touch: libpq connections, under its lock. Must not: connect or wait for a server while it
// holds the lock, or give a connection of one credential to another.
#include "database.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace belay::tool::dashboard {
namespace {

std::string quoted_value(const std::string& value) {
    std::string quoted = "'";
    for (const char c : value) {
        if (c == '\'' || c == '\\') {
            quoted += '\\';
        }
        quoted += c;
    }
    return quoted + "'";
}

// A word of libpq's options: blanks and backslashes need a backslash.
std::string option_word(const std::string& value) {
    std::string word;
    for (const char c : value) {
        if (c == ' ' || c == '\\') {
            word += '\\';
        }
        word += c;
    }
    return word;
}

}  // namespace

std::int64_t steady_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

std::int64_t system_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::string changed_conninfo(const std::string& dsn,
                             const std::vector<std::pair<std::string, std::string>>& changes) {
    char* message = nullptr;
    const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> parsed(
        PQconninfoParse(dsn.c_str(), &message), &PQconninfoFree);
    if (parsed == nullptr) {
        // The message can have parts of the string.
        PQfreemem(message);
        throw Error({.message = "the connection string is invalid", .sqlstate = "08001"});
    }
    std::map<std::string, std::string> values;
    for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
        if (option->val != nullptr) {
            values[option->keyword] = option->val;
        }
    }
    for (const auto& [key, value] : changes) {
        if (key == "options") {
            const char* environment = std::getenv("PGOPTIONS");
            auto& options = values["options"];
            if (options.empty() && environment != nullptr) {
                options = environment;
            }
            options += (options.empty() ? "" : " ") + value;
        } else {
            values[key] = value;
        }
    }
    std::string text;
    for (const auto& [key, value] : values) {
        text += (text.empty() ? "" : " ") + key + "=" + quoted_value(value);
    }
    return text;
}

std::string dashboard_conninfo(const std::string& dsn, const std::string& role) {
    return changed_conninfo(
        dsn, {{"application_name", "belay dashboard"},
              {"connect_timeout", "5"},
              {"options",
               "-c search_path=pg_catalog -c default_transaction_read_only=on "
               "-c statement_timeout=2000 -c lock_timeout=500 -c DateStyle=ISO -c TimeZone=UTC "
               "-c idle_in_transaction_session_timeout=60000 -c standard_conforming_strings=on" +
                   (role.empty() ? "" : " -c role=" + option_word(role))}});
}

Database::Lease Database::lease(const std::shared_ptr<const Credential>& credential) {
    std::unique_ptr<Connection> unwanted;  // closed without the lock
    {
        const std::lock_guard lock(mutex_);
        if (std::ranges::find(revoked_, credential->key) != revoked_.end()) {
            throw Error({.message = "the session has ended", .sqlstate = "28000"});
        }
        const auto found = std::find_if(idle_.rbegin(), idle_.rend(), [&](const Idle& idle) {
            return idle.key == credential->key;
        });
        if (found != idle_.rend()) {
            auto connection = std::move(found->connection);
            idle_.erase(std::next(found).base());
            return {*this, credential, std::move(connection)};
        }
        if (open_ >= max_) {
            if (idle_.empty()) {
                throw Busy();
            }
            unwanted = std::move(idle_.front().connection);
            idle_.erase(idle_.begin());
            --open_;
        }
        ++open_;
    }
    unwanted.reset();
    try {
        // One that breaks is not made again here: the next lease makes a new one. All of them stay
        // on this server, whose hubs the dashboard shows.
        auto connection = std::make_unique<Connection>(
            ConnectionOptions{.conninfo = credential->conninfo,
                              .async_leases = false,
                              .reconnect_timeout = std::chrono::milliseconds(0),
                              .follow_redirects = false});
        if (credential->needs_password && PQconnectionUsedPassword(connection->raw()) == 0) {
            throw Error({.message = "the server asked for no password", .sqlstate = "28P01"});
        }
        return {*this, credential, std::move(connection)};
    } catch (...) {
        const std::lock_guard lock(mutex_);
        --open_;
        throw;
    }
}

void Database::give_back(const Credential& credential, std::unique_ptr<Connection> connection,
                         bool is_spoiled) {
    if (!is_spoiled && connection->in_transaction()) {
        connection->rollback();
    }
    const bool broken = is_spoiled || connection->broken();
    std::vector<Idle> closed;
    {
        const std::lock_guard lock(mutex_);
        // Those that are idle broke with it if the server ended, and would hide that it is away.
        if (connection->broken()) {
            closed.swap(idle_);
            open_ -= closed.size();
        }
        const bool revoked = std::ranges::find(revoked_, credential.key) != revoked_.end();
        if (!broken && !revoked) {
            idle_.push_back({credential.key, std::move(connection), steady_ms()});
            return;
        }
        --open_;
    }
    connection.reset();
}

void Database::close_idle(const Credential& credential) {
    std::vector<Idle> closed;
    const std::lock_guard lock(mutex_);
    // What was opened with a password of the session ends with it, also if it is in use now.
    if (credential.needs_password) {
        revoked_.push_back(credential.key);
    }
    if (revoked_.size() > 1000) {
        revoked_.erase(revoked_.begin());
    }
    for (auto idle = idle_.begin(); idle != idle_.end();) {
        if (idle->key == credential.key) {
            closed.push_back(std::move(*idle));
            idle = idle_.erase(idle);
            --open_;
        } else {
            ++idle;
        }
    }
}

void Database::close_idle(std::int64_t now_ms, std::int64_t older_ms) {
    std::vector<Idle> closed;
    const std::lock_guard lock(mutex_);
    while (open_ > 1 && !idle_.empty() && now_ms - idle_.front().since_ms >= older_ms) {
        closed.push_back(std::move(idle_.front()));
        idle_.erase(idle_.begin());
        --open_;
    }
}

std::size_t Database::size() const {
    const std::lock_guard lock(mutex_);
    return open_;
}

Jobs::Jobs(int threads, std::size_t most) : most_(most) {
    for (int i = 0; i < threads; ++i) {
        threads_.emplace_back([this] { run(); });
    }
}

Jobs::~Jobs() {
    stop();
}

bool Jobs::add(std::function<void()> job) {
    {
        const std::lock_guard lock(mutex_);
        if (stopping_ || jobs_.size() >= most_) {
            return false;
        }
        jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
    return true;
}

void Jobs::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) {
        if (thread.joinable()) {
            thread.join();
        }
    }
}

void Jobs::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
        if (jobs_.empty()) {
            return;
        }
        const auto job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        job();
        lock.lock();
    }
}

}  // namespace belay::tool::dashboard
