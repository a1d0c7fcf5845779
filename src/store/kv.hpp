// Tables kv_store and kv_delta: key/value state of finished executions, and changes of the current
// one.
#pragma once

#include "pg/pg.hpp"
#include "store/plan.hpp"
#include "store/table/tables.hpp"

namespace belay::store {

// Writes a change: a value, or a tombstone.
void put_delta(Tables& tables, std::string_view instance_id, std::string_view key,
               std::optional<std::string_view> value, int64 updated_at);

// Makes every key of the instance a tombstone.
void clear_delta(Tables& tables, std::string_view instance_id, int64 now);

// Moves the changes into the store, and empties them.
void merge_delta(Tables& tables, std::string_view instance_id, int64 execution_id);

// A value of the store as it is stored: a long text may still be packed or in another place.
struct KeptValue {
    std::string_view key;
    Datum value;
    int64 updated_at;
};

// The store of an instance, by key.
std::span<const KeptValue> read_store(Tables& tables, std::string_view instance_id);

// ---- By SQL ----

// What a client reads: changes over the store. No value also for a tombstone.
std::optional<std::string_view> read_value(const Hub& hub, std::string_view instance_id,
                                           std::string_view key);
// In columns (key, value).
Listing read_values(const Hub& hub, std::string_view instance_id);

}  // namespace belay::store
