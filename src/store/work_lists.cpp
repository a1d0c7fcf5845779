// What is rare or works on many rows of table worker_queue, by SQL: listings, the rows of an
// activity, a change of the slots.
//
// Touches  <hub>.worker_queue; reads <hub>.sessions
// Locks    all worker rows, for a change of the slots
#include <algorithm>

#include "store/listing.hpp"
#include "store/statements.hpp"
#include "store/work_of_id.hpp"
#include "store/work_rows.hpp"

namespace belay::store {

namespace {

constexpr auto kFindActivity =
    statement<In<Text, int64, int64>, Out<int32, int16, int64, int64>>(R"sql(
    SELECT w.lane, w.slot, w.due, w.id
      FROM {hub}.worker_queue AS w
     WHERE w.instance_id {=} $1 AND w.execution_id {=} $2 AND w.activity_id {=} $3
)sql");

// $1 now, $2 incarnation, $3 state, $4 instance, $5 session, $6 tag, $7 owner, $8 min attempts,
// $9 to $12 key to continue behind (null at first), $13 limit, $14 how many are looked at.
constexpr auto kList =
    query<In<int64, int32, Maybe<Text>, Maybe<Text>, Maybe<Text>, Maybe<Text>, Maybe<Text>,
             Maybe<int64>, int32, int16, int64, int64, int64, int64>,
          Listing>(R"sql(
    SELECT w.id, x.state, w.work_item, w.instance_id, w.execution_id, w.activity_id, w.session_id,
           w.tag, w.visible_at, x.locked_until, x.locked_by, w.attempt_count, w.created_at,
           pg_catalog.concat_ws('/', w.lane, w.slot, w.due, w.id)
      FROM (SELECT q.*
              FROM {hub}.worker_queue AS q
             WHERE ROW(q.lane, q.slot, q.due, q.id) {>} ROW($9, $10, $11, $12)
             ORDER BY q.lane, q.slot, q.due, q.id
             LIMIT $14) AS w
     CROSS JOIN LATERAL (
        SELECT CASE WHEN w.locked_until {>} $1 AND w.lease_inc {=} $2 THEN 'leased'
                    WHEN w.due {>} $1 THEN 'delayed'
                    ELSE 'ready' END AS state,
               CASE WHEN w.locked_until {>} $1 AND w.lease_inc {=} $2 THEN w.locked_until END
                   AS locked_until,
               CASE WHEN w.locked_until {>} $1 AND w.lease_inc {=} $2 THEN w.locked_by END
                   AS locked_by) AS x
     WHERE ($3 IS NULL OR x.state {=} $3)
       AND ($4 IS NULL OR w.instance_id {=} $4)
       AND ($5 IS NULL OR w.session_id {=} $5)
       AND ($6 IS NULL OR w.tag {=} $6)
       AND ($7 IS NULL OR x.locked_by {=} $7)
       AND ($8 IS NULL OR w.attempt_count {>=} $8)
     ORDER BY w.lane, w.slot, w.due, w.id
     LIMIT $13
)sql");

// $1 to $4 key, $5 how many.
constexpr auto kHasBehind = query<In<int32, int16, int64, int64, int64>, Out<int32>>(R"sql(
    SELECT 1
      FROM {hub}.worker_queue AS w
     WHERE ROW(w.lane, w.slot, w.due, w.id) {>} ROW($1, $2, $3, $4)
     ORDER BY w.lane, w.slot, w.due, w.id
    OFFSET $5
     LIMIT 1
)sql");

// $1 id, $2 now, $3 incarnation.
constexpr auto kView =
    query<In<int64, int64, int32>, Out<Ms, Maybe<int64>, Maybe<Text>, int32, Maybe<Text>,
                                       Maybe<Text>, Maybe<int64>, Maybe<Text>>>(BELAY_WORK_OF_ID
                                                                                R"sql(
    SELECT w.visible_at,
           CASE WHEN w.locked_until {>} $2 AND w.lease_inc {=} $3 THEN w.locked_until END,
           w.locked_by, w.attempt_count, w.tag, w.session_id,
           CASE WHEN s.locked_until {>} $2 AND s.lease_inc {=} $3 THEN s.locked_until END,
           s.worker_id)sql" BELAY_FROM_FOUND R"sql(
      LEFT JOIN {hub}.sessions AS s ON s.session_id {=} w.session_id
)sql");

constexpr auto kAllForSlots =
    statement<In<>, Out<int32, int16, int64, int64, Maybe<Text>, Maybe<Text>>>(R"sql(
    SELECT w.lane, w.slot, w.due, w.id, w.instance_id, w.session_id
      FROM {hub}.worker_queue AS w
     ORDER BY w.lane, w.slot, w.due, w.id
       FOR UPDATE
)sql");

constexpr auto kSetSlot = statement<In<int32, int16, int64, int64, int16>, Out<>>(R"sql(
    UPDATE {hub}.worker_queue AS w
       SET slot = $5
     WHERE w.lane {=} $1 AND w.slot {=} $2 AND w.due {=} $3 AND w.id {=} $4
)sql");

constexpr auto kCountLive = statement<In<int64, int32>, Out<int64>>(R"sql(
    SELECT pg_catalog.count(*)
      FROM {hub}.worker_queue AS w
     WHERE w.locked_until {>} $1 AND w.lease_inc {=} $2
)sql");

}  // namespace

std::span<const WorkKey> find_activity(const Hub& hub, std::string_view instance_id,
                                       int64 execution_id, int64 activity_id) {
    const auto keys =
        run(hub, kFindActivity, instance_id, execution_id, activity_id).collect<WorkKey>();
    std::sort(keys.begin(), keys.end());
    return keys;
}

Listing list_work(const Hub& hub, const WorkFilter& filter, std::optional<WorkKey> after, int limit,
                  int64 now, bool* whole) {
    constexpr int64 kMost = 10000;
    const WorkKey from = after.value_or(WorkKey{PG_INT32_MIN, PG_INT16_MIN, 0, 0});
    const auto rows = run(hub, kList, now, live_incarnation(hub), filter.state, filter.instance_id,
                          filter.session_id, filter.tag, filter.locked_by, filter.min_attempts,
                          from.lane, from.slot, from.due, from.id, limit, kMost);
    *whole = rows.count == static_cast<uint64>(limit) ||
             !run_any(hub, kHasBehind, from.lane, from.slot, from.due, from.id, kMost);
    return rows;
}

std::optional<WorkView> view_work(const Hub& hub, int64 id, int64 now) {
    return run(hub, kView, id, now, live_incarnation(hub))
        .first([](Ms visible_at, Maybe<int64> leased_until, Maybe<Text> owner, int32 attempts,
                  Maybe<Text> tag, Maybe<Text> session_id, Maybe<int64> session_until,
                  Maybe<Text> session_owner) {
            return WorkView{.visible_at = visible_at.value,
                            .leased_until = leased_until,
                            .owner = owner,
                            .attempts = attempts,
                            .tag = tag,
                            .session_id = session_id,
                            .session_until = session_until,
                            .session_owner = session_owner};
        });
}

void reslot_work(const Hub& hub, int32 slot_count) {
    const auto rows = run(hub, kAllForSlots);
    for (const auto [lane, old_slot, due, id, instance_id, session_id] : rows) {
        const int16 slot = work_slot(slot_count, instance_id, session_id, id);
        if (slot != old_slot) {
            run(hub, kSetSlot, lane, old_slot, due, id, slot);
        }
        CHECK_FOR_INTERRUPTS();
    }
    rows.release();
    cursors::moved(hub.relations.worker_queue);
}

int64 count_live_work(const Hub& hub, int64 now) {
    return run_for_one(hub, kCountLive, now, hub.incarnation);
}

}  // namespace belay::store
