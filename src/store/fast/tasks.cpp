#include "store/fast/tasks.hpp"

#include "pg/datum.hpp"
#include "store/fast/columns.hpp"
#include "store/fast/lend.hpp"

namespace belay::store::direct {

namespace {

constexpr pg::FaultPoint kPoint = pg::FaultPoint::kFastpathTask;

// Changes a task that this transaction holds. change(table, changes) may refuse: then SQL serves.
template <typename Change>
bool change_task(const Hub& hub, const pg_uuid_t& id, bool moved, Change change) {
    return writing(hub, kPoint, DirectId::kTasks,
                   [&](DirectTable& table) {
                       ScanKeys keys;
                       Changes changes;
                       if (!find_one(&table, 0, keys.uuid(id)) || !change(table, &changes)) {
                           return false;
                       }
                       change_held_row(&table, changed_row(table, &changes), moved);
                       return true;
                   })
        .value_or(false);
}

bool is_null(const DirectTable& table, AttrNumber number) {
    bool null = false;
    (void)column(table, number, &null);
    return null;
}

void set_text(Changes* changes, AttrNumber number, std::optional<std::string_view> text) {
    changes->set(number, text ? pg::text_datum(*text) : 0, !text);
}

void set_jsonb(Changes* changes, AttrNumber number, Jsonb* value) {
    changes->set(number, value != nullptr ? JsonbPGetDatum(value) : 0, value == nullptr);
}

}  // namespace

bool try_insert_task(const Hub& hub, const NewTask& task, int16 slot, core::TaskState state) {
    return writing(hub, kPoint, DirectId::kTasks,
                   [&](DirectTable& table) {
                       NewRow row;
                       row.set(task::kId, UUIDPGetDatum(&task.id))
                           .int8(task::kLeaseEpoch, 0)
                           .int8(task::kAvailableAt, task.available_at)
                           .int8(task::kStartDelay, 0)
                           .int8(task::kDeadline, task.deadline)
                           .int8(task::kCreatedAt, task.now)
                           .int8(task::kUpdatedAt, task.now)
                           .int4(task::kCapSet, task.cap_set)
                           .int4(task::kPriority, task.priority)
                           .int4(task::kAttemptIndex, 0)
                           .int4(task::kAttemptLeases, 0)
                           .int4(task::kRetryCount, 0)
                           .int4(task::kReclaimCount, 0)
                           .int4(task::kReplayCount, 0)
                           .int2(task::kSlot, slot)
                           .set(task::kHeld, BoolGetDatum(false))
                           .text(task::kState, core::name_of(state))
                           .text(task::kPending, std::string_view("initial"))
                           .text(task::kLane, task.lane)
                           .text(task::kKind, task.kind)
                           .text(task::kDedupKey, task.dedup_key)
                           .jsonb(task::kPayload, task.payload)
                           .jsonb(task::kTags, task.tags)
                           .jsonb(task::kPolicy, task.policy);
                       (void)insert_row(&table, &row);
                       return true;
                   })
        .value_or(false);
}

bool try_set_lease_until(const Hub& hub, const pg_uuid_t& id, int64 lease_until) {
    return change_task(hub, id, false, [lease_until](const DirectTable& table, Changes* changes) {
        changes->set(task::kLeaseUntil, Int64GetDatum(lease_until));
        return !is_null(table, task::kLeaseUntil);
    });
}

bool try_finish(const Hub& hub, const Task& task, const Finish& how) {
    return change_task(hub, task.id, true, [&how](const DirectTable& table, Changes* changes) {
        if (!is_null(table, task::kTerminalAt) || !is_null(table, task::kFlowId)) {
            return false;
        }
        changes->set(task::kState, pg::text_datum(core::name_of(how.state)))
            .clear(task::kAvailableAt)
            .set(task::kUpdatedAt, Int64GetDatum(how.now))
            .set(task::kTerminalAt, Int64GetDatum(how.now))
            .clear(task::kLeaseOwner)
            .clear(task::kLeaseWorker)
            .clear(task::kLeaseUntil)
            .clear(task::kLeaseCheck)
            .clear(task::kAttemptStarted)
            .clear(task::kAttemptDeadline)
            .clear(task::kAttemptKind)
            .clear(task::kAttemptWorker)
            .clear(task::kAttemptInstance)
            .set(task::kAttemptLeases, Int32GetDatum(0));
        set_jsonb(changes, task::kResult, how.result);
        if (text_is(table, task::kState, core::name_of(core::TaskState::kActive))) {
            changes->set(task::kLeaseEpoch,
                         Int64GetDatum(int8_column(table, task::kLeaseEpoch) + 1));
        }
        if (how.failure) {
            set_text(changes, task::kFailureClass, core::name_of(how.failure->failure_class));
            set_text(changes, task::kFailureMessage, how.failure->message);
            set_jsonb(changes, task::kFailureDetails, how.failure->details);
        }
        if (is_null(table, task::kCancelReason)) {
            set_text(changes, task::kCancelReason, how.cancel_reason);
        }
        if (is_null(table, task::kCancelledBy)) {
            set_text(changes, task::kCancelledBy, how.cancelled_by);
        }
        return true;
    });
}

bool try_end_attempt(const Hub& hub, const Task& task, core::AttemptOutcome outcome, int64 now) {
    if (!task.attempt_kind || !task.attempt_worker || !task.attempt_instance) {
        return false;
    }
    return writing(hub, kPoint, DirectId::kAttempts,
                   [&](DirectTable& table) {
                       NewRow row;
                       row.set(attempt::kTaskId, UUIDPGetDatum(&task.id))
                           .int4(attempt::kIndex, task.attempt_index)
                           .int4(attempt::kLeaseCount, task.attempt_leases)
                           .int8(attempt::kEpoch, task.last_lease_epoch())
                           .int8(attempt::kStarted, *task.attempt_started)
                           .int8(attempt::kEnded, now)
                           .text(attempt::kKind, task.attempt_kind)
                           .text(attempt::kOutcome, core::name_of(outcome))
                           .text(attempt::kWorker, task.attempt_worker)
                           .text(attempt::kWorkerInstance, task.attempt_instance);
                       (void)insert_row(&table, &row);
                       return true;
                   })
        .value_or(false);
}

}  // namespace belay::store::direct
