// Table sessions.
//
// May touch: sessions, the lock table; worker_queue to see whether a session has items. Must not:
// change an item.
#include "store/sessions.hpp"

#include "core/hash.hpp"
#include "pg/locks.hpp"
#include "store/readiness.hpp"
#include "store/statements.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

// A call that changes a session first holds its key in the lock table: a claim without waiting, the
// others waiting. A row lock would not do: SKIP LOCKED can wait inside PostgreSQL for the holder of
// a newer version of the row.
//
// A claim is live while its deadline lies ahead and it was made in this incarnation.

constexpr auto kRead = statement<In<Text>, Out<Text, int64, int32>>(R"sql(
    SELECT s.worker_id, s.locked_until, s.lease_inc
      FROM {hub}.sessions AS s
     WHERE s.session_id {=} $1
)sql");

// $1 session, $2 owner, $3 now, $4 locked_until, $5 incarnation. Nothing is changed if there is no
// row, or if another owner has it.
constexpr auto kTakeOver = statement<In<Text, Text, int64, int64, int32>, Out<>>(R"sql(
    UPDATE {hub}.sessions AS s
       SET worker_id = $2, locked_until = $4, last_activity_at = $3, lease_inc = $5
     WHERE s.session_id {=} $1
       AND (s.worker_id {=} $2 OR s.locked_until {<=} $3 OR s.lease_inc {<>} $5)
)sql");

constexpr auto kInsert = statement<In<Text, Text, int64, int64, int32>, Out<Text>>(
    R"sql(
    INSERT INTO {hub}.sessions (session_id, worker_id, locked_until, last_activity_at, lease_inc)
    VALUES ($1, $2, $4, $3, $5)
    ON CONFLICT (session_id) DO NOTHING
    RETURNING session_id
)sql");

constexpr auto kTouch = statement<In<Text, Text, int64, int32>, Out<>>(R"sql(
    UPDATE {hub}.sessions AS s
       SET last_activity_at = $3
     WHERE s.session_id {=} $1 AND s.worker_id {=} $2 AND s.locked_until {>} $3
       AND s.lease_inc {=} $4
)sql");

// $1 owners, $2 now, $3 active after, $4 incarnation.
constexpr auto kRenewable = statement<In<ListOf<Text>, int64, int64, int32>, Out<Text>>(
    R"sql(
    SELECT s.session_id
      FROM {hub}.sessions AS s
     WHERE s.worker_id {=} ANY ($1) AND s.locked_until {>} $2 AND s.last_activity_at {>} $3
       AND s.lease_inc {=} $4
     ORDER BY s.session_id
)sql");

// $1 session, $2 owners, $3 now, $4 active after, $5 incarnation, $6 locked_until.
constexpr auto kRenew = statement<In<Text, ListOf<Text>, int64, int64, int32, int64>, Out<>>(R"sql(
    UPDATE {hub}.sessions AS s
       SET locked_until = $6
     WHERE s.session_id {=} $1 AND s.worker_id {=} ANY ($2) AND s.locked_until {>} $3
       AND s.last_activity_at {>} $4 AND s.lease_inc {=} $5
)sql");

// $1 now, $2 incarnation.
constexpr auto kOrphaned = statement<In<int64, int32>, Out<Text>>(R"sql(
    SELECT s.session_id
      FROM {hub}.sessions AS s
     WHERE (s.locked_until {<=} $1 OR s.lease_inc {<>} $2)
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.worker_queue AS w
                        WHERE w.session_id {=} s.session_id)
     LIMIT 1000
)sql");

// $1 now, $2 incarnation, $3 session.
constexpr auto kDeleteOrphaned = statement<In<int64, int32, Text>, Out<>>(R"sql(
    WITH c AS MATERIALIZED (
        SELECT s.session_id
          FROM {hub}.sessions AS s
         WHERE s.session_id {=} $3 AND (s.locked_until {<=} $1 OR s.lease_inc {<>} $2)
           AND NOT EXISTS (SELECT 1
                             FROM {hub}.worker_queue AS w
                            WHERE w.session_id {=} s.session_id)
           FOR UPDATE SKIP LOCKED
    )
    DELETE FROM {hub}.sessions AS s
     USING c
     WHERE s.session_id {=} c.session_id
)sql");

}  // namespace

std::optional<Session> read_session(const Hub& hub, std::string_view session_id) {
    return run(hub, kRead, session_id)
        .first([&hub](std::string_view worker_id, int64 locked_until, int32 incarnation) {
            return Session{.worker_id = worker_id,
                           .locked_until = incarnation == hub.incarnation ? locked_until : 0};
        });
}

bool try_claim_session(const Hub& hub, std::string_view session_id, std::string_view owner,
                       int64 now, int64 locked_until) {
    if (!pg::try_lock_key(pg::LockSpace::kSession, hub.schema, core::fnv1a64(session_id))) {
        return false;
    }
    const bool claimed =
        run_any(hub, kTakeOver, session_id, owner, now, locked_until, hub.incarnation) ||
        (!read_session(hub, session_id) &&
         run_any(hub, kInsert, session_id, owner, now, locked_until, hub.incarnation));
    if (claimed) {
        wakeups::lease_moved(worker_channel(hub), lease_key_of_session(session_id), locked_until);
    }
    return claimed;
}

bool is_session_held(const Hub& hub, std::string_view session_id) {
    return pg::is_key_locked(pg::LockSpace::kSession, hub.schema, core::fnv1a64(session_id));
}

bool hold_session(const Hub& hub, std::string_view session_id) {
    const uint64 key = core::fnv1a64(session_id);
    if (pg::try_lock_key(pg::LockSpace::kSession, hub.schema, key)) {
        return false;
    }
    pg::lock_key(pg::LockSpace::kSession, hub.schema, key);
    return true;
}

void touch_session(const Hub& hub, std::string_view session_id, std::string_view owner, int64 now) {
    run(hub, kTouch, session_id, owner, now, hub.incarnation);
}

std::span<const std::string_view> renewable_sessions(const Hub& hub, Array<std::string_view> owners,
                                                     int64 now, int64 active_after) {
    return run(hub, kRenewable, owners, now, active_after, hub.incarnation).values();
}

bool renew_session(const Hub& hub, std::string_view session_id, Array<std::string_view> owners,
                   int64 now, int64 active_after, int64 locked_until) {
    const bool renewed =
        run_any(hub, kRenew, session_id, owners, now, active_after, hub.incarnation, locked_until);
    if (renewed) {
        wakeups::lease_moved(worker_channel(hub), lease_key_of_session(session_id), locked_until);
    }
    return renewed;
}

int64 delete_orphaned_sessions(const Hub& hub, int64 now) {
    int64 deleted = 0;
    for (const auto [id] : run(hub, kOrphaned, now, hub.incarnation)) {
        if (!pg::try_lock_key(pg::LockSpace::kSession, hub.schema, core::fnv1a64(id))) {
            continue;  // another session is claiming it
        }
        deleted += run(hub, kDeleteOrphaned, now, hub.incarnation, id).changed();
    }
    return deleted;
}

}  // namespace belay::store
