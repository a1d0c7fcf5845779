// explain_fetch.cpp — why an instance is not being fetched.
//
// Calls    store::count_messages, store::live_until, store::instance_holder
// Touches  nothing
// Locks    nothing: the instance's key is tried and released
// Raises   nothing itself
#include "core/hash.hpp"
#include "core/time.hpp"
#include "ops/management/management.hpp"
#include "pg/list.hpp"
#include "store/history.hpp"
#include "store/instances.hpp"

namespace belay::ops {

namespace {

struct Explanation {
    store::Tables& tables;
    const ExplainRequest& request;
    int64 now;
    bool locked;  // its messages are being worked on: nothing is to be said of their attempts
    pg::List<BlockingReason> reasons;

    void add(const char* reason, const char* detail = nullptr,
             std::optional<int64> until = std::nullopt) {
        reasons.add({reason, detail, until});
    }
};

// Takes the locks of a reader without waiting: the diagnosis of a blocked queue must not block.
bool try_to_read(const store::Hub& hub) {
    const auto& tables = hub.relations;
    for (const Oid table :
         {tables.worker_queue, tables.orchestrator_queue, tables.instance_locks, tables.instances,
          tables.executions, tables.history_turns, tables.dead_letters}) {
        if (!ConditionalLockRelationOid(table, AccessShareLock)) {
            return false;
        }
    }
    return true;
}

void explain_lock(Explanation* out) {
    if (out->tables.hub.is_paused(store::Queue::kOrchestrator)) {
        out->add("paused", "the orchestrator queue of the hub is paused");
    }
    if (const auto until = store::live_until(out->tables, out->request.instance_id, out->now)) {
        out->locked = true;
        out->add("locked", "a turn of the instance is in progress", until);
    }
    if (const auto holder = store::instance_holder(out->tables, out->request.instance_id)) {
        out->add("in_transaction",
                 psprintf("%s holds the instance or its messages", store::words_of(*holder)));
    }
}

void explain_filter(Explanation* out, const std::optional<store::Instance>& instance) {
    if (is_empty(out->request.versions)) {
        out->add("version_filter", "the range of versions is empty");
    } else if (instance && !passes(out->request.versions, instance->pin)) {
        out->add("version_filter", psprintf("pinned to %d.%d.%d", instance->pin->major,
                                            instance->pin->minor, instance->pin->patch));
    }
}

const char* waiting_for(const Explanation& out) {
    const auto activities = store::count_activities(out.tables, out.request.instance_id, out.now);
    const int64 children = store::count_unfinished_children(out.tables, out.request.instance_id);
    return psprintf("activities: " INT64_FORMAT " ready, " INT64_FORMAT " leased, " INT64_FORMAT
                    " delayed; unfinished children: " INT64_FORMAT,
                    activities.ready, activities.leased, activities.delayed, children);
}

void explain_messages(Explanation* out, const std::optional<store::Instance>& instance) {
    const int64 max_attempts = out->tables.hub.options[store::Option::kMaxAttempts];
    const auto messages =
        store::count_messages(out->tables, out->request.instance_id, out->now,
                              max_attempts == store::kOff ? PG_INT64_MAX : max_attempts);
    if (messages.visible + messages.hidden == 0) {
        out->add("no_messages", waiting_for(*out));
        return;
    }
    if (messages.visible == 0) {
        out->add("not_visible", psprintf("hidden messages: " INT64_FORMAT, messages.hidden),
                 messages.next_visible);
        return;
    }
    const bool started =
        instance || store::latest_execution_with_history(out->tables, out->request.instance_id);
    if (!started && !messages.start_visible) {
        if (messages.next_start) {
            out->add("start_hidden", "its messages wait for the start", messages.next_start);
        } else if (messages.visible_queue_messages == messages.visible) {
            out->add("never_started", "queue messages only: the next fetch drops them");
        } else {
            out->add("never_started", psprintf("waiting messages: " INT64_FORMAT, messages.visible),
                     core::add_ms(messages.oldest_created.value_or(out->now),
                                  out->tables.hub.options[store::Option::kOrphanRetention]));
        }
    } else if (messages.exhausted == messages.visible && !out->locked) {
        out->add(
            "dead_lettered",
            psprintf("messages that the next fetch sets aside, reason max_attempts: " INT64_FORMAT,
                     messages.exhausted));
    }
}

// Dead letters block nothing. They are listed only beside another reason, because they can explain
// where messages are.
void explain_dead_letters(Explanation* out) {
    if (out->reasons.count == 0) {
        return;
    }
    const auto dead = store::count_dead_letters(out->tables, out->request.instance_id);
    if (dead.count == 0) {
        return;
    }
    StringInfo detail = makeStringInfo();
    for (const auto& [reason, count] : dead) {
        appendStringInfo(detail, "%s%.*s: " INT64_FORMAT, detail->len == 0 ? "" : ", ",
                         static_cast<int>(reason.size()), reason.data(), count);
    }
    out->add("dead_lettered", detail->data);
}

}  // namespace

std::span<const BlockingReason> explain_fetch(store::Tables& tables, const ExplainRequest& request,
                                              const pg::Clock& clock) {
    Explanation out{
        .tables = tables, .request = request, .now = clock.now(), .locked = false, .reasons = {}};
    if (!try_to_read(tables)) {
        out.add("in_transaction", "another open transaction is changing the hub's tables");
        return out.reasons.span();
    }
    const auto instance = store::read_instance(tables, request.instance_id);
    explain_lock(&out);
    explain_filter(&out, instance);
    explain_messages(&out, instance);
    explain_dead_letters(&out);
    return out.reasons.span();
}

}  // namespace belay::ops
