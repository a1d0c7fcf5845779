// A bounded set of connections that threads share.
//
// Thread-safety: all of Pool may be called by many threads at once. A PooledConnection belongs to
// the thread that took it. The pool outlives what was taken from it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

#include "belay/connection.hpp"

namespace belay {

class Pool;

// A connection on loan. Goes back to its pool when it is destroyed.
class PooledConnection {
 public:
    PooledConnection(PooledConnection&& other) noexcept;
    PooledConnection& operator=(PooledConnection&&) = delete;
    ~PooledConnection();

    Connection& operator*() { return *connection_; }
    Connection* operator->() { return &*connection_; }

 private:
    friend class Pool;
    PooledConnection(Pool& pool, Connection connection)
        : pool_(&pool), connection_(std::move(connection)) {}

    Pool* pool_;
    std::optional<Connection> connection_;
};

class Pool {
 public:
    // Connects nothing yet: connections are made when they are needed, at most `size` of them.
    Pool(ConnectionOptions options, std::size_t size);
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    // A connection outside of any transaction. Waits until one is free, at most for `patience`;
    // then throws with timed_out(). The longest wait is served first.
    PooledConnection take(std::chrono::milliseconds patience = std::chrono::seconds(30),
                          Where where = Where::current());

    std::size_t size() const { return size_; }
    std::size_t idle() const;    // connections that wait for a taker
    std::size_t in_use() const;  // connections on loan

    // How often its connections have waited for the server, those on loan not counted.
    std::uint64_t round_trips() const;

 private:
    friend class PooledConnection;
    // An open transaction is rolled back; a broken connection is dropped, and replaced by the next
    // taker.
    void give_back(Connection connection) noexcept;
    void wake_first() noexcept;  // called with mutex_ held

    const ConnectionOptions options_;
    const std::size_t size_;
    mutable std::mutex mutex_;
    std::vector<Connection> idle_;  // guarded by mutex_, as are the next ones
    std::size_t in_use_ = 0;
    std::list<std::condition_variable> waiting_;  // takers, the first one first
    std::uint64_t dropped_round_trips_ = 0;       // of connections that were dropped
};

}  // namespace belay
