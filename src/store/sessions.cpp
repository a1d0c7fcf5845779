#include "store/sessions.hpp"

#include "core/hash.hpp"
#include "pg/locks.hpp"
#include "store/plan.hpp"

namespace belay::store {

namespace {

constexpr Statement kRead = statement(R"sql(
    SELECT s.worker_id, s.locked_until
      FROM {hub}.sessions AS s
     WHERE s.session_id {=} $1
)sql",
                                      TEXTOID);

// $1 session, $2 owner, $3 now, $4 locked_until. Nothing is returned if another transaction holds
// the row, if there is none, or if another owner has it.
constexpr Statement kTakeOver = statement(R"sql(
    WITH c AS MATERIALIZED (
        SELECT s.session_id
          FROM {hub}.sessions AS s
         WHERE s.session_id {=} $1 AND (s.worker_id {=} $2 OR s.locked_until {<=} $3)
           FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE {hub}.sessions AS s
       SET worker_id = $2, locked_until = $4, last_activity_at = $3
      FROM c
     WHERE s.session_id {=} c.session_id
    RETURNING s.session_id
)sql",
                                          TEXTOID, TEXTOID, INT8OID, INT8OID);

constexpr Statement kInsert = statement(R"sql(
    INSERT INTO {hub}.sessions (session_id, worker_id, locked_until, last_activity_at)
    VALUES ($1, $2, $4, $3)
    ON CONFLICT (session_id) DO NOTHING
    RETURNING session_id
)sql",
                                        TEXTOID, TEXTOID, INT8OID, INT8OID);

constexpr Statement kTouch = statement(R"sql(
    UPDATE {hub}.sessions AS s
       SET last_activity_at = $3
     WHERE s.session_id {=} $1 AND s.worker_id {=} $2 AND s.locked_until {>} $3
)sql",
                                       TEXTOID, TEXTOID, INT8OID);

// $1 owners, $2 now, $3 active after. In the order of their ids.
constexpr Statement kTryHold = statement(R"sql(
    SELECT s.session_id
      FROM {hub}.sessions AS s
     WHERE s.worker_id {=} ANY ($1) AND s.locked_until {>} $2 AND s.last_activity_at {>} $3
     ORDER BY s.session_id
       FOR NO KEY UPDATE SKIP LOCKED
)sql",
                                         TEXTARRAYOID, INT8OID, INT8OID);

constexpr Statement kHold = statement(R"sql(
    SELECT s.session_id
      FROM {hub}.sessions AS s
     WHERE s.worker_id {=} ANY ($1) AND s.locked_until {>} $2 AND s.last_activity_at {>} $3
     ORDER BY s.session_id
       FOR NO KEY UPDATE
)sql",
                                      TEXTARRAYOID, INT8OID, INT8OID);

constexpr Statement kCount = statement(R"sql(
    SELECT pg_catalog.count(*)
      FROM {hub}.sessions AS s
     WHERE s.worker_id {=} ANY ($1) AND s.locked_until {>} $2 AND s.last_activity_at {>} $3
)sql",
                                       TEXTARRAYOID, INT8OID, INT8OID);

// $1 owners, $2 now, $3 active after, $4 locked_until. The rows are held.
constexpr Statement kRenew = statement(R"sql(
    UPDATE {hub}.sessions AS s
       SET locked_until = $4
     WHERE s.worker_id {=} ANY ($1) AND s.locked_until {>} $2 AND s.last_activity_at {>} $3
)sql",
                                       TEXTARRAYOID, INT8OID, INT8OID, INT8OID);

constexpr Statement kDeleteOrphaned = statement(R"sql(
    WITH c AS MATERIALIZED (
        SELECT s.session_id
          FROM {hub}.sessions AS s
         WHERE s.locked_until {<=} $1
           AND NOT EXISTS (SELECT 1
                             FROM {hub}.worker_queue AS w
                            WHERE w.session_id {=} s.session_id)
         ORDER BY s.session_id
           FOR UPDATE SKIP LOCKED
    )
    DELETE FROM {hub}.sessions AS s
     USING c
     WHERE s.session_id {=} c.session_id
    RETURNING s.session_id
)sql",
                                                INT8OID);

}  // namespace

std::optional<Session> read_session(const Hub& hub, std::string_view session_id) {
    const Rows rows = run(hub, kRead, Params().text(session_id));
    if (rows.count == 0) {
        return std::nullopt;
    }
    return Session{.worker_id = rows.text(0, 1), .locked_until = rows.int8(0, 2)};
}

bool try_claim_session(const Hub& hub, std::string_view session_id, std::string_view owner,
                       int64 now, int64 locked_until) {
    const auto params = [&] {
        return Params().text(session_id).text(owner).int8(now).int8(locked_until);
    };
    if (run(hub, kTakeOver, params()).count == 1) {
        return true;
    }
    // No row, or one that is not ours to take. Two claimants must not wait for each other's insert:
    // whoever inserts holds this lock until he commits, and looks again after taking it.
    if (!pg::try_lock_key(pg::LockSpace::kSession, hub.schema, core::fnv1a64(session_id)) ||
        read_session(hub, session_id)) {
        return false;
    }
    return run(hub, kInsert, params()).count == 1;
}

void touch_session(const Hub& hub, std::string_view session_id, std::string_view owner, int64 now) {
    run(hub, kTouch, Params().text(session_id).text(owner).int8(now));
}

bool hold_sessions(const Hub& hub, Datum owners, int64 now, int64 active_after) {
    const auto params = [&] { return Params().datum(owners).int8(now).int8(active_after); };
    const auto held = static_cast<int64>(run(hub, kTryHold, params()).count);
    if (held >= run(hub, kCount, params()).int8(0, 1)) {
        return false;
    }
    run(hub, kHold, params());
    return true;
}

int64 renew_sessions(const Hub& hub, Datum owners, int64 now, int64 active_after,
                     int64 locked_until) {
    const Rows rows =
        run(hub, kRenew, Params().datum(owners).int8(now).int8(active_after).int8(locked_until));
    return static_cast<int64>(rows.count);
}

int64 delete_orphaned_sessions(const Hub& hub, int64 now) {
    return static_cast<int64>(run(hub, kDeleteOrphaned, Params().int8(now)).count);
}

}  // namespace belay::store
