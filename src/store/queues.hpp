// Tables queues, capability_sets and dedup_keys.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/table/tables.hpp"

namespace belay::store {

struct TaskQueue {
    bool paused;
    std::optional<int64> retention_ms;
    Jsonb* policy;  // null: none of its own
};

// The settings of a queue; none if it has the defaults.
std::optional<TaskQueue> read_queue(Tables& tables, std::string_view name);

// Registers a queue that has no row yet, unless another transaction is just doing so.
void register_queue(Tables& tables, std::string_view name, int64 now);

// Holds the queue's row, which is made if there is none.
TaskQueue lock_queue(Tables& tables, std::string_view name, int64 now);
// The caller holds the row.
void update_queue(Tables& tables, std::string_view name, const TaskQueue& queue);

// The id of a set of capabilities, which are sorted and each once; 0 for the empty one. Makes the
// set; no value if the queue has too many.
inline constexpr int kMaxSets = 1000;
std::optional<int32> capability_set(const Hub& hub, std::string_view queue,
                                    std::span<const std::string_view> tokens);

// A dedup key that is held.
struct DedupKey {
    bool inserted;  // by this call
    pg_uuid_t task_id;
    int64 window_until;
};

// Holds the key, which is made for that task if there is none; waits for its holder.
DedupKey lock_dedup_key(const Hub& hub, std::string_view queue, std::string_view key,
                        const pg_uuid_t& task, int64 window_until);
void take_over_dedup_key(const Hub& hub, std::string_view queue, std::string_view key,
                         const pg_uuid_t& task, int64 window_until);
void delete_dedup_key(const Hub& hub, std::string_view queue, std::string_view key,
                      const pg_uuid_t& task);
// Holds a key, if it exists.
std::optional<DedupKey> hold_dedup_key(const Hub& hub, std::string_view queue,
                                       std::string_view key);

}  // namespace belay::store
