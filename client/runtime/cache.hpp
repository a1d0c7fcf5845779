// Executions that stay in memory between turns.
//
// An execution is put in after an ack that is known to have succeeded, and taken out for the next
// turn, so it has one owner at a time. It is used only if the stored history is its own: the same
// execution and last event, and the last event's text is the one that was written (an
// instance may be deleted and made again under its id). The server may vouch for the latter: it
// then sends no events.
//
// Bounded in bytes and in number; the least recently used leaves first.
//
// An ack shows to other threads before the thread that has made it has put its execution in. So it
// announces that the execution is coming, and a turn that follows waits for it.
//
// Thread-safety: may be used by many threads at once. Executions are destroyed by the calling
// thread, outside of the lock.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "execution.hpp"

namespace belay::engine {

// Why an execution was not found in memory.
enum class Miss : std::uint8_t {
    kNone,       // it was
    kAbsent,     // never was, or has left
    kExecution,  // the instance has continued as new
    kEvent,      // another process has gone on
    kLife,       // another instance under the same id
};

// What the server says about the stored history.
struct StoredFacts {
    std::int64_t execution_id = 0;
    std::int64_t last_event_id = 0;
    std::string last_event_text = {};
    bool is_ours = false;  // the server says that we have written all of it
};

struct CacheLimits {
    std::size_t bytes = std::size_t{256} << 20;  // 0 turns the cache off
    std::size_t instances = 10000;
    std::int64_t idle_ms = 600000;  // 0: each leaves at once
};

struct CacheStats {
    std::uint64_t hits = 0;
    std::array<std::uint64_t, 5> misses = {};  // by Miss
    std::uint64_t evictions = 0;
    std::size_t bytes = 0;
    std::size_t instances = 0;
};

class Cache {
 public:
    explicit Cache(CacheLimits limits) : limits_(limits) {}

    // While it lives, an execution of the instance may be about to be put in.
    class Coming {
     public:
        Coming(Cache& cache, const std::string& instance_id);
        // It is announced already.
        Coming(Cache& cache, std::multiset<std::string>::iterator place)
            : cache_(cache), place_(place) {}
        ~Coming();
        Coming(const Coming&) = delete;
        Coming& operator=(const Coming&) = delete;

     private:
        Cache& cache_;
        std::multiset<std::string>::iterator place_;
    };

    // An execution that is taken out to run its next turn before that is leased: another one is
    // coming.
    struct Ahead {
        std::unique_ptr<Coming> coming = {};
        std::unique_ptr<Execution> execution = {};
        StoredFacts stored = {};
    };
    // Takes it out if it waits for nothing but this activity. Waits a moment if it is coming.
    Ahead take_ahead(const std::string& instance_id, std::int64_t execution_id,
                     std::int64_t activity_id);

    // Waits, but not for long, until none is coming: an ack may be stuck, too.
    // Takes it out if it is what is stored; destroys it if it is not.
    std::unique_ptr<Execution> take(const std::string& instance_id, const StoredFacts& stored,
                                    Miss& miss);
    // The ids of instances that had to leave for it. One that is larger than a quarter of the bound
    // is not kept.
    std::vector<std::string> put(std::unique_ptr<Execution> execution, StoredFacts stored,
                                 std::int64_t now_ms);
    // Whether one of so many bytes is kept.
    bool accepts(std::size_t bytes) const {
        return bytes <= limits_.bytes / 4 && limits_.instances > 0;
    }
    void drop(const std::string& instance_id);
    std::vector<std::string> drop_idle(std::int64_t now_ms);
    void clear();
    CacheStats stats() const;

 private:
    struct Item {
        std::string instance_id;
        std::unique_ptr<Execution> execution;
        StoredFacts stored;
        std::size_t bytes;
        std::int64_t used_at_ms;
    };
    using Items = std::list<Item>;  // least recently used first

    // Under the lock: moves the item to those that are destroyed after it.
    void remove(Items::iterator item, Items& removed);

    static constexpr std::chrono::seconds kPatience{5};
    static constexpr std::chrono::milliseconds kMoment{20};

    const CacheLimits limits_;
    mutable std::mutex mutex_;
    std::condition_variable arrived_;
    // Guarded by mutex_:
    std::multiset<std::string> coming_;
    Items items_;
    std::unordered_map<std::string, Items::iterator> by_id_;
    CacheStats stats_;
};

}  // namespace belay::engine
