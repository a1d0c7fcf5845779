// explain_work_item.cpp — why a work item is not being fetched.
//
// Calls    store::view_work
// Touches  nothing
// Locks    nothing
// Raises   QB006, QB007 clock skew
#include "ops/management/management.hpp"
#include "pg/errors.hpp"
#include "pg/list.hpp"
#include "shmem/wakeups/wakeups.hpp"
#include "store/listing.hpp"
#include "store/waking.hpp"
#include "store/worker_queue.hpp"

namespace belay::ops {

namespace {

struct Explanation {
    pg::List<BlockingReason> reasons;

    void add(const char* reason, const char* detail = nullptr,
             std::optional<int64> until = std::nullopt) {
        reasons.add({reason, detail, until});
    }
};

// The item is ready and only waits for a worker: which workers could fetch it, and how many
// sessions wait.
void explain_lack_of_workers(store::Tables& tables, const store::WorkView& work, Explanation* out) {
    StringInfo detail = makeStringInfo();
    if (work.tag) {
        appendStringInfo(detail, "workers with the tag \"%s\"", pg::c_string(*work.tag));
    }
    if (const auto waiters = wakeups::count_waiters({store::worker_channel(tables)})) {
        appendStringInfo(detail, "%swaiting sessions: " INT64_FORMAT, detail->len > 0 ? "; " : "",
                         *waiters);
    }
    out->add(work.tag ? "tag_needed" : "fetchable", detail->len > 0 ? detail->data : nullptr);
}

}  // namespace

std::span<const BlockingReason> explain_work_item(store::Tables& tables, int64 id,
                                                  const pg::Clock& clock) {
    Explanation out;
    const int64 now = clock.now();
    const auto work = store::view_work(tables, id, now);
    if (!work) {
        out.add("not_found");
        return out.reasons.span();
    }
    const int64 max_attempts = tables.hub.options[store::Option::kMaxAttempts];
    if (tables.hub.is_paused(store::Queue::kWorker)) {
        out.add("paused", "the worker queue of the hub is paused");
    }
    if (work->leased_until) {
        out.add("leased", work->owner ? psprintf("by \"%s\"", pg::c_string(*work->owner)) : nullptr,
                work->leased_until);
    } else if (work->visible_at > now) {
        out.add("not_visible", nullptr, work->visible_at);
    }
    if (work->session_until && !work->leased_until) {
        out.add("session_held",
                psprintf("session \"%s\" is with owner \"%s\"", pg::c_string(*work->session_id),
                         pg::c_string(*work->session_owner)),
                work->session_until);
    }
    if (const auto holder = store::work_holder(tables, id, work->session_id)) {
        out.add("in_transaction",
                psprintf("%s holds the item or its session", store::words_of(*holder)));
    }
    if (!work->leased_until && max_attempts != store::kOff && work->attempts >= max_attempts) {
        out.add("dead_lettered", "the next fetch sets it aside, reason max_attempts");
    }
    if (out.reasons.count == 0) {
        explain_lack_of_workers(tables, *work, &out);
    }
    return out.reasons.span();
}

}  // namespace belay::ops
