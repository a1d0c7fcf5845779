// claim_tasks.cpp — lease the next tasks that the worker may run.
//
// Calls    settle_leases, store::ready_lanes, store::fitting_streams, store::hold_heads,
//          store::peek_heads, store::peek_due, store::hold_eligible, store::acquire,
//          store::try_lock_limit, store::charge_limit
// Touches  <hub>.tasks, <hub>.lane_limits, <hub>.lane_returns; reads <hub>.suspensions,
//          <hub>.waitpoints, <hub>.signals
// Locks    tasks and limits of lanes, skipping what others hold: a claim waits for nobody's rows
// Raises   QB006, QB007
//
// The ready tasks of a lane, slot and capability set are a stream, in the order of claims. Streams
// that do not fit the worker are never looked at; those that do are merged by their heads. Delayed
// tasks that are due join them as they are. A claim changes and holds what it takes, and takes back
// leases that are over, some at a time; nothing else.
//
// A claim that names no lane looks at kMostLanes lanes, beginning behind those of the look before
// (pg/rotation). If there are no more, that is the order of all tasks; else priorities and times
// hold among the lanes of one look, and each lane has its turn. The next lanes follow only as long
// as the request is not served: an answer is empty only if nothing could be claimed in any lane.
#include <algorithm>

#include "core/events.hpp"
#include "core/time.hpp"
#include "ops/suspension/suspension.hpp"
#include "ops/task/task.hpp"
#include "pg/counters.hpp"
#include "pg/datum.hpp"
#include "pg/random.hpp"
#include "pg/settings.hpp"
#include "pg/rotation.hpp"
#include "store/flow_reads.hpp"
#include "store/limits.hpp"
#include "store/outbox.hpp"
#include "store/readiness.hpp"
#include "store/suspensions.hpp"
#include "store/waking.hpp"

namespace belay::ops {

namespace {

constexpr int kDuePage = 256;
constexpr int kLeastPeek = 16;
constexpr int kMostSettled = 32;
constexpr int kMostPeeks = 256;  // of all streams of a merge, unless more are asked for
constexpr int kMostLanes = 32;   // that one look of a claim of all lanes opens

constexpr int kAcquired = core::event_place("lease", "acquired");
constexpr int kReclaimed = core::event_place("lease", "reclaimed");

// The columns of store::acquire that are needed here.
enum Column {
    kId = 1,
    kLane = 2,
    kPriority = 6,
    kAttempt = 7,
    kPending = 8,
    kEpoch = 12,
    kFlow = 19,
    kAvailableAt = 23
};

// The limits of the lanes that a claim takes tasks from. They are held when the first task of a
// lane is about to be taken; a lane whose limits somebody else holds counts as full.
struct Limits {
    struct Lane {
        std::string_view name;
        core::LaneLimit limit;
        bool held;
        int64 places;
        int64 reserved;  // of them, for tasks that are yet to be held
        int64 taken;
    };
    const store::Hub& hub;
    pg::List<Lane> lanes;

    // The limits of a lane; null if it has none.
    Lane* find(std::string_view name, int64 now) {
        if (!store::is_limited(hub, name)) {
            return nullptr;
        }
        for (Lane& lane : lanes) {
            if (lane.name == name) {
                return &lane;
            }
        }
        const auto limit = store::try_lock_limit(hub, name);
        const int64 places = limit ? core::free_places(*limit, now) : 0;
        if (limit && places == 0 && !core::is_crowded(*limit)) {
            for (const auto& channel :
                 {store::lane_channel(hub, name), store::all_lanes_channel(hub)}) {
                pg::note_due(channel, core::next_token_at(*limit, now));
            }
        }
        return &lanes.add(
            {name, limit.value_or(core::LaneLimit{}), limit.has_value(), places, 0, 0});
    }

    // Whether another task of the lane may be tried.
    bool reserve(std::string_view name, int64 now) {
        Lane* lane = find(name, now);
        if (lane == nullptr) {
            return true;
        }
        if (lane->reserved == lane->places) {
            return false;
        }
        ++lane->reserved;
        return true;
    }

