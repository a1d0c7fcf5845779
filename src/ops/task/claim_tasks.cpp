// claim_tasks.cpp — lease the next tasks that the worker may run.
//
// Calls    settle_leases, store::ready_queues, store::fitting_streams, store::hold_heads,
//          store::peek_heads, store::peek_due, store::hold_eligible, store::acquire,
//          store::read_limit, store::take_places, upstream_of, signals_of
// Touches  <hub>.tasks, <hub>.queue_limits, <hub>.queue_moves
// Locks    tasks, skipping what others hold; the key of a limited queue while its places are taken.
//          A claim waits for no transaction
// Raises   QB006, QB007
//
// The ready tasks of a queue, slot and capability set are a stream, in the order of claims. Streams
// that do not fit the worker are never looked at; those that do are merged by their heads. Delayed
// tasks that are due join them as they are. A claim changes and holds what it takes, and takes back
// leases that are over, some at a time; nothing else.
//
// A claim that names no queue looks at kMostQueues queues, beginning behind those of the look
// before (shmem/rotation). If there are no more, that is the order of all tasks; else priorities
// and times hold among the queues of one look, and each queue has its turn. The next queues follow
// only as long as the request is not served: an answer is empty only if nothing could be claimed in
// any queue.
#include <algorithm>

#include "core/events.hpp"
#include "core/time.hpp"
#include "ops/task/claimed_json.hpp"
#include "ops/task/task.hpp"
#include "pg/random.hpp"
#include "pg/settings.hpp"
#include "shmem/counters.hpp"
#include "shmem/task_stats.hpp"
#include "shmem/rotation.hpp"
#include "store/limits.hpp"
#include "store/outbox.hpp"
#include "store/readiness.hpp"
#include "store/task_claims.hpp"
#include "store/waking.hpp"

namespace belay::ops {

namespace {

constexpr int kDuePage = 256;
constexpr int kLeastPeek = 16;
constexpr int kMostSettled = 32;
constexpr int kMostPeeks = 256;  // of all streams of a merge, unless more are asked for
constexpr int kMostQueues = 32;  // that one look of a claim of all queues opens

constexpr int kAcquired = core::event_place("lease", "acquired");
constexpr int kReclaimed = core::event_place("lease", "reclaimed");

// The limits of the queues that a claim takes tasks from. They are read when the first task of a
// queue is about to be held, and charged when all are: another claim may have been faster.
struct Limits {
    struct TaskQueue {
        std::string_view name;
        int64 places;
        int64 reserved;  // of them, for tasks that are yet to be held
    };
    store::Tables& tables;
    pg::List<TaskQueue> queues;

    // The limits of a queue; null if it has none.
    TaskQueue* find(std::string_view name, int64 now) {
        if (!store::is_limited(tables, name)) {
            return nullptr;
        }
        for (TaskQueue& queue : queues) {
            if (queue.name == name) {
                return &queue;
            }
        }
        const auto limit = store::read_limit(tables, name);
        const int64 places = limit ? core::free_places(*limit, now) : core::kNever;
        if (places == 0) {
            store::note_rest(tables, name, *limit, now);
        }
        return &queues.add({name, places, 0});
    }

    // Whether another task of the queue may be tried.
    bool reserve(std::string_view name, int64 now) {
        TaskQueue* queue = find(name, now);
        if (queue == nullptr) {
            return true;
        }
        if (queue->reserved == queue->places) {
            return false;
        }
        ++queue->reserved;
        return true;
    }

    // Those that are held use their places up; what was reserved for others is free again.
    void settle(std::span<const store::HeldTask> held) {
        for (TaskQueue& queue : queues) {
            queue.reserved = 0;
            for (const auto& task : held) {
                queue.places -= task.queue == queue.name ? 1 : 0;
            }
        }
    }

    // Takes the places of the tasks, which are in the order of claims. Those behind for which none
    // is left go; true if there are some.
    bool charge(pg::List<store::LeaseGrant>* grants, int64 now) {
        bool lost = false;
        for (const TaskQueue& queue : queues) {
            const auto is_its = [&queue](const store::LeaseGrant& grant) {
                return grant.task.queue == queue.name;
            };
            const int64 wanted = std::count_if(grants->begin(), grants->end(), is_its);
            if (wanted == 0) {
                continue;
            }
            int64 left = store::take_places(tables, queue.name, wanted, now);
            lost = lost || left < wanted;
            const auto* end = std::remove_if(grants->begin(), grants->end(),
                                             [&is_its, &left](const store::LeaseGrant& grant) {
                                                 return is_its(grant) && left-- <= 0;
                                             });
            grants->count = static_cast<int>(end - grants->begin());
        }
        return lost;
    }
};

// What is due, as far as a claim has looked at it.
struct Due {
    wakeups::DueHint hint;  // read before the look
    bool asked = false;
    store::DueLook page{};
    pg::List<pg_uuid_t> ids{};  // of the page, sorted
    bool first = true;          // page

