// claim_search.cpp — find the tasks that a claim takes, and lease them.
//
// Calls    store::ready_queues, store::fitting_streams, store::hold_heads, store::acquire_heads,
//          store::peek_heads, store::peek_due, store::hold_eligible, store::acquire,
//          store::read_limits, store::take_places
// Touches  <hub>.tasks, <hub>.queue_limits, <hub>.queue_moves
// Locks    tasks, skipping what others hold; the key of a limited queue while its places are taken
// Raises   nothing itself
//
// The ready tasks of a queue, slot and capability set are a stream, in the order of claims. Streams
// that do not fit the worker are never looked at; those that do are merged by their heads. Delayed
// tasks that are due are merged with them. A claim changes and locks what it takes; nothing else.
//
// A claim that names no queue proceeds in looks. The first opens kFirstQueues queues, beginning
// behind those of the previous claim (shmem/rotation). With at most so many queues, tasks come in
// the order of all; with more, priorities and times order the tasks within a look. Looks follow
// until the request is filled, first at queues where a place has become free lately. If a claim
// finds nothing in kMostQueues queues, it ends, and the session's next one continues there (Sweep).
#include "ops/task/claim_search.hpp"

#include <algorithm>

#include "core/time.hpp"
#include "pg/random.hpp"
#include "pg/settings.hpp"
#include "shmem/counters.hpp"
#include "shmem/rotation.hpp"
#include "shmem/task_stats.hpp"
#include "store/limits.hpp"
#include "store/readiness.hpp"
#include "store/waking.hpp"

namespace belay::ops {

namespace {

constexpr int kDuePage = 256;
constexpr int kLeastPeek = 16;
constexpr int kMostPeeks = 256;   // of all streams of a merge, unless more are asked for
constexpr int kFirstQueues = 32;  // that the first look of a claim of all queues opens
constexpr int kNextQueues = 96;   // and each further one
constexpr int kMostQueues = 128;  // that a claim which finds nothing has looked at

// The limits of the queues that a claim takes tasks from, read when the first task of a queue is
// about to be locked. Places are taken when all tasks are locked: others may have been faster.
struct Limits {
    struct TaskQueue {
        std::string_view name;
        int64 places;
        int64 reserved;  // of these, for tasks that are about to be locked
        bool limited;
    };
    store::Tables& tables;
    bool closed;  // the claim takes nothing from queues with limits
    pg::List<TaskQueue> queues{};

    // The limits of a queue; null if it has none.
    TaskQueue* find(std::string_view name, int64 now) {
        for (TaskQueue& queue : queues) {
            if (queue.name == name) {
                return queue.limited ? &queue : nullptr;
            }
        }
        if (!store::is_limited(tables, name)) {
            return nullptr;
        }
        const auto limit = closed ? std::nullopt : store::read_limit(tables, name);
        return add(name, limit ? &*limit : nullptr, now);
    }

    TaskQueue* add(std::string_view name, const core::QueueLimit* limit, int64 now) {
        const int64 places = closed             ? 0
                             : limit == nullptr ? core::kNever
                                                : core::free_places(*limit, now);
        if (places == 0 && limit != nullptr) {
            store::wake_for_places(tables, name, *limit, now);
        }
        return &queues.add({name, places, 0, true});
    }

    bool is_known(std::string_view name) const {
        return std::any_of(queues.begin(), queues.end(),
                           [name](const TaskQueue& queue) { return queue.name == name; });
    }

