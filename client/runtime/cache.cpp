// Whether a kept execution fits the stored history, and which ones leave when the cache is full.
//
// May touch: the executions that it keeps, under its lock. Must not: run an orchestration's code,
// or destroy an execution while it holds the lock.
#include "cache.hpp"

#include <utility>

namespace belay::engine {
namespace {

Miss compare(const StoredFacts& kept, const StoredFacts& stored) {
    if (kept.execution_id != stored.execution_id) {
        return Miss::kExecution;
    }
    if (kept.last_event_id != stored.last_event_id) {
        return Miss::kEvent;
    }
    return stored.is_ours || kept.last_event_text == stored.last_event_text ? Miss::kNone
                                                                            : Miss::kLife;
}

bool is_newer(const StoredFacts& kept, const StoredFacts& given) {
    return std::pair(kept.execution_id, kept.last_event_id) >
           std::pair(given.execution_id, given.last_event_id);
}

// The same event, but not the same: one of the two is of a deleted instance, and the server vouches
// for ids only.
bool is_other_life(const StoredFacts& kept, const StoredFacts& given) {
    return kept.execution_id == given.execution_id && kept.last_event_id == given.last_event_id &&
           kept.last_event_text != given.last_event_text;
}

}  // namespace

Cache::Coming::Coming(Cache& cache, const std::string& instance_id) : cache_(cache) {
    const std::lock_guard lock(cache_.mutex_);
    place_ = cache_.coming_.insert(instance_id);
}

Cache::Coming::~Coming() {
    {
        const std::lock_guard lock(cache_.mutex_);
        cache_.coming_.erase(place_);
    }
    cache_.arrived_.notify_all();
}

void Cache::remove(Items::iterator item, Items& removed) {
    stats_.bytes -= item->bytes;
    --stats_.instances;
    by_id_.erase(item->instance_id);
    removed.splice(removed.end(), items_, item);
}

std::unique_ptr<Execution> Cache::take(const std::string& instance_id, const StoredFacts& stored,
                                       Miss& miss) {
    Items removed;
    {
        std::unique_lock lock(mutex_);
        arrived_.wait_for(lock, kPatience, [&] { return !coming_.contains(instance_id); });
        const auto found = by_id_.find(instance_id);
        if (found == by_id_.end()) {
            miss = Miss::kAbsent;
        } else {
            remove(found->second, removed);
            miss = compare(removed.front().stored, stored);
        }
        if (miss == Miss::kNone) {
            ++stats_.hits;
        } else {
            ++stats_.misses[static_cast<std::size_t>(miss)];
        }
    }
    return miss == Miss::kNone ? std::move(removed.front().execution) : nullptr;
}

Cache::Ahead Cache::take_ahead(const std::string& instance_id, std::int64_t execution_id,
                               std::int64_t activity_id) {
    Items removed;
    Ahead ahead;
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, kMoment, [&] { return !coming_.contains(instance_id); });
    const auto found = by_id_.find(instance_id);
    if (coming_.contains(instance_id) || found == by_id_.end() ||
        found->second->stored.execution_id != execution_id ||
        !found->second->execution->waits_only_for(activity_id)) {
        return ahead;
    }
    ahead.coming = std::make_unique<Coming>(*this, coming_.insert(instance_id));
    remove(found->second, removed);
    ++stats_.hits;
    ahead.execution = std::move(removed.front().execution);
    ahead.stored = std::move(removed.front().stored);
    return ahead;
}

std::vector<std::string> Cache::put(std::unique_ptr<Execution> execution, StoredFacts stored,
                                    std::int64_t now_ms) {
    std::vector<std::string> evicted;
    const std::size_t bytes = execution->bytes();
    if (!accepts(bytes)) {
        return evicted;
    }
    Items removed;
    {
        const std::lock_guard lock(mutex_);
        std::string id = execution->instance_id();
        if (const auto found = by_id_.find(id); found != by_id_.end()) {
            // Another thread may have had the next turn before this one came here.
            if (is_newer(found->second->stored, stored)) {
                return evicted;
            }
            const bool is_other = is_other_life(found->second->stored, stored);
            remove(found->second, removed);
            if (is_other) {
                return evicted;
            }
        }
        if (limits_.idle_ms <= 0) {
            ++stats_.evictions;
            return {std::move(id)};
        }
        while (!items_.empty() &&
               (stats_.bytes + bytes > limits_.bytes || stats_.instances >= limits_.instances)) {
            evicted.push_back(items_.front().instance_id);
            ++stats_.evictions;
            remove(items_.begin(), removed);
        }
        items_.push_back({id, std::move(execution), std::move(stored), bytes, now_ms});
        by_id_.emplace(std::move(id), std::prev(items_.end()));
        stats_.bytes += bytes;
        ++stats_.instances;
    }
    return evicted;
}

void Cache::drop(const std::string& instance_id) {
    Items removed;
    const std::lock_guard lock(mutex_);
    if (const auto found = by_id_.find(instance_id); found != by_id_.end()) {
        remove(found->second, removed);
    }
}

std::vector<std::string> Cache::drop_idle(std::int64_t now_ms) {
    std::vector<std::string> dropped;
    Items removed;
    const std::lock_guard lock(mutex_);
    while (!items_.empty() && now_ms - items_.front().used_at_ms >= limits_.idle_ms) {
        dropped.push_back(items_.front().instance_id);
        ++stats_.evictions;
        remove(items_.begin(), removed);
    }
    return dropped;
}

void Cache::clear() {
    Items removed;
    const std::lock_guard lock(mutex_);
    while (!items_.empty()) {
        remove(items_.begin(), removed);
    }
}

CacheStats Cache::stats() const {
    const std::lock_guard lock(mutex_);
    return stats_;
}

}  // namespace belay::engine
