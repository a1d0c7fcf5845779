// Table history.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/plan.hpp"

namespace belay::store {

// The greatest execution id that has events.
std::optional<int64> latest_execution_with_history(const Hub& hub, std::string_view instance_id);

// Events as they are stored: a long text may still be packed or in another place.
struct StoredEvent {
    int64 id;
    Datum data;
};
struct EventPage {
    std::span<const StoredEvent> events;
    std::optional<Rows> rows;

    void release() const {
        if (rows) {
            rows->release();
        }
    }
};

// Up to limit events behind after_event_id, in order.
EventPage read_events(const Hub& hub, std::string_view instance_id, int64 execution_id,
                      int64 after_event_id, int64 limit);

// The same in the columns of read_history.
Rows list_events(const Hub& hub, std::string_view instance_id, int64 execution_id,
                 int64 after_event_id, std::optional<int64> limit);

// Only the texts of an execution's events, in order.
Rows event_texts(const Hub& hub, std::string_view instance_id, int64 execution_id);

// Events to be stored: each list has one element per event.
struct NewEvents {
    std::span<const int64> ids;
    std::span<const std::string_view> types;
    std::span<const std::string_view> texts;
};

// How many of these event ids are stored; lowest_id is the lowest of them.
int64 count_stored(const Hub& hub, std::string_view instance_id, int64 execution_id,
                   int64 lowest_id, std::span<const int64> event_ids);

// Inserts events that are not stored.
void insert_events(const Hub& hub, std::string_view instance_id, int64 execution_id,
                   const NewEvents& events, int64 now);

}  // namespace belay::store
