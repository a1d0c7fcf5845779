// The insert of an event without SQL: the same row. False: SQL has to serve.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::store::direct {

struct EventRow {
    int64 position;
    std::string_view topic;
    std::string_view type;
    std::optional<std::string_view> subject;
    Datum details;  // jsonb
    int64 occurred_at;
};
bool try_insert_event(const Hub& hub, const EventRow& event);

}  // namespace belay::store::direct
