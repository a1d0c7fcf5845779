#include "store/sessions.hpp"

#include "core/hash.hpp"
#include "pg/locks.hpp"
#include "store/plan.hpp"
#include "store/readiness.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

// Whoever changes a session first holds its key in the lock table: a claim without waiting, the
// others waiting. A row lock would not do: SKIP LOCKED can wait inside PostgreSQL for the holder of
// a newer version of the row.
//
// A claim is live while its deadline lies ahead and it was made in this incarnation.

constexpr Statement kRead = statement(R"sql(
    SELECT s.worker_id, s.locked_until, s.lease_inc
      FROM {hub}.sessions AS s
     WHERE s.session_id {=} $1
)sql",
                                      TEXTOID);

// $1 session, $2 owner, $3 now, $4 locked_until, $5 incarnation. Nothing is changed if there is no
// row, or if another owner has it.
constexpr Statement kTakeOver = statement(R"sql(
    UPDATE {hub}.sessions AS s
       SET worker_id = $2, locked_until = $4, last_activity_at = $3, lease_inc = $5
     WHERE s.session_id {=} $1
       AND (s.worker_id {=} $2 OR s.locked_until {<=} $3 OR s.lease_inc {<>} $5)
)sql",
                                          TEXTOID, TEXTOID, INT8OID, INT8OID, INT4OID);

constexpr Statement kInsert = statement(R"sql(
    INSERT INTO {hub}.sessions (session_id, worker_id, locked_until, last_activity_at, lease_inc)
    VALUES ($1, $2, $4, $3, $5)
    ON CONFLICT (session_id) DO NOTHING
    RETURNING session_id
)sql",
                                        TEXTOID, TEXTOID, INT8OID, INT8OID, INT4OID);

constexpr Statement kTouch = statement(R"sql(
    UPDATE {hub}.sessions AS s
       SET last_activity_at = $3
     WHERE s.session_id {=} $1 AND s.worker_id {=} $2 AND s.locked_until {>} $3
       AND s.lease_inc {=} $4
)sql",
                                       TEXTOID, TEXTOID, INT8OID, INT4OID);

// $1 owners, $2 now, $3 active after, $4 incarnation.
constexpr Statement kRenewable = statement(R"sql(
    SELECT s.session_id
      FROM {hub}.sessions AS s
     WHERE s.worker_id {=} ANY ($1) AND s.locked_until {>} $2 AND s.last_activity_at {>} $3
       AND s.lease_inc {=} $4
     ORDER BY s.session_id
)sql",
                                           TEXTARRAYOID, INT8OID, INT8OID, INT4OID);

// $1 session, $2 owners, $3 now, $4 active after, $5 incarnation, $6 locked_until.
constexpr Statement kRenew = statement(R"sql(
    UPDATE {hub}.sessions AS s
       SET locked_until = $6
     WHERE s.session_id {=} $1 AND s.worker_id {=} ANY ($2) AND s.locked_until {>} $3
       AND s.last_activity_at {>} $4 AND s.lease_inc {=} $5
)sql",
                                       TEXTOID, TEXTARRAYOID, INT8OID, INT8OID, INT4OID, INT8OID);

// $1 now, $2 incarnation.
constexpr Statement kOrphaned = statement(R"sql(
    SELECT s.session_id
      FROM {hub}.sessions AS s
     WHERE (s.locked_until {<=} $1 OR s.lease_inc {<>} $2)
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.worker_queue AS w
                        WHERE w.session_id {=} s.session_id)
     LIMIT 1000
)sql",
                                          INT8OID, INT4OID);

// $1 now, $2 incarnation, $3 session.
constexpr Statement kDeleteOrphaned = statement(R"sql(
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
)sql",
                                                INT8OID, INT4OID, TEXTOID);

}  // namespace

std::optional<Session> read_session(const Hub& hub, std::string_view session_id) {
    const Rows rows = run(hub, kRead, Params().text(session_id));
    if (rows.count == 0) {
        return std::nullopt;
    }
    return Session{.worker_id = rows.text(0, 1),
                   .locked_until = rows.int4(0, 3) == hub.incarnation ? rows.int8(0, 2) : 0};
}

bool try_claim_session(const Hub& hub, std::string_view session_id, std::string_view owner,
                       int64 now, int64 locked_until) {
    const auto params = [&] {
        return Params()
            .text(session_id)
            .text(owner)
            .int8(now)
            .int8(locked_until)
            .int4(hub.incarnation);
    };
    if (!pg::try_lock_key(pg::LockSpace::kSession, hub.schema, core::fnv1a64(session_id))) {
        return false;
    }
    const bool claimed = run(hub, kTakeOver, params()).count == 1 ||
                         (!read_session(hub, session_id) && run(hub, kInsert, params()).count == 1);
    if (claimed) {
        pg::note_lease(worker_channel(hub), lease_key_of_session(session_id), locked_until);
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
    run(hub, kTouch, Params().text(session_id).text(owner).int8(now).int4(hub.incarnation));
}

std::span<const std::string_view> renewable_sessions(const Hub& hub, Datum owners, int64 now,
                                                     int64 active_after) {
    return run(hub, kRenewable,
               Params().datum(owners).int8(now).int8(active_after).int4(hub.incarnation))
        .texts(1);
}

bool renew_session(const Hub& hub, std::string_view session_id, Datum owners, int64 now,
                   int64 active_after, int64 locked_until) {
    const bool renewed = run(hub, kRenew,
                             Params()
                                 .text(session_id)
                                 .datum(owners)
                                 .int8(now)
                                 .int8(active_after)
                                 .int4(hub.incarnation)
                                 .int8(locked_until))
                             .count == 1;
    if (renewed) {
        pg::note_lease(worker_channel(hub), lease_key_of_session(session_id), locked_until);
    }
    return renewed;
}

int64 delete_orphaned_sessions(const Hub& hub, int64 now) {
    const Rows rows = run(hub, kOrphaned, Params().int8(now).int4(hub.incarnation));
    int64 deleted = 0;
    for (uint64 i = 0; i < rows.count; ++i) {
        const std::string_view id = rows.text(i, 1);
        if (!pg::try_lock_key(pg::LockSpace::kSession, hub.schema, core::fnv1a64(id))) {
            continue;  // somebody is claiming it
        }
        deleted += static_cast<int64>(
            run(hub, kDeleteOrphaned, Params().int8(now).int4(hub.incarnation).text(id)).count);
    }
    return deleted;
}

}  // namespace belay::store
