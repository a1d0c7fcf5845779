// Table history.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/plan.hpp"

namespace belay::store {

// The greatest execution id that has events.
std::optional<int64> latest_execution_with_history(const Hub& hub, std::string_view instance_id);

// Up to limit events behind after_event_id, in order: columns (event_id, event_data).
Rows read_events(const Hub& hub, std::string_view instance_id, int64 execution_id,
                 int64 after_event_id, int64 limit);

// The same in the columns of read_history.
Rows list_events(const Hub& hub, std::string_view instance_id, int64 execution_id,
                 int64 after_event_id, std::optional<int64> limit);

// Only the texts of an execution's events, in order.
Rows event_texts(const Hub& hub, std::string_view instance_id, int64 execution_id);

// How many of these event ids are stored; lowest_id is the lowest of them.
int64 count_stored(const Hub& hub, std::string_view instance_id, int64 execution_id,
                   int64 lowest_id, Datum event_ids);

// Inserts events that are not stored; the arrays have one element per event.
void insert_events(const Hub& hub, std::string_view instance_id, int64 execution_id,
                   Datum event_ids, Datum event_types, Datum event_texts, int64 now);

}  // namespace belay::store