    // Those that are held use their places up; what was reserved for others is free again.
    void settle(std::span<const store::HeldTask> held) {
        for (Lane& lane : lanes) {
            lane.reserved = 0;
            for (const auto& task : held) {
                lane.places -= task.lane == lane.name ? 1 : 0;
            }
        }
    }

    void charge(std::span<const store::HeldTask> granted, int64 now) {
        for (Lane& lane : lanes) {
            for (const auto& task : granted) {
                lane.taken += task.lane == lane.name ? 1 : 0;
            }
            if (lane.taken > 0) {
                store::charge_limit(hub, lane.name, lane.limit, lane.taken, now);
            }
        }
    }
};

// What is due, as far as a claim has looked at it.
struct Due {
    pg::DueHint hint;  // read before the look
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
    void read(const store::Hub& hub, int64 now) {
        std::optional<store::TaskPlace> last;
        if (!page.tasks.empty()) {
            last = page.tasks.back().place;
        }
        page = store::peek_due(hub, last, now, kDuePage);
        ids.count = 0;
        for (const auto& task : page.tasks) {
            ids.add(task.place.id);
        }
        std::sort(ids.begin(), ids.end(), less);
    }
    void read_next(const store::Hub& hub, int64 now) {
        first = false;
        read(hub, now);
    }
};

// The first tasks that are due. If nothing can be, nothing is asked.
Due look_at_due(const store::Hub& hub, int64 now) {
    Due due{pg::due_hint(store::task_due_channel(hub))};
    if (due.hint.known && due.hint.due > now) {
        due.page.next = due.hint.due;
    } else {
        due.asked = true;
        due.read(hub, now);
    }
    return due;
}

// Tells when to look again, if nothing that was due is left after this claim.
void tell_next_due(const store::Hub& hub, const Due& due,
                   std::span<const store::HeldTask> granted) {
    if (!due.asked || !due.first || due.page.more || store::has_old_prepared()) {
        return;
    }
    const auto taken =
        std::count_if(granted.begin(), granted.end(),
                      [&due](const store::HeldTask& task) { return due.holds(task.id); });
    if (taken == due.ids.count) {
        pg::note_due_known(store::task_due_channel(hub), due.hint, due.page.next);
    }
}

// One stream of a merge: what was seen of it and not tried yet.
struct Stream {
    store::TaskStream range;
    pg::List<store::TaskPlace> seen;
    int next;
    store::TaskPlace last;  // behind which it goes on
    bool ended;
    bool full;  // its lane has no place left, for now
    bool due;   // of delayed tasks
};

struct Merge {
    const store::Hub& hub;
    int64 now;
    int chunk;
    Limits* limits;
    const Due& due;
    pg::List<Stream> streams;

