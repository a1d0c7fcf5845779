// The pool: connections on loan, oldest waiter first.
//
// May touch: its list, under its mutex. Must not: connect or wait for a server under that mutex.
#include "belay/pool.hpp"

#include <utility>

namespace belay {

PooledConnection::PooledConnection(PooledConnection&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)), connection_(std::move(other.connection_)) {}

PooledConnection::~PooledConnection() {
    if (pool_ != nullptr) {
        pool_->give_back(std::move(*connection_));
    }
}

Pool::Pool(ConnectionOptions options, std::size_t size)
    : options_(std::move(options)), size_(size) {
    if (size == 0) {
        throw Error({.message = "a pool needs room for a connection"});
    }
    idle_.reserve(size);
}

PooledConnection Pool::take(std::chrono::milliseconds patience, Where where) {
    {
        std::unique_lock lock(mutex_);
        if (in_use_ >= size_ || !waiting_.empty()) {
            const auto self = waiting_.emplace(waiting_.end());
            const bool is_free = self->wait_for(
                lock, patience, [&] { return in_use_ < size_ && self == waiting_.begin(); });
            waiting_.erase(self);
            wake_first();  // the next one may be served, too
            if (!is_free) {
                throw Error({.message = "no connection became free in time", .timed_out = true},
                            where);
            }
        }
        ++in_use_;
        if (!idle_.empty()) {
            PooledConnection taken(*this, std::move(idle_.back()));
            idle_.pop_back();
            return taken;
        }
    }
    // Connecting takes time, so others need not wait for it.
    try {
        return PooledConnection(*this, Connection(options_, where));
    } catch (...) {
        const std::lock_guard lock(mutex_);
        --in_use_;
        wake_first();
        throw;
    }
}

std::size_t Pool::idle() const {
    const std::lock_guard lock(mutex_);
    return idle_.size();
}

std::size_t Pool::in_use() const {
    const std::lock_guard lock(mutex_);
    return in_use_;
}

std::uint64_t Pool::round_trips() const {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = dropped_round_trips_;
    for (const auto& connection : idle_) {
        sum += connection.round_trips();
    }
    return sum;
}

void Pool::give_back(Connection connection) noexcept {
    connection.rollback();
    const std::lock_guard lock(mutex_);
    --in_use_;
    if (connection.broken()) {
        dropped_round_trips_ += connection.round_trips();
    } else {
        idle_.push_back(std::move(connection));
    }
    wake_first();
}

void Pool::wake_first() noexcept {
    if (!waiting_.empty()) {
        waiting_.front().notify_one();
    }
}

}  // namespace belay
