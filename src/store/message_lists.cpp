// Messages in sets, by SQL: those of instances that never started, dead letters, a new slot_count.
//
// May touch: orchestrator_queue, dead_letters; instances, to read. Must not: decide about a single
// message of a turn; orchestrator_queue.cpp does.
#include "core/hash.hpp"
#include "shmem/gaps.hpp"
#include "store/orchestrator_queue.hpp"
#include "store/outbox.hpp"
#include "store/statements.hpp"

namespace belay::store {

namespace {

constexpr auto kAll = statement<In<>, Out<int64, int64, int16, Text>>(R"sql(
    SELECT m.instance_key, m.id, m.slot, m.instance_id
      FROM {hub}.orchestrator_queue AS m
     ORDER BY m.instance_key, m.id
       FOR UPDATE
)sql");

constexpr auto kSetSlot = statement<In<int64, int64, int16>, Out<>>(R"sql(
    UPDATE {hub}.orchestrator_queue AS m
       SET slot = $3
     WHERE m.instance_key {=} $1 AND m.id {=} $2
)sql");

// The instances of parked messages, oldest first, without those that wait for a start that is
// there.
constexpr auto kOrphaned = statement<In<Ms, int64>, Out<Text>>(R"sql(
    SELECT m.instance_id
      FROM {hub}.orchestrator_queue AS m
     WHERE m.parked AND m.created_at {<} $1
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.orchestrator_queue AS s
                        WHERE s.instance_key {=} m.instance_key
                          AND s.instance_id {=} m.instance_id
                          AND (s.kind {=} 's' OR s.kind {=} 'n'))
     ORDER BY m.created_at
     LIMIT $2
)sql");

// Instances without a row among the oldest messages that were not set aside yet: $1 slots,
// $2 created before, $3 how many messages to look at.
constexpr auto kUnmetOrphans = statement<In<ListOf<int16>, Ms, int64>, Out<Text>>(R"sql(
    SELECT DISTINCT w.instance_id
      FROM pg_catalog.unnest($1) AS s(slot)
     CROSS JOIN LATERAL (
        SELECT m.instance_id, m.created_at
          FROM {hub}.orchestrator_queue AS m
         WHERE m.slot {=} s.slot AND NOT m.parked AND m.visible_at {<} $2
         ORDER BY m.visible_at, m.id
         LIMIT $3) AS w
     WHERE w.created_at {<} $2
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.instances AS i
                        WHERE i.instance_id {=} w.instance_id)
)sql");

// $1 instance key, $2 instance id, $3 created before, $4 sequence of dead letters, $5 now.
constexpr auto kDeadLetterOrphans =
    statement<In<int64, Text, Ms, ObjectId, Ms>, Out<int64, int32>>(R"sql(
    WITH c AS MATERIALIZED (
        SELECT m.instance_key, m.id
          FROM {hub}.orchestrator_queue AS m
         WHERE m.instance_key {=} $1 AND m.instance_id {=} $2 AND m.created_at {<} $3
           FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM {hub}.orchestrator_queue AS m
         USING c
         WHERE m.instance_key {=} c.instance_key AND m.id {=} c.id
        RETURNING m.id, m.instance_id, m.work_item, m.attempt_count, m.created_at
    )
    INSERT INTO {hub}.dead_letters
           (id, queue, source_id, instance_id, execution_id, activity_id, session_id, tag, work_item,
            attempt_count, reason, detail, enqueued_at, dead_at)
    SELECT pg_catalog.nextval($4), 'orchestrator', g.id, g.instance_id, NULL, NULL, NULL, NULL,
           g.work_item, g.attempt_count, 'orphan', NULL, g.created_at, $5
      FROM (SELECT d.id, d.instance_id, d.work_item, d.attempt_count, d.created_at
              FROM gone AS d
             ORDER BY d.id) AS g
    RETURNING id, attempt_count
)sql");

}  // namespace

std::span<const std::string_view> orphaned_instances(const Hub& hub, int64 created_before,
                                                     int64 limit) {
    return run(hub, kOrphaned, Ms{created_before}, limit).values();
}

std::span<const std::string_view> unmet_orphans(const Hub& hub, std::span<const int16> slots,
                                                int64 created_before, int64 messages) {
    return run(hub, kUnmetOrphans, slots, Ms{created_before}, messages).values();
}

int64 dead_letter_orphans(const Hub& hub, std::string_view instance_id, int64 created_before,
                          int64 now) {
    const auto moved = run(hub, kDeadLetterOrphans, core::instance_key(instance_id), instance_id,
                           Ms{created_before}, ObjectId{hub.relations.dead_letters_id}, Ms{now});
    for (const auto [dead_id, attempt] : moved) {
        emit_dead_letter(hub, dead_id, "orchestrator", "orphan", instance_id, attempt, now);
    }
    return moved.changed();
}

void reslot_messages(const Hub& hub, int32 slot_count) {
    const auto messages = run(hub, kAll);
    for (const auto [instance_key, id, old_slot, instance_id] : messages) {
        const auto slot = static_cast<int16>(core::slot_of(instance_id, slot_count));
        if (slot != old_slot) {
            run(hub, kSetSlot, instance_key, id, slot);
        }
        CHECK_FOR_INTERRUPTS();
    }
    messages.release();
    gaps::rearranged(hub.relations.orchestrator_queue);
}

}  // namespace belay::store
