// Table dead_letters.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/statements.hpp"

namespace belay::store {

// What a redrive puts back.
struct DeadLetter {
    int64 id;
    std::string_view queue;
    std::optional<std::string_view> instance_id;
    std::optional<int64> execution_id;
    std::optional<int64> activity_id;
    std::optional<std::string_view> session_id;
    std::optional<std::string_view> tag;
    std::string_view work_item;
    int64 source_id;
    std::optional<std::string_view> detail;
};

// Inserts a row that was deleted from its queue, and writes the event; returns the id of the dead
// letter.
struct NewDeadLetter {
    const char* queue;
    int64 source_id;
    std::optional<std::string_view> instance_id;
    std::optional<int64> execution_id;
    std::optional<int64> activity_id;
    std::optional<std::string_view> session_id;
    std::optional<std::string_view> tag;
    std::string_view work_item;
    int32 attempts;
    const char* reason;
    std::optional<std::string_view> detail;
    TimestampTz enqueued_at;
};
int64 insert_dead_letter(const Hub& hub, const NewDeadLetter& letter, int64 now);

// Sets an intent aside that could not be delivered; returns the id of the dead letter.
struct DeadIntent {
    int64 intent_id;
    std::optional<std::string_view> target_instance;
    std::string_view work_item;
    int32 attempts;
    std::string_view detail;
    int64 created_at;  // ms
};
int64 insert_dead_intent(const Hub& hub, const DeadIntent& intent, int64 now);

// Deletes the dead letter and returns it; waits if another transaction holds it.
std::optional<DeadLetter> take_dead_letter(const Hub& hub, int64 id);

// Deletes those of these that are there and that no other transaction holds, by id.
std::span<const DeadLetter> take_dead_letters(const Hub& hub, std::span<const int64> ids);

// Deletes up to limit dead letters older than an instant, of the 10,000 with the lowest ids;
// returns how many.
int64 discard_old(const Hub& hub, int64 dead_before, int64 limit);

// One page, by id ascending, in the columns of the table.
struct DeadLetterList {
    Listing rows;
    bool whole;  // the page is full, or there are no more; else the list stopped at 10,000
};
DeadLetterList list_dead(const Hub& hub, std::optional<std::string_view> queue,
                         std::optional<std::string_view> reason,
                         std::optional<std::string_view> instance_id, int64 after, int limit);

}  // namespace belay::store
