// Table orchestrator_queue.
#pragma once

#include "core/work_item.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::store {

struct NewMessage {
    std::string_view instance_id;
    std::string_view work_item;
    core::ItemKind kind;
    int64 visible_at;  // ms
    int64 created_at;  // ms
};

// Inserts a message with the next id and returns the id.
int64 insert_message(const Hub& hub, const NewMessage& message);

// Gives every message the slot that a new slot_count asks for.
void reslot_messages(const Hub& hub, int32 slot_count);

}  // namespace belay::store
