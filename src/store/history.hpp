// Table history_turns: a row has events of one turn whose ids are consecutive.
#pragma once

#include "pg/datum.hpp"
#include "pg/pg.hpp"
#include "store/plan.hpp"
#include "store/table/tables.hpp"

namespace belay::store {

// The greatest execution id that has events.
std::optional<int64> latest_execution_with_history(Tables& tables, std::string_view instance_id);

// The greatest event id of an execution; 0 if it has no events.
int64 last_event_id(Tables& tables, std::string_view instance_id, int64 execution_id);

// A row as it is stored: long texts may still be packed or in another place.
struct StoredTurn {
    int64 first_event_id;
    int64 last_event_id;
    std::optional<int64> jsonb_bytes;  // of its events together, if each can be jsonb
    Datum texts;

    // What its events have at least, so that a row need not be read to know that it is too much.
    int64 least_bytes() const;
    std::span<const std::string_view> events() const { return pg::text_views(texts); }
};

// Up to limit rows that have events behind after_event_id, in order. The first may begin before.
std::span<const StoredTurn> read_turns(Tables& tables, std::string_view instance_id,
                                       int64 execution_id, int64 after_event_id, int limit);

// Events to be stored: each list has one element per event.
struct NewEvents {
    std::span<const int64> ids;
    std::span<const std::string_view> types;
    std::span<const std::string_view> texts;
    std::span<const std::optional<int64>> jsonb_bytes;  // core::json::jsonb_bound of the texts
};

// How many of these event ids, which are in order, are stored, and whether an id is that is not
// below all of them.
struct StoredEvents {
    int64 same;
    bool reach;
};
StoredEvents find_stored(Tables& tables, std::string_view instance_id, int64 execution_id,
                         std::span<const int64> sorted_ids);

// Inserts events that are not stored.
void insert_events(Tables& tables, std::string_view instance_id, int64 execution_id,
                   const NewEvents& events, int64 now);

// ---- By SQL ----

// Events in the columns of read_history.
Listing list_events(const Hub& hub, std::string_view instance_id, int64 execution_id,
                    int64 after_event_id, std::optional<int64> limit);

// Only the texts of an execution's events, in order.
Listing event_texts(const Hub& hub, std::string_view instance_id, int64 execution_id);

}  // namespace belay::store
