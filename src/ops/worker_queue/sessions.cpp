// sessions.cpp — keep sessions alive, and delete those that are not needed any more.
//
// Calls    store::hold_session, store::renew_session, store::delete_orphaned_sessions
// Touches  <hub>.sessions
// Locks    sessions by id
// Raises   nothing itself
#include "core/time.hpp"
#include "ops/worker_queue/worker_queue.hpp"
#include "pg/datum.hpp"
#include "pg/list.hpp"
#include "store/sessions.hpp"

namespace belay::ops {

int64 renew_session_lock(store::Tables& tables, std::span<const Datum> owners, int64 extend_ms,
                         int64 idle_timeout_ms, pg::Clock* clock) {
    enter(tables, {.worker_queue = true, .sessions = true}, clock);
    pg::List<std::string_view> names;
    for (const Datum owner : owners) {
        if (owner != 0) {
            names.add(pg::text_view(owner));
        }
    }
    const auto list = store::make_array_of(names.span());
    const int64 before = clock->now();
    const auto ids = store::renewable_sessions(tables, list, before, before - idle_timeout_ms);
    for (const auto id : ids) {
        if (store::hold_session(tables, id)) {
            clock->mark_waited();
        }
    }
    // A deadline counts from here, after all waiting.
    const int64 now = clock->now();
    int64 renewed = 0;
    for (const auto id : ids) {
        if (store::renew_session(tables, id, list, now, now - idle_timeout_ms,
                                 core::add_ms(now, extend_ms))) {
            ++renewed;
        }
    }
    return renewed;
}

void touch_session(store::Tables& tables, const store::WorkRow& row, pg::Clock* clock) {
    if (!row.session_id || !row.locked_by) {
        return;
    }
    // Only a live session of the caller's own is extended; there is no need to wait for others.
    const auto session = store::read_session(tables, *row.session_id);
    if (!session || session->worker_id != *row.locked_by || session->locked_until <= clock->now()) {
        return;
    }
    if (store::hold_session(tables, *row.session_id)) {
        clock->mark_waited();
    }
    store::touch_session(tables, *row.session_id, *row.locked_by, clock->now());
}

int64 cleanup_orphaned_sessions(store::Tables& tables, pg::Clock* clock) {
    enter(tables, {.worker_queue = true, .sessions = true}, clock);
    return store::delete_orphaned_sessions(tables, clock->now());
}

}  // namespace belay::ops