    static bool less(const pg_uuid_t& a, const pg_uuid_t& b) {
        return memcmp(a.data, b.data, UUID_LEN) < 0;
    }
    bool holds(const pg_uuid_t& id) const {
        return std::binary_search(ids.begin(), ids.end(), id, less);
    }
    void read(store::Tables& tables, int64 now) {
        std::optional<store::TaskPlace> last;
        if (!page.tasks.empty()) {
            last = page.tasks.back().place;
        }
        page = store::peek_due(tables, last, now, kDuePage);
        ids.count = 0;
        for (const auto& task : page.tasks) {
            ids.add(task.place.id);
        }
        std::sort(ids.begin(), ids.end(), less);
    }
    void read_next(store::Tables& tables, int64 now) {
        first = false;
        read(tables, now);
    }
};

// The first tasks that are due. If nothing can be, nothing is asked.
Due look_at_due(store::Tables& tables, int64 now) {
    Due due{wakeups::due_hint(store::task_due_channel(tables))};
    if (due.hint.known && due.hint.due > now) {
        due.page.next = due.hint.due;
    } else {
        due.asked = true;
        due.read(tables, now);
    }
    return due;
}

// Tells when to look again, if nothing that was due is left after this claim.
void tell_next_due(store::Tables& tables, const Due& due,
                   std::span<const store::LeaseGrant> granted) {
    if (!due.asked || !due.first || due.page.more || store::has_old_prepared()) {
        return;
    }
    const auto taken =
        std::count_if(granted.begin(), granted.end(),
                      [&due](const store::LeaseGrant& given) { return due.holds(given.task.id); });
    if (taken == due.ids.count) {
        wakeups::due_known(store::task_due_channel(tables), due.hint, due.page.next);
    }
}

// One stream of a merge: what was seen of it and not tried yet.
struct Stream {
    store::TaskStream range;
    pg::List<store::TaskPlace> seen;
    int next;
    store::TaskPlace last;  // behind which it goes on
    bool ended;
    bool full;  // its queue has no place left, for now
    bool due;   // of delayed tasks
};

struct Merge {
    store::Tables& tables;
    int64 now;
    int chunk;
    Limits* limits;
    const Due& due;
    pg::List<Stream> streams;

    void open(std::span<const store::TaskStream> ranges) {
        for (const auto& range : ranges) {
            streams.add({range, {}, 0, {}, false, false, false});
        }
        for (const auto& peek : store::peek_heads(tables, ranges, now, chunk)) {
            streams.items[peek.stream].seen.add(peek.place);
        }
        for (Stream& stream : streams) {
            stream.ended = stream.seen.count < chunk;
        }
    }

    // Tasks that are due, those of one stream together and in their order.
    void add_due(std::span<const store::DueTaskPeek> tasks) {
        const store::DueTaskPeek* before = nullptr;
        for (const auto& task : tasks) {
            if (before == nullptr || !(before->stream == task.stream)) {
                streams.add({task.stream, {}, 0, {}, true, false, true});
            }
            streams.items[streams.count - 1].seen.add(task.place);
            before = &task;
        }
    }

    void refill(Stream* stream) {
        if (stream->next < stream->seen.count || stream->ended) {
            return;
        }
        const auto more = store::peek_behind(tables, stream->range, stream->last, now, chunk);
        stream->seen.count = 0;
        stream->next = 0;
        for (const auto& place : more) {
            stream->seen.add(place);
        }
        stream->ended = more.size() < static_cast<std::size_t>(chunk);
    }

    // The head of all streams whose queues have places.
    Stream* first() {
        Stream* first = nullptr;
        for (Stream& stream : streams) {
            refill(&stream);
            if (!stream.full && stream.next < stream.seen.count &&
                (first == nullptr ||
                 stream.seen.items[stream.next].before(first->seen.items[first->next]))) {
                first = &stream;
            }
        }
        return first;
    }

