// Tables queue_limits and queue_moves.
//
// A claim writes a row into queue_moves for the places that it takes, the end of a lease writes
// one for the place that it releases. Places are counted and taken under the queue's key in the
// lock table, which is released at once: who comes next sees the move, whether it is committed or
// not. So no transaction that stays open keeps others from the places that are free for certain: an
// open claim's count as taken, an open end's do not count yet. Now and then a claim adds moves that
// are committed to the row in queue_limits, which no session waits for. Queues without limits have
// neither row, and are not looked up: the hub's row lists those that have, or says that they are
// many.
#pragma once

#include "core/queue_limit.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::store {

// Whether the queue has limits, as far as a call that has entered table tasks must know.
bool is_limited(const Hub& hub, std::string_view queue);
// Whether any queue may have some.
bool has_limited(const Hub& hub);

// The limits of a queue as they are for certain now.
std::optional<core::QueueLimit> read_limit(const Hub& hub, std::string_view queue);
// The same, with an open transaction that has taken places of the queue, or is giving some back.
struct HeldLimit {
    core::QueueLimit limit;
    TransactionId holder;  // invalid: none
};
std::optional<HeldLimit> read_held_limit(const Hub& hub, std::string_view queue);
// The limits of several queues, each named once, in order: of those that have limits, in that
// order.
struct NamedLimit {
    std::string_view queue;
    core::QueueLimit limit;
};
std::span<const NamedLimit> read_limits(const Hub& hub, std::span<const std::string_view> queues);
// Takes up to so many places and tokens, as many as there are for certain; returns how many.
int64 take_places(const Hub& hub, std::string_view queue, int64 wanted, int64 now);
// Notifies sessions that wait for the queue that places are left, or when the next token comes.
void wake_for_places(const Hub& hub, std::string_view queue, const core::QueueLimit& limit,
                     int64 now);

// Gives the place of a task of a limited queue back.
void return_place(const Hub& hub, std::string_view queue, int64 now);

// ---- Settings ----

// Holds the limits of a queue, after waiting, with all that is committed added up.
std::optional<core::QueueLimit> lock_limit(const Hub& hub, std::string_view queue);
// Stores the limits; active places are counted if there were none. Table tasks is held against
// writers then.
void insert_limit(const Hub& hub, std::string_view queue, const core::QueueLimit& limit);
void update_limit(const Hub& hub, std::string_view queue, const core::QueueLimit& limit);
void delete_limit(const Hub& hub, std::string_view queue);

}  // namespace belay::store
