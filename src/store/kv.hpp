// Tables kv_store and kv_delta: key/value state of finished executions, and changes of the current
// one.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/plan.hpp"

namespace belay::store {

// Writes a change: a value, or a tombstone.
void put_delta(const Hub& hub, std::string_view instance_id, std::string_view key,
               std::optional<std::string_view> value, int64 updated_at);

// Makes every key of the instance a tombstone.
void clear_delta(const Hub& hub, std::string_view instance_id, int64 now);

// Moves the changes into the store, and empties them.
void merge_delta(const Hub& hub, std::string_view instance_id, int64 execution_id);

// The store of an instance, by key: columns (key, value, last_updated_at_ms).
Rows read_store(const Hub& hub, std::string_view instance_id);

// What a client reads: changes over the store. Columns (value); (key, value).
Rows read_value(const Hub& hub, std::string_view instance_id, std::string_view key);
Rows read_values(const Hub& hub, std::string_view instance_id);

}  // namespace belay::store