    // The next task in the order of all streams.
    const store::TaskPlace* next() {
        while (Stream* head = first()) {
            // A duty may have made it ready since it was seen among those that are due.
            const bool twice = !head->due && due.holds(head->seen.items[head->next].id);
            if (!twice && !limits->reserve(head->range.queue, now)) {
                head->full = true;
                continue;
            }
            head->last = head->seen.items[head->next++];
            if (!twice) {
                return &head->last;
            }
        }
        return nullptr;
    }

    // What was reserved is settled: queues may have places again.
    void look_again() {
        for (Stream& stream : streams) {
            stream.full = false;
        }
    }
};

void add_all(pg::List<store::HeldTask>* held, std::span<const store::HeldTask> more) {
    for (const auto& task : more) {
        held->add(task);
    }
}

// Holds up to max tasks of the merge, in order. True if others had some of them.
bool hold_merged(Merge* merge, int max, pg::List<store::HeldTask>* held) {
    bool lost = false;
    while (held->count < max) {
        pg::List<pg_uuid_t> batch;
        while (batch.count < max - held->count) {
            const auto* place = merge->next();
            if (place == nullptr) {
                break;
            }
            batch.add(place->id);
        }
        if (batch.count == 0) {
            break;
        }
        const auto more = store::hold_eligible(merge->tables, batch.span(), merge->now);
        lost = lost || more.size() < static_cast<std::size_t>(batch.count);
        merge->limits->settle(more);
        merge->look_again();
        add_all(held, more);
        CHECK_FOR_INTERRUPTS();
    }
    return lost;
}

// Those of the due tasks that belong to one of the streams, sorted by stream and place.
std::span<const store::DueTaskPeek> fitting_due(std::span<const store::DueTaskPeek> tasks,
                                                std::span<const store::TaskStream> ranges) {
    if (tasks.empty()) {
        return {};
    }
    auto* sorted =
        static_cast<store::TaskStream*>(palloc(sizeof(store::TaskStream) * (ranges.size() + 1)));
    std::copy(ranges.begin(), ranges.end(), sorted);
    std::sort(sorted, sorted + ranges.size());
    pg::List<store::DueTaskPeek> fitting;
    for (const auto& task : tasks) {
        if (!task.over && std::binary_search(sorted, sorted + ranges.size(), task.stream)) {
            fitting.add(task);
        }
    }
    std::sort(fitting.begin(), fitting.end(),
              [](const store::DueTaskPeek& a, const store::DueTaskPeek& b) {
                  return a.stream == b.stream ? a.place.before(b.place) : a.stream < b.stream;
              });
    return fitting.span();
}

// The queues with ready tasks, a few at a time, once around.
struct Rotation {
    Oid table;
    std::string_view start;  // begins behind it
    std::string_view last;
    bool around = false;  // goes on from the first queue to start
    bool ended = false;

    explicit Rotation(Oid tasks) : table(tasks) {
        auto* position = static_cast<rotation::Position*>(palloc(sizeof(rotation::Position)));
        *position = rotation::position_of(table);
        start = position->text();
        last = start;
    }

    pg::List<std::string_view> next(store::Tables& tables) {
        pg::List<std::string_view> queues;
        while (queues.count < kMostQueues && !ended) {
            const int wanted = kMostQueues - queues.count;
            const auto found = store::ready_queues(
                tables, last, around ? std::optional(start) : std::nullopt, wanted);
            for (const auto queue : found) {
                last = queues.add(queue);
            }
            if (found.size() < static_cast<std::size_t>(wanted)) {
                ended = around || start.empty();
                around = true;
                last = {};
            }
        }
        if (!ended) {
            rotation::move_to(table, last);
        }
        return queues;
    }
};

// Ready queues, and those of tasks that are due, each once.
std::span<const std::string_view> with_due_queues(std::span<const std::string_view> ready,
                                                  std::span<const store::DueTaskPeek> tasks) {
    pg::List<std::string_view> queues;
    for (const auto queue : ready) {
        queues.add(queue);
    }
    for (const auto& task : tasks) {
        queues.add(task.stream.queue);
    }
    std::sort(queues.begin(), queues.end());
    queues.count = static_cast<int>(std::unique(queues.begin(), queues.end()) - queues.begin());
    return queues.span();
}

// A claim on its way to the tasks that it takes.
struct Search {
    store::Tables& tables;
    const ClaimRequest& request;
    int64 now;
    Due* due;
    Limits* limits;
    pg::List<store::HeldTask> held{};
    bool lost = false;

