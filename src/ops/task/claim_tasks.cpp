// claim_tasks.cpp — lease the next tasks that the worker may run.
//
// Calls    settle_leases, search_tasks, store::ready_queues, store::fitting_streams,
//          store::peek_heads, upstream_of, signals_of
// Touches  <hub>.tasks, <hub>.queue_limits, <hub>.queue_moves
// Locks    as search_tasks: a claim waits for no transaction
// Raises   QB006, QB007
//
// A claim first settles expired leases, up to kMostSettled, and then searches (claim_search.cpp).
// It looks again if something may have become ready meanwhile. An empty answer means that nothing
// could be claimed in any queue. If there are very many queues, it means so only of those that were
// looked at: the session's next claims look at the others, and until they have, a wait for all
// queues returns at once.
#include <algorithm>

#include "core/events.hpp"
#include "core/hash.hpp"
#include "core/time.hpp"
#include "ops/task/claim_search.hpp"
#include "ops/task/claimed_json.hpp"
#include "shmem/counters.hpp"
#include "store/limits.hpp"
#include "store/outbox.hpp"
#include "store/readiness.hpp"
#include "store/waking.hpp"

namespace belay::ops {

namespace {

constexpr int kMostSettled = 32;
constexpr int kMostCounted = 32;  // queues, for a prefetch that names none

constexpr int kAcquired = core::event_place("lease", "acquired");
constexpr int kReclaimed = core::event_place("lease", "reclaimed");

// The sweep of this session: where its claim of all queues continues. A claim of another hub, or
// with other capabilities or slots, begins a new one.
struct OwnSweep {
    Oid hub;
    uint64 worker;   // hash of its capabilities and slots
    uint64 version;  // of all queues, before it began
    bool told;       // a wait has returned for it
    Sweep sweep;
};
constinit OwnSweep own_sweep{};

uint64 hash_of(const ClaimRequest& request) {
    uint64 hash = core::fnv1a64("");
    const auto add = [&hash](std::string_view bytes) { hash = hash * 31 + core::fnv1a64(bytes); };
    for (const auto capability : request.capabilities) {
        add(capability);
    }
    if (!request.slots.all) {
        add({reinterpret_cast<const char*>(request.slots.wanted.data()),
             request.slots.wanted.size_bytes()});
    }
    return hash;
}

// The session's sweep, if the request continues with it; otherwise a new one.
OwnSweep* sweep_of(store::Tables& tables, const ClaimRequest& request, uint64 version) {
    const uint64 worker = hash_of(request);
    if (!own_sweep.sweep.on || own_sweep.hub != tables.hub.schema || own_sweep.worker != worker) {
        own_sweep = {tables.hub.schema, worker, version, false, {}};
    }
    own_sweep.told = false;
    return &own_sweep;
}

void tell(store::Tables& tables, const ClaimRequest& request,
          std::span<const store::ClaimedTask> claimed, int64 now) {
    if (!store::wants_event(tables, kAcquired) && !store::wants_event(tables, kReclaimed)) {
        return;
    }
    for (const auto& given : claimed) {
        store::Task task{};
        task.id = given.id;
        task.queue = pg::text_view(given.queue);
        task.attempt_index = given.life.attempt_index;
        task.attempt_worker = request.worker;
        task.attempt_instance = request.worker_instance;
        task.flow_id = given.flow_id;
        const bool reclaimed = given.life.pending == core::Pending::kReclaim;
        emit_lease_event(
            tables, task,
            {.event = reclaimed ? kReclaimed : kAcquired, .epoch = given.life.lease_epoch}, now);
    }
}

// What a claim that found nothing has to know.
struct Missed {
    bool lost;         // other transactions held tasks that it tried
    int64 next_due;    // of what was not due yet
    uint64 due_moves;  // 0: it did not look
    bool settled;      // it settled kMostSettled leases, so more may have expired
    bool unfinished;   // queues are left that it did not look at
};

struct Answer {
    std::span<const store::ClaimedTask> claimed;
    Missed missed;
};
Answer claim_now(store::Tables& tables, const ClaimRequest& request, pg::Clock* clock, Sweep* sweep,
                 bool without_limited = false) {
    Answer answer{{}, {false, core::kNever, 0, false, false}};
    if (!try_enter(tables, {.tasks = true}) || tables.hub.is_paused(store::Queue::kTasks)) {
        sweep->on = false;
        return answer;
    }
    const bool settled = settle_leases(tables, clock, kMostSettled) >= kMostSettled;
    const Found found = search_tasks(tables, request, *clock, without_limited, sweep);
    tell(tables, request, found.claimed, clock->now());
    return {found.claimed,
            {found.lost, found.next_due, found.due_moves, settled, found.unfinished}};
}

// The channels of the queues that the worker serves, with their versions before the claim.
struct Watched {
    wakeups::Channel channel;
    uint64 version;
};

std::span<const Watched> watch(store::Tables& tables, const ClaimRequest& request) {
    pg::List<Watched> watched;
    const auto add = [&watched](const wakeups::Channel& channel) {
        watched.add({channel, wakeups::queue_version(channel)});
    };
    add(store::all_queues_channel(tables));
    if (request.queues) {
        for (const auto queue : *request.queues) {
            add(store::queue_channel(tables, queue));
        }
    }
    return watched.span();
}

// Whether something of these queues may be ready since.
bool has_moved(std::span<const Watched> watched, const ClaimRequest& request) {
    // The first is that of all queues.
    const auto own = request.queues ? watched.subspan(1) : watched;
    return std::any_of(own.begin(), own.end(), [](const Watched& queue) {
        return wakeups::queue_version(queue.channel) != queue.version;
    });
}

// Whether a task has fallen due since, also one that was delayed after the search had looked.
bool has_fallen_due(store::Tables& tables, const Missed& missed, int64 now) {
    if (missed.next_due <= now) {
        return true;
    }
    const auto hint = wakeups::due_hint(store::task_due_channel(tables));
    return missed.due_moves != 0 && hint.moves != missed.due_moves && hint.due <= now;
}

}  // namespace

int64 promote_tasks(store::Tables& tables, int64 now, int limit) {
    const wakeups::Channel channel = store::task_due_channel(tables);
    const auto hint = wakeups::due_hint(channel);
    // Not in a transaction block, which may stay open for long.
    if (!IsTransactionBlock()) {
        wakeups::moving(channel);
    }
    const int64 promoted = store::promote_due(tables, now, limit);
    if (promoted < limit && !store::has_old_prepared()) {
        wakeups::due_known(channel, hint, store::next_delayed(tables));
    }
    return promoted;
}

namespace {

// Claims, and looks again as long as something may have become ready meanwhile.
std::span<const store::ClaimedTask> claim(store::Tables& tables, const ClaimRequest& request,
                                          pg::Clock* clock) {
    constexpr int kMostLooks = 32;
    constexpr int kUnprompted = 3;
    constexpr int kMostNaps = 100;
    std::span<const Watched> watched;
    std::span<const store::ClaimedTask> claimed;
    OwnSweep* sweep = nullptr;
    int naps = 0;
    for (int looks = 1;; ++looks) {
        watched = watch(tables, request);
        sweep = sweep_of(tables, request, watched.front().version);
        const auto [found, missed] = claim_now(tables, request, clock, &sweep->sweep);
        claimed = found;
        if (!claimed.empty() || missed.unfinished) {
            break;
        }
        // A faster claim may have left tasks that are newer than our snapshot, or may release tasks
        // before it wakes other sessions. A duty that makes due tasks ready locks them for a
        // moment.
        const bool moving = missed.lost && wakeups::is_moving(store::task_due_channel(tables));
        wakeups::publish_prepared();
        if (looks < kMostLooks &&
            (has_moved(watched, request) || has_fallen_due(tables, missed, clock->now()) ||
             missed.settled || (missed.lost && looks < kUnprompted))) {
            continue;
        }
        if (!moving || naps++ == kMostNaps) {
            break;
        }
        wakeups::nap(1);
    }
    for (const auto& [channel, version] : watched) {
        if (!claimed.empty()) {
            wakeups::resolve_hint(channel, false);
        } else if (channel == store::all_queues_channel(tables) &&
                   (request.queues || sweep->sweep.on)) {
            wakeups::resolve_hint(channel, true);  // other queues may have work
        } else if (!request.queues) {
            // The version from before the sweep: its earlier claims have looked at other queues.
            wakeups::remember_empty(channel, std::min(version, sweep->version));
        } else {
            wakeups::remember_empty(channel, version);
        }
    }
    if (claimed.empty() && request.queues) {
        notice_unused_queues(tables, *request.queues);
    }
    return claimed;
}

// Whether some of the queues that the request names, or of all, have limits.
bool names_limited(store::Tables& tables, const ClaimRequest& request) {
    if (!request.queues) {
        return store::has_limited(tables);
    }
    return std::any_of(
        request.queues->begin(), request.queues->end(),
        [&tables](std::string_view queue) { return store::is_limited(tables, queue); });
}

// Whether at least ahead.threshold tasks are ready that the request could get, in queues without
// limits. Changes and locks nothing. If the request names no queue, only the first
// kMostCounted queues count.
bool has_ready_tasks(store::Tables& tables, const ClaimRequest& request, const pg::Clock& clock) {
    if (!try_enter(tables, {.tasks = true}) || tables.hub.is_paused(store::Queue::kTasks)) {
        return false;
    }
    pg::List<std::string_view> queues;
    const auto named = request.queues ? *request.queues
                                      : store::ready_queues(tables, {}, std::nullopt, kMostCounted);
    for (const auto queue : named) {
        if (!store::is_limited(tables, queue)) {
            queues.add(queue);
        }
    }
    const auto streams = store::fitting_streams(tables, queues.span(), request.capabilities,
                                                slots_of(tables, request.slots));
    const auto ready = store::peek_heads(tables, streams, clock.now(), request.ahead.threshold);
    return ready.size() >= static_cast<std::size_t>(request.ahead.threshold);
}

std::span<const store::ClaimedTask> both(std::span<const store::ClaimedTask> first,
                                         std::span<const store::ClaimedTask> second) {
    pg::List<store::ClaimedTask> all;
    for (const auto tasks : {first, second}) {
        for (const auto& task : tasks) {
            all.add(task);
        }
    }
    return all.span();
}

// Claims for the worker's free handlers, and for its buffer if enough tasks are ready. The buffer
// gets none of a queue with limits: a place or the rate that a buffered task takes is missing for
// free handlers of other workers.
std::span<const store::ClaimedTask> claim_and_fill(store::Tables& tables,
                                                   const ClaimRequest& request, pg::Clock* clock) {
    const bool fills = request.ahead.most > 0 && has_ready_tasks(tables, request, *clock);
    ClaimRequest now = request;
    const bool at_once = fills && !names_limited(tables, request);
    if (at_once) {
        now.max += request.ahead.most;
    }
    const auto claimed =
        now.max > 0 ? claim(tables, now, clock) : std::span<const store::ClaimedTask>();
    if (!fills || at_once || claimed.size() < static_cast<std::size_t>(request.max)) {
        return claimed;
    }
    ClaimRequest more = request;
    more.max = request.ahead.most;
    Sweep none{};
    return both(claimed, claim_now(tables, more, clock, &none, true).claimed);
}

}  // namespace

bool take_unfinished_claim(Oid hub) {
    const bool unfinished = own_sweep.sweep.on && own_sweep.hub == hub && !own_sweep.told;
    own_sweep.told = own_sweep.told || unfinished;
    return unfinished;
}

Claimed claim_tasks(store::Tables& tables, const ClaimRequest& request, pg::Clock* clock) {
    const auto claimed = claim_and_fill(tables, request, clock);
    if (claimed.empty()) {
        if (request.max > 0) {
            counters::add(tables.hub.schema, counters::Queue::kTasks,
                          counters::Counter::kEmptyFetches);
        }
        return {};
    }
    counters::add(tables.hub.schema, counters::Queue::kTasks, counters::Counter::kFetched,
                  static_cast<int64>(claimed.size()));
    int64 left = kMostOfAnswer;
    Datum* const upstream = upstream_of(tables, claimed, &left);
    return {claimed, upstream, signals_of(tables, claimed, &left)};
}

}  // namespace belay::ops