    // The queues that may have places, of those named, which are in order and distinct. The limits
    // of all are read at once.
    std::span<const std::string_view> with_places(std::span<const std::string_view> names,
                                                  int64 now) {
        if (names.size() < 2 || !store::has_limited(tables)) {
            return names;
        }
        pg::List<std::string_view> unknown;
        for (const std::string_view name : names) {
            if (!is_known(name)) {
                unknown.add(name);
            }
        }
        const auto limits = store::read_limits(tables, unknown.span());
        const store::NamedLimit* next = limits.data();
        const store::NamedLimit* end = next + limits.size();
        for (const std::string_view name : unknown) {
            if (next != end && next->queue == name) {
                (void)add(name, &next++->limit, now);
            } else {
                (void)queues.add({name, 0, 0, false});
            }
        }
        pg::List<std::string_view> open;
        for (const std::string_view name : names) {
            const TaskQueue* queue = find(name, now);
            if (queue == nullptr || queue->places > 0) {
                open.add(name);
            }
        }
        return open.span();
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

    // The tasks that were locked use up places; reservations for the others end.
    void settle(std::span<const store::HeldTask> held) {
        for (TaskQueue& queue : queues) {
            queue.reserved = 0;
            for (const auto& task : held) {
                queue.places -= task.queue == queue.name ? 1 : 0;
            }
        }
    }

    // Takes places for the tasks, which are in the order of claims. Drops the last ones of a queue
    // that has too few places; true if any was dropped.
    bool charge(pg::List<store::LeaseGrant>* grants, int64 now) {
        bool lost = false;
        for (const TaskQueue& queue : queues) {
            if (!queue.limited) {
                continue;
            }
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
    bool first = true;          // no page before this one

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

// The first tasks that are due. If shared memory says that none is, no table is read.
Due probe_due(store::Tables& tables, int64 now) {
    Due due{wakeups::due_hint(store::task_due_channel(tables))};
    if (due.hint.known && due.hint.due > now) {
        due.page.next = due.hint.due;
    } else {
        due.asked = true;
        due.read(tables, now);
    }
    return due;
}

// Records when to look again, if nothing that was due is left after this claim.
void publish_next_due(store::Tables& tables, const Due& due,
                      std::span<const store::ClaimedTask> claimed) {
    if (!due.asked || !due.first || due.page.more || store::has_old_prepared()) {
        return;
    }
    const auto taken =
        std::count_if(claimed.begin(), claimed.end(),
                      [&due](const store::ClaimedTask& task) { return due.holds(task.id); });
    if (taken == due.ids.count) {
        wakeups::due_known(store::task_due_channel(tables), due.hint, due.page.next);
    }
}

// One stream of a merge: what was seen of it and not tried yet.
struct Stream {
    store::TaskStream range;
    pg::List<store::TaskPlace> seen;
    int next;
    store::TaskPlace last;  // behind which it continues
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

    // After Limits::settle: queues may have places again.
    void probe_again() {
        for (Stream& stream : streams) {
            stream.full = false;
        }
    }
};

// Adds all; an empty list takes them as they are.
template <typename T>
void add_all(pg::List<T>* all, std::span<const T> more) {
    const auto count = static_cast<int>(more.size());
    if (all->count == 0) {
        *all = {const_cast<T*>(more.data()), count, count};
    } else {
        std::for_each(more.begin(), more.end(), [all](const T& task) { all->add(task); });
    }
}

// Locks up to max tasks of the merge, in order. True if other transactions held some of them.
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
        merge->probe_again();
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

// Steps once through all queues with ready tasks, a few at a time.
struct Rotation {
    Oid table;
    std::string_view start;  // begins behind it
    std::string_view last;
    bool around = false;  // continues from the first queue to start
    bool ended = false;

    Rotation(Oid tasks, const Sweep& sweep) : table(tasks) {
        if (sweep.on) {
            start = text_of(sweep.start);
            last = text_of(sweep.last);
            around = sweep.around;
            return;
        }
        start = text_of(rotation::position_of(table));
        last = start;
    }

    static std::string_view text_of(const rotation::Position& position) {
        auto* copy = static_cast<rotation::Position*>(palloc(sizeof(rotation::Position)));
        *copy = position;
        return copy->text();
    }

    pg::List<std::string_view> next(store::Tables& tables, int most) {
        pg::List<std::string_view> queues;
        while (queues.count < most && !ended) {
            const int wanted = most - queues.count;
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

    // Where the next claim of the session continues.
    void keep_in(Sweep* sweep) const {
        sweep->on = true;
        sweep->around = around;
        sweep->start = rotation::position_at(start);
        sweep->last = rotation::position_at(last);
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

// Determines the lease of a task.
struct Lender {
    store::Tables& tables;
    const pg::Clock& clock;
    int64 lease_ms;

    // With the server's clock a deadline may have passed since the task was found.
    std::optional<store::LeaseGrant> grant(const store::HeldTask& task) const {
        struct {
            pg_uuid_t nonce;
            uint32 step;
        } random;
        const int64 now = clock.now();
        pg::fill_random(&random, sizeof random);
        const int64 epoch = core::next_epoch(task.life.lease_epoch, tables.hub.epoch_floor,
                                             pg::settings.dense_epochs ? 0 : random.step);
        const auto terms = core::lease_terms(task.life, task.attempt_timeout, lease_ms, epoch, now);
        return terms.until > now
                   ? std::optional<store::LeaseGrant>({task, terms, random.nonce, now})
                   : std::nullopt;
    }
    store::Lessor lessor() const {
        return {this, [](const void* lender, const store::HeldTask& task) {
                    return static_cast<const Lender*>(lender)->grant(task);
                }};
    }
};

// The state of a claim while it searches.
struct Search {
    store::Tables& tables;
    const ClaimRequest& request;
    int64 now;
    Due* due;
    Limits* limits;
    const Lender& lender;
    Sweep* sweep;
    std::span<const std::string_view> seen{};  // queues, in order
    pg::List<store::HeldTask> held{};
    pg::List<store::AcquiredTask> acquired{};  // already leased
    bool lost = false;
    bool unfinished = false;  // queues are left that it did not look at

    int count() const { return held.count + acquired.count; }
    bool wants_more() const { return count() < request.max; }

    // Holds the next tasks of these queues, each named once: ready ones, unless without_ready, and
    // those of the due tasks that fit.
    void hold_of(std::span<const std::string_view> named, std::span<const store::DueTaskPeek> tasks,
                 bool without_ready = false) {
        const int wanted = request.max - count();
        const auto queues = limits->with_places(named, now);
        const auto ranges = store::fitting_streams(tables, queues, request.capabilities,
                                                   slots_of(tables, request.slots));
        const auto fitting = fitting_due(tasks, ranges);
        if (!without_ready && ranges.size() == 1 && fitting.empty()) {
            hold_of_one(ranges[0], wanted);
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
        lost = hold_merged(&merge, held.count + wanted, &held) || lost;
    }

    void hold_of_one(const store::TaskStream& stream, int wanted) {
        const auto* queue = limits->find(stream.queue, now);
        bool others = false;
        if (queue == nullptr) {
            add_all(&acquired, store::acquire_heads(tables, stream, now, wanted,
                                                    {request.worker, request.worker_instance},
                                                    lender.lessor(), &others));
        } else if (queue->places > 0) {
            const int max = static_cast<int>(std::min<int64>(wanted, queue->places));
            add_all(&held, store::hold_heads(tables, stream, now, max, &others));
        }
        lost = lost || others;
    }

    // The queues that no look of this claim has included, in order.
    std::span<const std::string_view> unseen(const pg::List<std::string_view>& queues) {
        pg::List<std::string_view> left;
        for (const auto queue : queues) {
            if (!std::binary_search(seen.begin(), seen.end(), queue)) {
                left.add(queue);
            }
        }
        std::sort(left.begin(), left.end());
        return left.span();
    }

    void hold_more(std::span<const std::string_view> queues,
                   std::span<const store::DueTaskPeek> tasks) {
        hold_of(queues, tasks);
        seen = both(seen, queues);
    }

    // Both, each once, in order.
    static std::span<const std::string_view> both(std::span<const std::string_view> a,
                                                  std::span<const std::string_view> b) {
        pg::List<std::string_view> all;
        for (const auto queues : {a, b}) {
            for (const auto queue : queues) {
                all.add(queue);
            }
        }
        std::sort(all.begin(), all.end());
        all.count = static_cast<int>(std::unique(all.begin(), all.end()) - all.begin());
        return all.span();
    }

    // Queues where places have become free lately.
    void probe_preferred() {
        rotation::Position positions[rotation::kPreferred];
        const int some = rotation::preferred(tables.hub.relations.tasks, positions);
        pg::List<std::string_view> queues;
        for (int i = 0; i < some; ++i) {
            queues.add(Rotation::text_of(positions[i]));
        }
        hold_more(unseen(queues), {});
    }

    // Of all queues. Stops when a look adds nothing to the tasks that were found before.
    void hold_of_all() {
        Rotation rotation(tables.hub.relations.tasks, *sweep);
        hold_more(with_due_queues(rotation.next(tables, kFirstQueues).span(), due->page.tasks),
                  due->page.tasks);
        if (count() == 0 && !rotation.ended) {
            probe_preferred();
        }
        int looked = kFirstQueues;
        bool go_on = true;
        while (go_on && !rotation.ended && wants_more()) {
            if (count() == 0 && looked >= kMostQueues) {
                unfinished = true;
                break;
            }
            const int before = count();
            hold_more(unseen(rotation.next(tables, kNextQueues)), {});
            looked += kNextQueues;
            go_on = count() == 0 || count() > before;
            CHECK_FOR_INTERRUPTS();
        }
        sweep->on = false;
        if (unfinished) {
            rotation.keep_in(sweep);
        }
    }

    void run() {
        if (request.queues) {
            hold_of(with_due_queues(*request.queues, {}), due->page.tasks);
        } else {
            hold_of_all();
        }
        while (count() == 0 && due->page.more) {
            due->read_next(tables, now);
            hold_of(request.queues ? with_due_queues(*request.queues, {})
                                   : with_due_queues({}, due->page.tasks),
                    due->page.tasks, true);
            CHECK_FOR_INTERRUPTS();
        }
    }
};

// Leases the tasks that the search has locked, as far as limits allow.
void acquire_held(Search* search, int64 now, bool* lost) {
    // In the order of claims: those that find no place in their queue are the last.
    std::sort(search->held.begin(), search->held.end(),
              [](const store::HeldTask& a, const store::HeldTask& b) {
                  return a.place().before(b.place());
              });
    pg::List<store::LeaseGrant> grants;
    for (const auto& task : search->held) {
        if (const auto given = search->lender.grant(task)) {
            grants.add(*given);
        }
    }
    *lost = search->limits->charge(&grants, now) || *lost;
    if (grants.count == 0) {
        return;
    }
    const auto claimed = store::acquire(search->tables, grants.span(),
                                        {search->request.worker, search->request.worker_instance});
    for (int i = 0; i < grants.count; ++i) {
        search->acquired.add({claimed[static_cast<std::size_t>(i)], grants.items[i]});
    }
}

// All that the search has acquired, in the order of claims.
std::span<const store::ClaimedTask> in_order(pg::List<store::AcquiredTask>* acquired) {
    const auto before = [](const store::AcquiredTask& a, const store::AcquiredTask& b) {
        return a.grant.task.place().before(b.grant.task.place());
    };
    if (!std::is_sorted(acquired->begin(), acquired->end(), before)) {
        std::sort(acquired->begin(), acquired->end(), before);
    }
    pg::List<store::ClaimedTask> tasks;
    for (const auto& task : *acquired) {
        tasks.add(task.claimed);
    }
    return tasks.span();
}

void count_claims(const store::Hub& hub, const pg::List<store::AcquiredTask>& tasks, int64 now) {
    for (const auto& task : tasks) {
        const int64 ms = now - task.grant.task.place().available_at;
        const task_stats::TaskClass of{task.grant.task.queue, pg::text_view(task.claimed.kind)};
        counters::add_duration(hub.schema, counters::Queue::kTasks, counters::Duration::kWait, ms);
        task_stats::add(hub.schema, of, task_stats::Counter::kClaimed);
        task_stats::add_duration(hub.schema, of, counters::Duration::kWait, ms);
    }
}

}  // namespace

Found search_tasks(store::Tables& tables, const ClaimRequest& request, const pg::Clock& clock,
                   bool without_limited, Sweep* sweep) {
    const int64 begin = clock.now();
    Due due = probe_due(tables, begin);
    Limits limits{tables, without_limited};
    const Lender lender{tables, clock, request.lease_ms};
    Search search{.tables = tables,
                  .request = request,
                  .now = begin,
                  .due = &due,
                  .limits = &limits,
                  .lender = lender,
                  .sweep = sweep};
    search.run();
    Found found{.claimed = {},
                .lost = search.lost,
                .unfinished = search.unfinished,
                .next_due = due.page.next,
                .due_moves = due.hint.moves};
    const int64 now = clock.now();
    acquire_held(&search, now, &found.lost);
    found.claimed = in_order(&search.acquired);
    publish_next_due(tables, due, found.claimed);
    count_claims(tables, search.acquired, now);
    return found;
}

}  // namespace belay::ops
