#include "store/orchestrator_queue.hpp"

#include "core/hash.hpp"
#include "store/plan.hpp"

namespace belay::store {

namespace {

constexpr Statement kInsert =
    statement(R"sql(
    INSERT INTO {hub}.orchestrator_queue
           (instance_key, id, visible_at, created_at, locked_until, lock_no, attempt_count, slot, kind,
            parked, instance_id, work_item)
    VALUES ($1, $2, $3, $4, 0, 0, 0, $5, $6, false, $7, $8)
)sql",
              INT8OID, INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT2OID, CHAROID, TEXTOID, TEXTOID);

constexpr Statement kAll = statement(R"sql(
    SELECT m.instance_key, m.id, m.slot, m.instance_id
      FROM {hub}.orchestrator_queue AS m
     ORDER BY m.instance_key, m.id
       FOR UPDATE
)sql");

constexpr Statement kSetSlot = statement(R"sql(
    UPDATE {hub}.orchestrator_queue AS m
       SET slot = $3
     WHERE m.instance_key {=} $1 AND m.id {=} $2
)sql",
                                         INT8OID, INT8OID, INT2OID);

// What the fetch needs to know of a message without reading its JSON.
char kind_letter(core::ItemKind kind) {
    switch (kind) {
        case core::ItemKind::kStartOrchestration:
            return 's';
        case core::ItemKind::kContinueAsNew:
            return 'n';
        case core::ItemKind::kQueueMessage:
            return 'q';
        case core::ItemKind::kTimerFired:
            return 't';
        default:
            return 'o';
    }
}

}  // namespace

int64 insert_message(const Hub& hub, const NewMessage& message) {
    const int64 id = nextval_internal(hub.relations.orchestrator_queue_id, false);
    const auto slot_count = static_cast<int32>(hub.options[Option::kSlotCount]);
    run(hub, kInsert,
        Params()
            .int8(core::instance_key(message.instance_id))
            .int8(id)
            .timestamp(message.visible_at)
            .timestamp(message.created_at)
            .int2(static_cast<int16>(core::slot_of(message.instance_id, slot_count)))
            .datum(CharGetDatum(kind_letter(message.kind)))
            .text(message.instance_id)
            .text(message.work_item));
    return id;
}

void reslot_messages(const Hub& hub, int32 slot_count) {
    const Rows rows = run(hub, kAll);
    for (uint64 i = 0; i < rows.count; ++i) {
        const auto slot = static_cast<int16>(core::slot_of(rows.text(i, 4), slot_count));
        if (slot != rows.int2(i, 3)) {
            run(hub, kSetSlot, Params().int8(rows.int8(i, 1)).int8(rows.int8(i, 2)).int2(slot));
        }
        CHECK_FOR_INTERRUPTS();
    }
    rows.release();
}

}  // namespace belay::store
