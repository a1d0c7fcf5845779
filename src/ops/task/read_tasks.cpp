// read_tasks.cpp — what can be known of tasks, and why one is not claimed.
//
// Calls    store::read_task_json, store::list_tasks, store::view_task
// Touches  nothing
// Locks    nothing
// Raises   QB006
#include <algorithm>

#include "ops/task/task.hpp"
#include "ops/wait/wait_for_work.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "shmem/wakeups/wakeups.hpp"
#include "store/flow_reads.hpp"
#include "store/limits.hpp"
#include "store/open_transaction.hpp"
#include "store/suspensions.hpp"
#include "store/task_reads.hpp"
#include "store/waking.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

constexpr const char* kFilterKeys[] = {
    "queue",  "state",           "flow_id",         "kind",          "tags",
    "worker", "worker_instance", "created_from_ms", "created_to_ms", "pending_attempt",
};

[[noreturn]] void refuse_filter(const char* member, const char* hint) {
    const char* path = psprintf("p_filter.%s", member);
    pg::raise_invalid("bad_value", path, psprintf("%s has a value that is not allowed", path),
                      hint);
}

struct Reasons {
    pg::List<Reason> all;

    void add(const char* reason, const char* detail = nullptr) { all.add({reason, detail}); }
};

void explain_state(store::Tables& tables, const pg_uuid_t& id, const store::TaskView& task,
                   int64 now, Reasons* out) {
    const auto state = *core::parse_task_state(task.state);
    if (core::is_terminal(state)) {
        out->add("terminal", psprintf("{\"state\":\"%s\",\"since_ms\":" INT64_FORMAT "}",
                                      core::name_of(state).data(), task.terminal_at.value_or(0)));
        return;
    }
    if (state == core::TaskState::kActive) {
        const bool live =
            task.lease_until.value_or(0) > now && task.lease_epoch >= tables.hub.epoch_floor;
        StringInfo detail = makeStringInfo();
        appendStringInfoString(detail, "{\"worker\":");
        append_json(detail, task.worker.value_or(""));
        appendStringInfoString(detail, ",\"worker_instance\":");
        append_json(detail, task.worker_instance.value_or(""));
        appendStringInfo(detail, ",\"until_ms\":" INT64_FORMAT "}", task.lease_until.value_or(0));
        out->add(live ? "leased" : "lease_over_unsettled", detail->data);
    }
    if (state == core::TaskState::kDelayed && task.available_at.value_or(0) > now) {
        out->add("not_due",
                 psprintf("{\"until_ms\":" INT64_FORMAT "}", task.available_at.value_or(0)));
    }
    if (state == core::TaskState::kBlocked && task.in_flow) {
        const auto [waiting, ended] = store::hindrances(tables, id);
        if (waiting != nullptr) {
            out->add("blocked_by_upstream", psprintf("{\"upstream\":%s}", waiting));
        }
        if (ended != nullptr) {
            out->add("upstream_needs_replay", psprintf("{\"upstream\":%s}", ended));
        }
        // Without an edge to wait for it waits for more of them, or their end.
        if (task.held || (waiting == nullptr && ended == nullptr)) {
            out->add("held_until_seal");
        }
    }
    if (state == core::TaskState::kSuspended) {
        Jsonb* suspension = store::suspension_json(tables, task.id);
        out->add("suspended",
                 suspension == nullptr
                     ? nullptr
                     : JsonbToCString(makeStringInfo(), &suspension->root, VARSIZE(suspension)));
    }
    if (task.deadline && *task.deadline <= now) {
        out->add("deadline_passed", psprintf("{\"deadline_ms\":" INT64_FORMAT "}", *task.deadline));
    }
}

void explain_limits(store::Tables& tables, std::string_view queue, int64 now, Reasons* out) {
    const auto held =
        store::is_limited(tables, queue) ? store::read_held_limit(tables, queue) : std::nullopt;
    if (!held) {
        return;
    }
    const core::QueueLimit& limit = held->limit;
    // What an open claim has taken counts, what an open end releases does not.
    if (core::free_places(limit, now) == 0 && TransactionIdIsValid(held->holder)) {
        if (const auto holder = store::transaction_holder(tables, held->holder)) {
            out->add("queue_limits_locked", store::json_of(*holder));
        }
    }
    if (core::is_crowded(limit)) {
        out->add("queue_concurrency",
                 psprintf("{\"concurrency\":" INT64_FORMAT ",\"active\":" INT64_FORMAT "}",
                          *limit.concurrency, limit.active));
    }
    if (const int64 at = core::next_token_at(limit, now); at > now) {
        out->add("queue_rate", psprintf("{\"rate_per_s\":%g,\"until_ms\":" INT64_FORMAT "}",
                                        *limit.rate_per_s, at));
    }
}

// The task is ready and only waits for a worker: which workers could claim it, and how many
// sessions wait.
void explain_lack_of_workers(store::Tables& tables, const store::TaskView& task, bool has_caller,
                             Reasons* out) {
    StringInfo detail = makeStringInfo();
    const bool needs = !has_caller && task.missing != nullptr;
    if (needs) {
        appendStringInfo(detail, "\"capabilities\":%s", task.missing);
    }
    if (const auto waiters = wakeups::count_waiters(
            {store::queue_channel(tables, task.queue), store::all_queues_channel(tables)})) {
        appendStringInfo(detail, "%s\"waiting_sessions\":" INT64_FORMAT, needs ? "," : "",
                         *waiters);
    }
    out->add(needs ? "capabilities_needed" : "claimable",
             detail->len == 0 ? nullptr : psprintf("{%s}", detail->data));
}

