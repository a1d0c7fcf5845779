// Arguments and rows that several entry functions of tasks share: what to claim, and what was
// claimed.
//
// Touches  the call's arguments and its answer
// Must not decide which tasks are claimed; ops/task does
#include "entry/task_arguments.hpp"

#include <algorithm>

#include "entry/task_call.hpp"
#include "ops/input.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

namespace {

constexpr std::size_t kMaxQueues = 1000;

Datum time_or_null(std::optional<int64> ms) {
    return Int64GetDatum(ms.value_or(0));
}

}  // namespace

std::span<const std::string_view> words(const Call& call, int i, const char* path) {
    const auto given = call.texts(i, path);
    auto* all =
        static_cast<std::string_view*>(palloc(sizeof(std::string_view) * (given.size() + 1)));
    for (std::size_t at = 0; at < given.size(); ++at) {
        if (given[at] == 0) {
            refuse_null(psprintf("%s[%zu]", path, at));
        }
        all[at] = pg::text_view(given[at]);
    }
    return {all, given.size()};
}

ops::ClaimRequest claim_request(const Call& call, int first, bool may_be_none) {
    ops::ClaimRequest request{};
    request.worker = ops::checked_word("p_worker", call.required_text(first, "p_worker"));
    request.worker_instance =
        ops::checked_word("p_worker_instance", call.required_text(first + 1, "p_worker_instance"));
    if (call.has(first + 2)) {
        const auto given = words(call, first + 2, "p_queues");
        auto* queues =
            static_cast<std::string_view*>(palloc(sizeof(std::string_view) * (given.size() + 1)));
        for (std::size_t i = 0; i < given.size(); ++i) {
            queues[i] = ops::checked_queue(psprintf("p_queues[%zu]", i), given[i]);
        }
        std::sort(queues, queues + given.size());
        const auto count =
            static_cast<std::size_t>(std::unique(queues, queues + given.size()) - queues);
        if (count > kMaxQueues) {
            pg::raise(pg::kInvalidArgument, "p_queues has more than 1000 queues",
                      pg::Facts("too_many")
                          .add("path", "p_queues")
                          .add("elements", static_cast<int64>(count)),
                      "Pass NULL for every queue.");
        }
        request.queues = std::span<const std::string_view>(queues, count);
    }
    request.capabilities =
        ops::checked_capabilities("p_capabilities", words(call, first + 3, "p_capabilities"));
    request.lease_ms = ops::checked_lease_ms(call.int8(first + 4));
    const auto max = call.int4(first + 5);
    request.max = may_be_none && max.value_or(0) == 0
                      ? 0
                      : ops::checked_limit("p_max_items", max, 1, kMaxClaim);
    request.slots = call.slots(first + 6);
    return request;
}

ClaimedColumns claimed_columns(const Call& call, const ops::Claimed& claimed, std::size_t i) {
    const store::ClaimedTask& task = claimed.tasks[i];
    const core::TaskLife& life = task.life;
    const char* lease = store::secret_lease_id(call.tables, {.task = task.id,
                                                             .attempt_index = life.attempt_index,
                                                             .epoch = life.lease_epoch,
                                                             .nonce = task.nonce});
    ClaimedColumns columns{{UUIDPGetDatum(&task.id),
                            task.queue,
                            task.kind,
                            task.payload,
                            task.tags,
                            Int32GetDatum(life.priority),
                            Int32GetDatum(life.attempt_index),
                            pg::text_datum(core::name_of(life.pending)),
                            Int32GetDatum(life.retry_count),
                            Int32GetDatum(life.reclaim_count),
                            Int32GetDatum(life.replay_count),
                            Int64GetDatum(life.lease_epoch),
                            pg::text_datum(lease),
                            time_or_null(life.lease_until),
                            time_or_null(life.attempt_deadline),
                            time_or_null(life.deadline),
                            task.checkpoint,
                            task.last_error,
                            task.flow_id ? UUIDPGetDatum(&*task.flow_id) : 0,
                            task.flow_key,
                            claimed.upstream[i],
                            claimed.signals[i]},
                           {}};
    columns.nulls[3] = task.payload == 0;
    columns.nulls[14] = !life.attempt_deadline;
    columns.nulls[15] = !life.deadline;
    for (const int column : {16, 17, 18, 19, 20, 21}) {
        columns.nulls[column] = columns.values[column] == 0;
    }
    return columns;
}

void add_claimed(const Call& call, const Call::Set& set, const ops::Claimed& claimed) {
    for (std::size_t i = 0; i < claimed.tasks.size(); ++i) {
        const ClaimedColumns columns = claimed_columns(call, claimed, i);
        set.add(columns.values, columns.nulls);
    }
}

}  // namespace belay::entry