    bool wants_more() const { return held.count < request.max; }

    // Holds the next tasks of these queues, each named once: ready ones, unless without_ready, and
    // those of the due tasks that fit.
    void hold_of(std::span<const std::string_view> queues,
                 std::span<const store::DueTaskPeek> tasks, bool without_ready = false) {
        const int wanted = request.max - held.count;
        const auto ranges = store::fitting_streams(tables, queues, request.capabilities,
                                                   slots_of(tables, request.slots));
        const auto fitting = fitting_due(tasks, ranges);
        if (!without_ready && ranges.size() == 1 && fitting.empty()) {
            const auto* queue = limits->find(ranges[0].queue, now);
            const int max = queue == nullptr
                                ? wanted
                                : static_cast<int>(std::min<int64>(wanted, queue->places));
            bool others = false;
            if (max > 0) {
                add_all(&held, store::hold_heads(tables, ranges[0], now, max, &others));
            }
            lost = lost || others;
            return;
        }
        const auto streams = static_cast<int>(ranges.size());
        const int share = 2 * wanted / std::max(streams, 1) + 2;
        const int chunk = std::max(
            share, std::min(std::max(wanted, kLeastPeek), kMostPeeks / std::max(streams, 1)));
        Merge merge{tables, now, chunk, limits, *due, {}};
        if (!without_ready && !ranges.empty()) {
            merge.open(ranges);
        }
        merge.add_due(fitting);
        lost = hold_merged(&merge, request.max, &held) || lost;
    }

    // Of all queues. What has been found is enough once a look added nothing to it.
    void hold_of_all() {
        Rotation rotation(tables.hub.relations.tasks);
        const auto due_queues = with_due_queues({}, due->page.tasks);
        hold_of(with_due_queues(rotation.next(tables).span(), due->page.tasks), due->page.tasks);
        bool go_on = true;
        while (go_on && !rotation.ended && wants_more()) {
            const int before = held.count;
            auto queues = rotation.next(tables);
            queues.count = static_cast<int>(std::remove_if(queues.begin(), queues.end(),
                                                           [&due_queues](std::string_view queue) {
                                                               return std::binary_search(
                                                                   due_queues.begin(),
                                                                   due_queues.end(), queue);
                                                           }) -
                                            queues.begin());
            hold_of(queues.span(), {});
            go_on = held.count == 0 || held.count > before;
            CHECK_FOR_INTERRUPTS();
        }
    }