    void open(std::span<const store::TaskStream> ranges) {
        for (const auto& range : ranges) {
            streams.add({range, {}, 0, {}, false, false, false});
        }
        for (const auto& peek : store::peek_heads(hub, ranges, now, chunk)) {
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
        const auto more = store::peek_behind(hub, stream->range, stream->last, now, chunk);
        stream->seen.count = 0;
        stream->next = 0;
        for (const auto& place : more) {
            stream->seen.add(place);
        }
        stream->ended = more.size() < static_cast<std::size_t>(chunk);
    }

    // The head of all streams whose lanes have places.
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
            if (!twice && !limits->reserve(head->range.lane, now)) {
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

    // What was reserved is settled: lanes may have places again.
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
        const auto more = store::hold_eligible(merge->hub, batch.span(), merge->now);
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

// The lanes with ready tasks, a few at a time, once around.
struct Rotation {
    Oid table;
    std::string_view start;  // begins behind it
    std::string_view last;
    bool around = false;  // goes on from the first lane to start
    bool ended = false;

    explicit Rotation(Oid tasks) : table(tasks) {
        auto* position = static_cast<pg::Position*>(palloc(sizeof(pg::Position)));
        *position = pg::rotation_of(table);
        start = position->text();
        last = start;
    }

    pg::List<std::string_view> next(const store::Hub& hub) {
        pg::List<std::string_view> lanes;
        while (lanes.count < kMostLanes && !ended) {
            const int wanted = kMostLanes - lanes.count;
            const auto found =
                store::ready_lanes(hub, last, around ? std::optional(start) : std::nullopt, wanted);
            for (const auto lane : found) {
                last = lanes.add(lane);
            }
            if (found.size() < static_cast<std::size_t>(wanted)) {
                ended = around || start.empty();
                around = true;
                last = {};
            }
        }
        if (!ended) {
            pg::rotate_to(table, last);
        }
        return lanes;
    }
};

// Ready lanes, and those of tasks that are due, each once.
std::span<const std::string_view> with_due_lanes(std::span<const std::string_view> ready,
                                                 std::span<const store::DueTaskPeek> tasks) {
    pg::List<std::string_view> lanes;
    for (const auto lane : ready) {
        lanes.add(lane);
    }
    for (const auto& task : tasks) {
        lanes.add(task.stream.lane);
    }
    std::sort(lanes.begin(), lanes.end());
    lanes.count = static_cast<int>(std::unique(lanes.begin(), lanes.end()) - lanes.begin());
    return lanes.span();
}

// A claim on its way to the tasks that it takes.
struct Search {
    const store::Hub& hub;
    const ClaimRequest& request;
    int64 now;
    Due* due;
    Limits* limits;
    pg::List<store::HeldTask> held{};
    bool lost = false;

    bool wants_more() const { return held.count < request.max; }

    // Holds the next tasks of these lanes, each named once: ready ones, unless without_ready, and
    // those of the due tasks that fit.
    void hold_of(std::span<const std::string_view> lanes, std::span<const store::DueTaskPeek> tasks,
                 bool without_ready = false) {
        const int wanted = request.max - held.count;
        const auto ranges =
            store::fitting_streams(hub, lanes, request.capabilities, slots_of(hub, request.slots));
        const auto fitting = fitting_due(tasks, ranges);
        if (!without_ready && ranges.size() == 1 && fitting.empty()) {
            const auto* lane = limits->find(ranges[0].lane, now);
            const int max =
                lane == nullptr ? wanted : static_cast<int>(std::min<int64>(wanted, lane->places));
            bool others = false;
            if (max > 0) {
                add_all(&held, store::hold_heads(hub, ranges[0], now, max, &others));
            }
            lost = lost || others;
            return;
        }
        const auto streams = static_cast<int>(ranges.size());
        const int share = 2 * wanted / std::max(streams, 1) + 2;
        const int chunk = std::max(
            share, std::min(std::max(wanted, kLeastPeek), kMostPeeks / std::max(streams, 1)));
        Merge merge{hub, now, chunk, limits, *due, {}};
        if (!without_ready && !ranges.empty()) {
            merge.open(ranges);
        }
        merge.add_due(fitting);
        lost = hold_merged(&merge, request.max, &held) || lost;
    }

    // Of all lanes. What has been found is enough once a look added nothing to it.
    void hold_of_all() {
        Rotation rotation(hub.relations.tasks);
        const auto due_lanes = with_due_lanes({}, due->page.tasks);
        hold_of(with_due_lanes(rotation.next(hub).span(), due->page.tasks), due->page.tasks);
        bool go_on = true;
        while (go_on && !rotation.ended && wants_more()) {
            const int before = held.count;
            auto lanes = rotation.next(hub);
            lanes.count =
                static_cast<int>(std::remove_if(lanes.begin(), lanes.end(),
                                                [&due_lanes](std::string_view lane) {
                                                    return std::binary_search(
                                                        due_lanes.begin(), due_lanes.end(), lane);
                                                }) -
                                 lanes.begin());
            hold_of(lanes.span(), {});
            go_on = held.count == 0 || held.count > before;
            CHECK_FOR_INTERRUPTS();
        }
    }

    void run() {
        if (request.lanes) {
            hold_of(with_due_lanes(*request.lanes, {}), due->page.tasks);
        } else {
            hold_of_all();
        }
        while (held.count == 0 && due->page.more) {
            due->read_next(hub, now);
            hold_of(request.lanes ? with_due_lanes(*request.lanes, {})
                                  : with_due_lanes({}, due->page.tasks),
                    due->page.tasks, true);
            CHECK_FOR_INTERRUPTS();
        }
    }
};

store::LeaseGrant grant(const store::Hub& hub, const store::HeldTask& task, int64 lease_ms,
                        int64 now) {
    std::optional<int64> attempt_deadline = task.attempt_deadline;
    const bool begins = !core::continues_attempt(task.pending);
    if (begins || (attempt_deadline && *attempt_deadline <= now)) {
        attempt_deadline = task.attempt_timeout
                               ? std::optional(core::add_ms(now, *task.attempt_timeout))
                               : std::nullopt;
    }
    struct {
        pg_uuid_t nonce;
        uint32 step;
    } random;
    pg::fill_random(&random, sizeof random);
    return {task.id, attempt_deadline,
            core::cap_deadline(core::add_ms(now, lease_ms), attempt_deadline, task.deadline).until,
            core::next_epoch(task.lease_epoch, hub.epoch_floor,
                             pg::settings.dense_epochs ? 0 : random.step),
            random.nonce};
}

void tell(const store::Hub& hub, const ClaimRequest& request, const store::Rows& rows,
          std::span<const uint64> order, int64 now) {
    if (!store::wants_event(hub, kAcquired) && !store::wants_event(hub, kReclaimed)) {
        return;
    }
    for (const uint64 i : order) {
        store::Task task{};
        task.id = rows.uuid(i, kId);
        task.lane = rows.text(i, kLane);
        task.attempt_index = rows.int4(i, kAttempt);
        task.attempt_worker = request.worker;
        task.attempt_instance = request.worker_instance;
        if (!rows.is_null(i, kFlow)) {
            task.flow_id = rows.uuid(i, kFlow);
        }
        const bool reclaimed = rows.text(i, kPending) == "reclaim";
        tell_lease(hub, task,
                   {.event = reclaimed ? kReclaimed : kAcquired, .epoch = rows.int8(i, kEpoch)},
                   now);
    }
}

// What is told of one claimed task at most, of what is left of the whole claim.
int64 share_of(int64 left_of_claim) {
    return std::min(kMostOfOne, left_of_claim);
}

// A column of the answer: a jsonb for each claimed row, 0 for none.
struct ClaimedJson {
    const store::Rows& rows;
    Datum* values;

    explicit ClaimedJson(const store::Rows& claimed)
        : rows(claimed),
          values(static_cast<Datum*>(palloc0(sizeof(Datum) * (claimed.count + 1)))) {}
    void set(const pg_uuid_t& id, StringInfo text) {
        for (uint64 i = 0; i < rows.count; ++i) {
            const pg_uuid_t claimed = rows.uuid(i, kId);
            if (memcmp(claimed.data, id.data, UUID_LEN) == 0) {
                values[i] = pg::jsonb_datum({text->data, static_cast<std::size_t>(text->len)});
            }
        }
    }
};

// The columns of store::upstream_of_claim.
enum UpstreamColumn { kMember = 1, kUpstream, kKey, kPassAs, kState, kResult };

void append_optional(StringInfo out, std::optional<std::string_view> text) {
    if (text) {
        append_json(out, *text);
    } else {
        appendStringInfoString(out, "null");
    }
}

// The task before a member: with its result, as long as something is left for that.
void append_upstream(StringInfo out, const store::Rows& rows, uint64 row, int64* left) {
    appendStringInfo(out,
                     "{\"task_id\":\"%s\",\"key\":", store::uuid_text(rows.uuid(row, kUpstream)));
    append_optional(out, rows.optional_text(row, kKey));
    appendStringInfoString(out, ",\"pass_as\":");
    append_optional(out, rows.optional_text(row, kPassAs));
    appendStringInfoString(out, ",\"state\":");
    append_json(out, rows.text(row, kState));
    const int before = out->len;
    appendStringInfoString(out, ",\"result\":");
    if (*left < 0 || !append_within(out, rows, row, kResult, left)) {
        *left = -1;  // nor the results behind it
        out->len = before;
        appendStringInfoString(out, ",\"truncated\":true");
    }
    appendStringInfoChar(out, '}');
}

// What the members of flows among the rows are told of the tasks before them.
Datum* upstream_of(const store::Hub& hub, const store::Rows& rows, int64* left_of_claim) {
    ClaimedJson column(rows);
    pg::List<pg_uuid_t> members;
    for (uint64 i = 0; i < rows.count; ++i) {
        if (!rows.is_null(i, kFlow)) {
            members.add(rows.uuid(i, kId));
        }
    }
    const store::Rows found =
        members.count == 0 ? store::Rows{} : store::upstream_of_claim(hub, members.span());
    for (uint64 i = 0; i < found.count;) {
        const pg_uuid_t member = found.uuid(i, kMember);
        StringInfo out = makeStringInfo();
        const int64 share = share_of(*left_of_claim);
        int64 left = share;
        do {
            appendStringInfoChar(out, out->len == 0 ? '[' : ',');
            append_upstream(out, found, i, &left);
            ++i;
        } while (i < found.count &&
                 memcmp(found.uuid(i, kMember).data, member.data, UUID_LEN) == 0);
        appendStringInfoChar(out, ']');
        column.set(member, out);
        *left_of_claim -= share - std::max<int64>(left, 0);
    }
    return column.values;
}

// The signals for tasks whose attempt goes on after a suspension.
Datum* signals_of(const store::Hub& hub, const store::Rows& rows, int64* left_of_claim) {
    ClaimedJson column(rows);
    pg::List<pg_uuid_t> continued;
    for (uint64 i = 0; i < rows.count; ++i) {
        const auto pending = core::parse_pending(rows.text(i, kPending));
        if (pending && core::continues_attempt(*pending)) {
            continued.add(rows.uuid(i, kId));
        }
    }
    const store::Rows left_last = continued.count == 0 || !store::has_suspensions(hub)
                                      ? store::Rows{}
                                      : store::suspensions_left_last(hub, continued.span());
    for (uint64 i = 0; i < left_last.count; ++i) {
        const pg_uuid_t task = left_last.uuid(i, 1);
        const int64 share = share_of(*left_of_claim);
        int64 left = share;
        StringInfo out = makeStringInfo();
        append_signals(out, read_signal_texts(hub, task, left_last.int4(i, 2), &left),
                       std::nullopt);
        column.set(task, out);
        *left_of_claim -= share - left;
    }
    return column.values;
}

// What a claim that found nothing has to know.
struct Missed {
    bool lost;         // others had what it tried
    int64 next_due;    // of what was not due yet
    uint64 due_moves;  // 0: it did not look
    bool settled;      // so many leases were over that there may be more of them
};

Claimed claim_now(const store::Hub& hub, const ClaimRequest& request, pg::Clock* clock,
                  Missed* missed) {
    *missed = {false, core::kNever, 0, false};
    if (!try_enter(hub, {.tasks = true}) || hub.is_paused(store::Queue::kTasks)) {
        return {};
    }
    missed->settled = settle_leases(hub, clock, kMostSettled) >= kMostSettled;
    const int64 begin = clock->now();
    Due due = look_at_due(hub, begin);
    missed->due_moves = due.hint.moves;
    Limits limits{hub, {}};
    Search search{.hub = hub, .request = request, .now = begin, .due = &due, .limits = &limits};
    search.run();
    missed->lost = search.lost;
    missed->next_due = due.page.next;
    const int64 now = clock->now();
    pg::List<store::LeaseGrant> grants;
    pg::List<store::HeldTask> granted;
    for (const auto& task : search.held) {
        const auto given = grant(hub, task, request.lease_ms, now);
        // With the server's clock a deadline may have passed since the task was found.
        if (given.lease_until > now) {
            grants.add(given);
            granted.add(task);
        }
    }
    tell_next_due(hub, due, granted.span());
    if (grants.count == 0) {
        return {};
    }
    const store::Rows rows =
        store::acquire(hub, grants.span(), request.worker, request.worker_instance, now);
    limits.charge(granted.span(), now);
    auto* order = static_cast<uint64*>(palloc(sizeof(uint64) * rows.count));
    auto* places = static_cast<store::TaskPlace*>(palloc(sizeof(store::TaskPlace) * rows.count));
    for (uint64 i = 0; i < rows.count; ++i) {
        order[i] = i;
        places[i] = {rows.int4(i, kPriority), rows.int8(i, kAvailableAt), rows.uuid(i, kId)};
        pg::count_duration(hub.schema, pg::CountedQueue::kTasks, pg::Duration::kWait,
                           now - places[i].available_at);
    }
    std::sort(order, order + rows.count,
              [places](uint64 a, uint64 b) { return places[a].before(places[b]); });
    const std::span<const uint64> in_order{order, static_cast<std::size_t>(rows.count)};
    tell(hub, request, rows, in_order, now);
    int64 left = kMostOfAnswer;
    Datum* const upstream = upstream_of(hub, rows, &left);
    return {rows, in_order, upstream, signals_of(hub, rows, &left)};
}

// The channels of the lanes that the worker serves, with their versions before the claim.
struct Watched {
    pg::Channel channel;
    uint64 version;
};

std::span<const Watched> watch(const store::Hub& hub, const ClaimRequest& request) {
    pg::List<Watched> watched;
    const auto add = [&watched](const pg::Channel& channel) {
        watched.add({channel, pg::queue_version(channel)});
    };
    add(store::all_lanes_channel(hub));
    if (request.lanes) {
        for (const auto lane : *request.lanes) {
            add(store::lane_channel(hub, lane));
        }
    }
    return watched.span();
}

// Whether something of these lanes may be ready since.
bool has_moved(std::span<const Watched> watched, const ClaimRequest& request) {
    // The first is that of all lanes.
    const auto own = request.lanes ? watched.subspan(1) : watched;
    return std::any_of(own.begin(), own.end(), [](const Watched& lane) {
        return pg::queue_version(lane.channel) != lane.version;
    });
}

// Whether something has fallen due since, or may have: it came later, and is due already.
bool has_fallen_due(const store::Hub& hub, const Missed& missed, int64 now) {
    if (missed.next_due <= now) {
        return true;
    }
    const auto hint = pg::due_hint(store::task_due_channel(hub));
    return missed.due_moves != 0 && hint.moves != missed.due_moves && hint.due <= now;
}

}  // namespace

int64 promote_tasks(const store::Hub& hub, int64 now, int limit) {
    const pg::Channel channel = store::task_due_channel(hub);
    const auto hint = pg::due_hint(channel);
    // In a transaction block nobody knows how long it lasts.
    if (!IsTransactionBlock()) {
        pg::note_moving(channel);
    }
    const int64 promoted = store::promote_due(hub, now, limit);
    if (promoted < limit && !store::has_old_prepared()) {
        pg::note_due_known(channel, hint, store::next_delayed(hub, now));
    }
    return promoted;
}

Claimed claim_tasks(const store::Hub& hub, const ClaimRequest& request, pg::Clock* clock) {
    constexpr int kMostLooks = 32;
    constexpr int kUnprompted = 3;
    constexpr int kMostNaps = 100;
    std::span<const Watched> watched;
    Claimed claimed;
    int naps = 0;
    for (int looks = 1;; ++looks) {
        Missed missed{};
        watched = watch(hub, request);
        claimed = claim_now(hub, request, clock, &missed);
        if (!claimed.order.empty()) {
            break;
        }
        // Whoever was faster may have left something that our snapshot was too old for, or lets go
        // of what it held before it tells. A duty that makes due tasks ready has them for a moment.
        const bool moving = missed.lost && pg::is_moving(store::task_due_channel(hub));
        pg::settle_prepared();
        if (looks < kMostLooks &&
            (has_moved(watched, request) || has_fallen_due(hub, missed, clock->now()) ||
             missed.settled || (missed.lost && looks < kUnprompted))) {
            continue;
        }
        if (!moving || naps++ == kMostNaps) {
            break;
        }
        pg::nap(1);
    }
    for (const auto& [channel, version] : watched) {
        if (!claimed.order.empty()) {
            pg::settle_hint(channel, false);
        } else if (request.lanes && channel == store::all_lanes_channel(hub)) {
            pg::settle_hint(channel, true);  // other lanes may have work
        } else {
            pg::remember_empty(channel, version);
        }
    }
    if (claimed.order.empty()) {
        pg::count(hub.schema, pg::CountedQueue::kTasks, pg::Counter::kEmptyFetches);
    } else {
        pg::count(hub.schema, pg::CountedQueue::kTasks, pg::Counter::kFetched,
                  static_cast<int64>(claimed.order.size()));
    }
    return claimed;
}

}  // namespace belay::ops