// The task with what it is suspended for.
Jsonb* with_suspension(store::Tables& tables, const pg_uuid_t& id, Jsonb* task) {
    Jsonb* suspension = store::suspension_json(tables, id);
    const Datum member = DirectFunctionCall2(
        jsonb_concat, JsonbPGetDatum(task),
        pg::jsonb_datum(suspension == nullptr
                            ? "{\"suspension\":null}"
                            : psprintf("{\"suspension\":%s}",
                                       JsonbToCString(makeStringInfo(), &suspension->root,
                                                      VARSIZE(suspension)))));
    return DatumGetJsonbP(member);
}

// The group and edges of a member.
Jsonb* with_group(store::Tables& tables, const pg_uuid_t& id, Jsonb* task) {
    Jsonb* member = store::read_member_json(tables, id);
    if (member == nullptr) {
        return task;
    }
    return DatumGetJsonbP(
        DirectFunctionCall2(jsonb_concat, JsonbPGetDatum(task), JsonbPGetDatum(member)));
}

}  // namespace

std::optional<std::span<const std::string_view>> checked_states(json::Value filter) {
    const auto states = optional_words(filter, "state", "p_filter");
    for (const auto state : states.value_or(std::span<const std::string_view>())) {
        if (!core::parse_task_state(state)) {
            refuse_filter("state",
                          "States are blocked, delayed, ready, active, suspended, "
                          "completed, failed, cancelled, expired and skipped.");
        }
    }
    return states;
}

std::optional<std::string_view> checked_pending(json::Value filter) {
    const auto pending = optional_string(filter, "pending_attempt", "p_filter");
    if (pending && !core::parse_pending(*pending)) {
        refuse_filter("pending_attempt",
                      "Values are initial, retry, replay, reclaim, snooze and resume.");
    }
    return pending;
}

Jsonb* get_task(store::Tables& tables, const pg_uuid_t& id) {
    Jsonb* task = store::read_task_json(tables, id);
    if (task != nullptr) {
        task = with_suspension(tables, id, task);
        task = with_group(tables, id, task);
    }
    remember_task(tables, store::uuid_text(id));
    return task;
}

store::Listing list_tasks(store::Tables& tables, json::Value filter, std::optional<pg_uuid_t> after,
                          int limit) {
    check_members(filter, "p_filter", kFilterKeys);
    const auto list = store::list_tasks(
        tables,
        {.queue = optional_string(filter, "queue", "p_filter"),
         .states = checked_states(filter),
         .flow_id = optional_uuid(filter, "flow_id", "p_filter"),
         .kind = optional_string(filter, "kind", "p_filter"),
         .tags = object_member(filter, "tags", "p_filter"),
         .worker = optional_string(filter, "worker", "p_filter"),
         .worker_instance = optional_string(filter, "worker_instance", "p_filter"),
         .created_from = optional_int(filter, "created_from_ms", "p_filter"),
         .created_to = optional_int(filter, "created_to_ms", "p_filter"),
         .pending = checked_pending(filter)},
        after, limit);
    if (!list.whole) {
        raise_long_search("list_tasks", "browse_tasks");
    }
    return list.rows;
}

store::Listing list_expired_leases(store::Tables& tables, std::optional<int64> as_of,
                                   std::optional<std::string_view> queue,
                                   std::optional<int64> after_ms, std::optional<pg_uuid_t> after_id,
                                   int limit) {
    return store::list_expired_leases(tables, as_of.value_or(pg::server_now_ms()), queue, after_ms,
                                      after_id, limit);
}

std::span<const Reason> explain_claim(store::Tables& tables, const pg_uuid_t& id,
                                      std::optional<std::span<const std::string_view>> capabilities,
                                      const SlotFilter& slots, int64 now) {
    constexpr int64 kMostBefore = 1000;
    Reasons out;
    // Without the caller's, all that the task needs are missing.
    const auto task =
        store::view_task(tables, id, capabilities.value_or(std::span<const std::string_view>()));
    if (!task) {
        out.add("not_found");
        return out.all.span();
    }
    explain_state(tables, id, *task, now, &out);
    if (task->terminal_at) {
        return out.all.span();
    }
    if (tables.hub.is_paused(store::Queue::kTasks)) {
        out.add("hub_paused");
    }
    if (task->queue_paused) {
        out.add("queue_paused");
    }
    explain_limits(tables, task->queue, now, &out);
    if (capabilities && task->missing != nullptr) {
        out.add("capabilities_missing", psprintf("{\"missing\":%s}", task->missing));
    }
    const auto served = slots_of(tables, slots);
    if (std::find(served.begin(), served.end(), task->slot) == served.end()) {
        out.add("slot_not_given", psprintf("{\"slot\":%d}", task->slot));
    }
    const bool waits = task->state == "ready" || task->state == "delayed";
    if (const auto holder = waits ? store::task_holder(tables, id) : std::nullopt) {
        out.add("row_locked", store::json_of(*holder));
    }
    if (out.all.count > 0 || !waits) {
        return out.all.span();
    }
    if (const int64 before = store::count_before(tables, id, *task, now, kMostBefore); before > 0) {
        out.add("behind", psprintf("{\"tasks\":" INT64_FORMAT "}", before));
    }
    explain_lack_of_workers(tables, *task, capabilities.has_value(), &out);
    return out.all.span();
}

std::span<const store::TaskProblem> check_tasks(store::Tables& tables,
                                                std::optional<pg_uuid_t> flow) {
    return store::check_tasks(tables, {.flow = flow, .newest = std::nullopt});
}

}  // namespace belay::ops