    void run() {
        if (request.queues) {
            hold_of(with_due_queues(*request.queues, {}), due->page.tasks);
        } else {
            hold_of_all();
        }
        while (held.count == 0 && due->page.more) {
            due->read_next(tables, now);
            hold_of(request.queues ? with_due_queues(*request.queues, {})
                                   : with_due_queues({}, due->page.tasks),
                    due->page.tasks, true);
            CHECK_FOR_INTERRUPTS();
        }
    }
};

store::LeaseGrant grant(store::Tables& tables, const store::HeldTask& task, int64 lease_ms,
                        int64 now) {
    struct {
        pg_uuid_t nonce;
        uint32 step;
    } random;
    pg::fill_random(&random, sizeof random);
    const int64 epoch = core::next_epoch(task.life.lease_epoch, tables.hub.epoch_floor,
                                         pg::settings.dense_epochs ? 0 : random.step);
    return {task, core::lease_terms(task.life, task.attempt_timeout, lease_ms, epoch, now),
            random.nonce};
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
        tell_lease(tables, task,
                   {.event = reclaimed ? kReclaimed : kAcquired, .epoch = given.life.lease_epoch},
                   now);
    }
}

// What a claim that found nothing has to know.
struct Missed {
    bool lost;         // others had what it tried
    int64 next_due;    // of what was not due yet
    uint64 due_moves;  // 0: it did not look
    bool settled;      // so many leases were over that there may be more of them
};

Claimed claim_now(store::Tables& tables, const ClaimRequest& request, pg::Clock* clock,
                  Missed* missed) {
    *missed = {false, core::kNever, 0, false};
    if (!try_enter(tables, {.tasks = true}) || tables.hub.is_paused(store::Queue::kTasks)) {
        return {};
    }
    missed->settled = settle_leases(tables, clock, kMostSettled) >= kMostSettled;
    const int64 begin = clock->now();
    Due due = look_at_due(tables, begin);
    missed->due_moves = due.hint.moves;
    Limits limits{tables, {}};
    Search search{
        .tables = tables, .request = request, .now = begin, .due = &due, .limits = &limits};
    search.run();
    missed->lost = search.lost;
    missed->next_due = due.page.next;
    const int64 now = clock->now();
    // In the order of claims: that of the answer.
    const auto before = [](const store::HeldTask& a, const store::HeldTask& b) {
        return a.place().before(b.place());
    };
    if (!std::is_sorted(search.held.begin(), search.held.end(), before)) {
        std::sort(search.held.begin(), search.held.end(), before);
    }
    pg::List<store::LeaseGrant> grants;
    for (const auto& task : search.held) {
        const auto given = grant(tables, task, request.lease_ms, now);
        // With the server's clock a deadline may have passed since the task was found.
        if (given.terms.until > now) {
            grants.add(given);
        }
    }
    missed->lost = limits.charge(&grants, now) || missed->lost;
    tell_next_due(tables, due, grants.span());
    if (grants.count == 0) {
        return {};
    }
    const auto claimed =
        store::acquire(tables, grants.span(), request.worker, request.worker_instance, now);
    for (std::size_t i = 0; i < claimed.size(); ++i) {
        const Oid hub = tables.hub.schema;
        const int64 ms = now - grants.items[i].task.place().available_at;
        const task_stats::TaskClass of{grants.items[i].task.queue, pg::text_view(claimed[i].kind)};
        counters::add_duration(hub, counters::Queue::kTasks, counters::Duration::kWait, ms);
        task_stats::add(hub, of, task_stats::Counter::kClaimed);
        task_stats::add_duration(hub, of, counters::Duration::kWait, ms);
    }
    tell(tables, request, claimed, now);
    int64 left = kMostOfAnswer;
    Datum* const upstream = upstream_of(tables, claimed, &left);
    return {claimed, upstream, signals_of(tables, claimed, &left)};
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

// Whether something has fallen due since, or may have: it came later, and is due already.
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
    // In a transaction block nobody knows how long it lasts.
    if (!IsTransactionBlock()) {
        wakeups::moving(channel);
    }
    const int64 promoted = store::promote_due(tables, now, limit);
    if (promoted < limit && !store::has_old_prepared()) {
        wakeups::due_known(channel, hint, store::next_delayed(tables, now));
    }
    return promoted;
}

Claimed claim_tasks(store::Tables& tables, const ClaimRequest& request, pg::Clock* clock) {
    constexpr int kMostLooks = 32;
    constexpr int kUnprompted = 3;
    constexpr int kMostNaps = 100;
    std::span<const Watched> watched;
    Claimed claimed;
    int naps = 0;
    for (int looks = 1;; ++looks) {
        Missed missed{};
        watched = watch(tables, request);
        claimed = claim_now(tables, request, clock, &missed);
        if (!claimed.tasks.empty()) {
            break;
        }
        // A faster claim may have left something that our snapshot was too old for, or lets go
        // of what it held before it tells. A duty that makes due tasks ready has them for a moment.
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
        if (!claimed.tasks.empty()) {
            wakeups::resolve_hint(channel, false);
        } else if (request.queues && channel == store::all_queues_channel(tables)) {
            wakeups::resolve_hint(channel, true);  // other queues may have work
        } else {
            wakeups::remember_empty(channel, version);
        }
    }
    if (claimed.tasks.empty()) {
        if (request.queues) {
            notice_unused_queues(tables, *request.queues);
        }
        counters::add(tables.hub.schema, counters::Queue::kTasks, counters::Counter::kEmptyFetches);
    } else {
        counters::add(tables.hub.schema, counters::Queue::kTasks, counters::Counter::kFetched,
                      static_cast<int64>(claimed.tasks.size()));
    }
    return claimed;
}

bool has_ready_tasks(store::Tables& tables, const ClaimRequest& request, const pg::Clock& clock,
                     int threshold) {
    if (!try_enter(tables, {.tasks = true}) || tables.hub.is_paused(store::Queue::kTasks)) {
        return false;
    }
    const auto queues = request.queues ? *request.queues
                                       : store::ready_queues(tables, {}, std::nullopt, kMostQueues);
    const auto streams = store::fitting_streams(tables, queues, request.capabilities,
                                                slots_of(tables, request.slots));
    const auto ready = store::peek_heads(tables, streams, clock.now(), threshold);
    return ready.size() >= static_cast<std::size_t>(threshold);
}

}  // namespace belay::ops
