// fetch_work_item.cpp — lease the next activities: try, skip, continue; never wait.
//
// Calls    store::take_heads, store::lanes_to_fetch, store::peek_*, store::seems_free, store::take,
//          store::try_claim_session
// Touches  <hub>.worker_queue, <hub>.sessions, <hub>.dead_letters
// Locks    worker rows and sessions, always without waiting
// Raises   nothing itself
//
// The queue is a set of streams: per lane and slot the rows never delayed, in the order of their
// ids, and the delayed rows that are due, in the order (due, id). The fetch takes the lowest id of
// all heads (FW-3). Every candidate is tried once: a stream only moves forward. A delayed head that
// the caller cannot take is tried out of turn; otherwise rows behind it with lower ids would wait.
//
// A fetch of every tag proceeds in looks. A look opens kMostLanes lanes, beginning behind the lanes
// of the previous look (shmem/rotation). With at most kMostLanes lanes, rows come in the order of
// all heads; with more, the order holds within a look, and each lane gets its turn. Looks follow
// until the request is filled, so an empty answer means that no row was eligible. A fetch that has
// looked at all lanes records which had free rows (shmem/open_lanes); later ones look at these
// only.
#include <algorithm>

#include "core/hash.hpp"
#include "core/time.hpp"
#include "ops/worker_queue/worker_queue.hpp"
#include "pg/datum.hpp"
#include "pg/list.hpp"
#include "pg/subtransaction.hpp"
#include "shmem/counters.hpp"
#include "shmem/open_lanes.hpp"
#include "shmem/rotation.hpp"
#include "store/sessions.hpp"
#include "store/table/table.hpp"
#include "store/waking.hpp"

namespace belay::ops {

namespace {

constexpr int kPage = 16;
// How many rows of sessions that other owners hold are passed one by one; then the search continues
// by session instead of by row.
constexpr int kMaxWalk = 64;
// Lanes that one look of a fetch of every tag opens.
constexpr int kMostLanes = 32;

struct Stream {
    int32 lane;
    int16 slot;
    bool delayed;
    bool one_session = false;
    std::string_view session_id = {};  // of one_session
    int64 last_due = 0;                // the last row tried: the next page begins behind it
    int64 last_id = 0;
    store::Candidates page = {nullptr, 0};
    int at = 0;
    int asked = 0;  // the limit of the page: a shorter page is the last
    int walked = 0;
    bool looked_at = false;  // the head was not locked
    bool ended = false;
};

enum class Claim { kUnknown, kOwn, kOpen, kForeign };

struct KnownSession {
    std::string_view id;
    Claim claim;
};

struct Search {
    store::Tables& tables;
    const FetchRequest& request;
    pg::Clock* clock;
    std::span<const int16> slots;
    int64 now;  // for sessions; a look and a grant read the clock again
    pg::List<Stream> streams;
    pg::List<KnownSession> sessions;
    pg::List<store::Leased> leased;
    int new_sessions;
    bool lost_one;  // another session was quicker
    int page = kPage;

    bool wants_more() const { return leased.count < request.max_items; }

    store::LeaseTerms terms() const {
        return {.clock = clock, .lock_timeout_ms = request.lock_timeout_ms, .owner = request.owner};
    }
    store::Grant grant() const { return terms().grant(); }

    bool serves_tag(std::optional<std::string_view> tag) const {
        if (request.mode == core::TagMode::kAny) {
            return true;
        }
        if (!tag) {
            return core::serves_untagged(request.mode);
        }
        return core::serves_filter(request.mode) &&
               std::any_of(request.tags.begin(), request.tags.end(), [tag](Datum wanted) {
                   return wanted != 0 && pg::text_view(wanted) == *tag;
               });
    }

    // Keeps a leased row, or sets it aside if it has been leased too often before.
    void accept(const store::Leased& row) {
        const int64 most = tables.hub.options[store::Option::kMaxAttempts];
        if (most != store::kOff && row.attempt > most) {
            dead_letter_work_item(tables, row.key, row.attempt - 1, clock->now());
        } else {
            leased.add(row);
        }
    }
};

// The lanes that the request serves, in ascending order, without sessions' lanes.
pg::List<int32> tag_lanes(const FetchRequest& request) {
    pg::List<int32> lanes;
    if (core::serves_untagged(request.mode)) {
        lanes.add(0);
    }
    if (core::serves_filter(request.mode)) {
        for (const Datum tag : request.tags) {
            if (tag != 0) {
                lanes.add(core::lane_of(true, pg::text_view(tag), false));
            }
        }
    }
    if (lanes.count > 0) {
        std::sort(lanes.items, lanes.items + lanes.count);
        lanes.count =
            static_cast<int>(std::unique(lanes.items, lanes.items + lanes.count) - lanes.items);
    }
    return lanes;
}

// Opens the streams of the lanes. Returns for each lane until when it has no free row; none: it has
// one now.
std::span<const std::optional<int64>> add_streams(Search* search, std::span<const int32> lanes) {
    const auto [heads, empty_until] =
        store::peek_lanes(search->tables, lanes, search->slots, *search->clock);
    for (int i = 0; i < heads.count; ++i) {
        search->streams.add({.lane = heads.rows[i].key.lane,
                             .slot = heads.rows[i].key.slot,
                             .delayed = heads.rows[i].key.due != 0,
                             .page = {&heads.rows[i], 1},
                             .asked = 1});
    }
    return empty_until;
}

// With those of sessions, if the caller takes them.
pg::List<int32> lanes_of(const FetchRequest& request) {
    pg::List<int32> lanes;
    for (const int32 lane : tag_lanes(request)) {
        lanes.add(lane);
        if (request.owner) {
            lanes.add(lane + 1);
        }
    }
    return lanes;
}

void open_streams(Search* search) {
    const auto lanes = lanes_of(search->request);
    if (lanes.count > 0) {
        (void)add_streams(search, lanes.span());
    }
}

// The lanes of all tags, a few at a time, once around.
struct Rotation {
    Oid table;
    int32 start;  // begins behind it
    int32 last;
    bool around = false;  // continues from the first lane to start
    bool ended = false;

    explicit Rotation(Oid queue) : table(queue), start(-1), last(-1) {
        const rotation::Position position = rotation::position_of(table);
        if (position.size == sizeof start) {
            memcpy(&start, position.bytes, sizeof start);
        }
        last = start;
    }

    pg::List<int32> next(const Search& search) {
        pg::List<int32> lanes;
        while (lanes.count < kMostLanes && !ended) {
            const int wanted = kMostLanes - lanes.count;
            const auto found =
                store::lanes_to_fetch(search.tables, last, around ? start : PG_INT32_MAX,
                                      search.request.owner.has_value(), wanted);
            for (const int32 lane : found) {
                last = lanes.add(lane);
            }
            if (found.size() < static_cast<std::size_t>(wanted)) {
                ended = around || start < 0;
                around = true;
                last = -1;
            }
        }
        if (!ended) {
            rotation::move_to(table, {reinterpret_cast<const char*>(&last), sizeof last});
        }
        return lanes;
    }
};

// Makes the stream's head available. False at its end.
bool has_head(Search* search, Stream* stream) {
    if (stream->ended || stream->at < stream->page.count) {
        return !stream->ended;
    }
    if (stream->page.count < stream->asked) {
        stream->ended = true;
        return false;
    }
    const int page = search->page;
    stream->asked = page;
    stream->at = 0;
    stream->page =
        stream->one_session
            ? store::peek_session(search->tables, stream->session_id, stream->lane, stream->slot,
                                  stream->delayed, stream->last_due, stream->last_id, search->now,
                                  page)
            : store::peek_lane(search->tables, stream->lane, {&stream->slot, 1}, stream->delayed,
                               stream->last_due, stream->last_id, *search->clock, page);
    stream->ended = stream->page.count == 0;
    return !stream->ended;
}

KnownSession* known_session(Search* search, std::string_view id) {
    for (int i = 0; i < search->sessions.count; ++i) {
        if (search->sessions.items[i].id == id) {
            return &search->sessions.items[i];
        }
    }
    const auto stored = store::read_session(search->tables, id);
    Claim claim = Claim::kOpen;
    if (stored && stored->locked_until > search->now) {
        claim = stored->worker_id == *search->request.owner ? Claim::kOwn : Claim::kForeign;
    }
    return &search->sessions.add({id, claim});
}

// Whether the caller may take rows of the session now.
bool may_claim(const Search& search, const KnownSession& session) {
    switch (session.claim) {
        case Claim::kOwn:
            return true;
        case Claim::kOpen:
            return !search.request.max_new_sessions ||
                   search.new_sessions < *search.request.max_new_sessions;
        default:
            return false;
    }
}

// Whether the caller may take the stream's head. Whether another transaction holds the row is
// checked once for each head; whether the caller may claim its session is checked each time.
bool may_have_head(Search* search, Stream* stream) {
    const store::Candidate& head = stream->page.rows[stream->at];
    if (!search->serves_tag(head.tag) ||
        (head.session_id && !may_claim(*search, *known_session(search, *head.session_id)))) {
        return false;
    }
    stream->looked_at =
        stream->looked_at ||
        (!(head.session_id && store::is_session_held(search->tables, *head.session_id)) &&
         store::seems_free(search->tables, head.key));
    return stream->looked_at;
}

// The stream to take from, or null: of the rows never delayed the lowest id, of the delayed rows
// the lowest (due, id), and of these two the lower id; but the delayed one at once if the caller
// cannot have it, since the rows behind it may have lower ids.
Stream* lowest_head(Search* search) {
    Stream* best[2] = {nullptr, nullptr};
    for (int i = 0; i < search->streams.count; ++i) {
        Stream* stream = &search->streams.items[i];
        if (!has_head(search, stream)) {
            continue;
        }
        Stream*& lowest = best[stream->delayed ? 1 : 0];
        const auto place = [](const Stream* of) {
            const auto& key = of->page.rows[of->at].key;
            return std::pair(key.due, key.id);
        };
        if (lowest == nullptr || place(stream) < place(lowest)) {
            lowest = stream;
        }
    }
    if (best[0] == nullptr || best[1] == nullptr) {
        return best[0] != nullptr ? best[0] : best[1];
    }
    const auto id = [](const Stream* of) { return of->page.rows[of->at].key.id; };
    return id(best[0]) < id(best[1]) && may_have_head(search, best[1]) ? best[0] : best[1];
}

// Leases a row of a session, and the session with it. The row is locked first, because a session
// must not be claimed for a row that another fetch has. If another owner gets the session, the lock
// is released at once.
void try_session_row(Search* search, const store::Candidate& candidate, KnownSession* session) {
    bool lost_session = false;
    const bool kept = pg::keep_if([search, &candidate, session, &lost_session] {
        const store::Grant grant = search->grant();
        const auto attempts = store::try_hold_free(search->tables, candidate.key, grant.now);
        if (!attempts) {
            return false;
        }
        const int64 most = search->tables.hub.options[store::Option::kMaxAttempts];
        if (most != store::kOff && *attempts >= most) {
            dead_letter_work_item(search->tables, candidate.key, *attempts, grant.now);
            return true;
        }
        if (!store::try_claim_session(
                search->tables, *candidate.session_id, *search->request.owner, grant.now,
                core::add_ms(grant.now, search->request.session_timeout_ms))) {
            lost_session = true;
            return false;
        }
        const auto row = store::take(search->tables, candidate, grant);
        if (!row) {
            return false;
        }
        search->new_sessions += session->claim == Claim::kOpen ? 1 : 0;
        session->claim = Claim::kOwn;
        search->accept(*row);
        return true;
    });
    search->lost_one = search->lost_one || !kept;
    if (lost_session) {
        session->claim = Claim::kForeign;
    }
}

// Continues by session: a stream per session that the caller may take from.
void split_by_session(Search* search, Stream* stream) {
    const Stream lane = *stream;
    stream->ended = true;
    const auto heads =
        store::peek_sessions(search->tables, *search->request.owner, lane.lane, lane.slot,
                             lane.delayed, lane.last_due, lane.last_id, search->now);
    for (int i = 0; i < heads.count; ++i) {
        Stream session = lane;
        session.one_session = true;
        session.session_id = *heads.rows[i].session_id;
        session.page = {&heads.rows[i], 1};
        session.at = 0;
        session.asked = 1;
        session.walked = 0;
        session.looked_at = false;
        search->streams.add(session);
    }
}

// The stream's head, behind which the stream now stands.
store::Candidate next_candidate(Stream* stream) {
    const store::Candidate candidate = stream->page.rows[stream->at++];
    stream->last_due = candidate.key.due;
    stream->last_id = candidate.key.id;
    stream->looked_at = false;
    return candidate;
}

// The head's session is another owner's.
void pass_foreign(Search* search, Stream* stream) {
    if (stream->one_session) {
        stream->ended = true;
    } else if (++stream->walked == kMaxWalk) {
        split_by_session(search, stream);
    }
}

void try_candidate(Search* search, Stream* stream) {
    const store::Candidate candidate = next_candidate(stream);
    if (!search->serves_tag(candidate.tag)) {
        return;  // another tag with the same hash
    }
    if (!candidate.session_id) {
        if (const auto row = store::take(search->tables, candidate, search->grant())) {
            search->accept(*row);
        } else {
            search->lost_one = true;
        }
        return;
    }
    KnownSession* session = known_session(search, *candidate.session_id);
    if (may_claim(*search, *session)) {
        try_session_row(search, candidate, session);
    } else {
        pass_foreign(search, stream);
    }
}

// Whether the caller could get a row, if it were to take all that came before in the search.
bool counts(Search* search, Stream* stream) {
    const store::Candidate candidate = next_candidate(stream);
    if (!search->serves_tag(candidate.tag) || !candidate.session_id) {
        return search->serves_tag(candidate.tag);
    }
    KnownSession* session = known_session(search, *candidate.session_id);
    if (!may_claim(*search, *session)) {
        pass_foreign(search, stream);
        return false;
    }
    search->new_sessions += session->claim == Claim::kOpen ? 1 : 0;
    session->claim = Claim::kOwn;
    return true;
}

// The common case: one lane, one slot, and nothing in the other ranges.
void take_from_head(Search* search) {
    if (search->request.mode == core::TagMode::kAny || search->slots.size() != 1) {
        return;
    }
    const auto lanes = tag_lanes(search->request);
    std::optional<std::string_view> tag;
    if (lanes.count != 1) {
        return;
    }
    if (lanes.items[0] != 0) {
        for (const Datum wanted : search->request.tags) {
            const auto text = wanted == 0 ? std::nullopt : std::optional(pg::text_view(wanted));
            if (text && tag && *tag != *text) {
                return;  // two tags with one hash
            }
            tag = text ? text : tag;
        }
    }
    while (search->wants_more()) {
        const int wanted = search->request.max_items - search->leased.count;
        const int before = search->leased.count;
        const auto rows =
            store::take_heads(search->tables, lanes.items[0], search->slots[0], tag,
                              search->request.owner.has_value(), search->terms(), wanted);
        for (int i = 0; i < rows.count; ++i) {
            search->accept(rows.rows[i]);
        }
        if (rows.count < wanted || search->leased.count == before + wanted) {
            return;
        }
    }
}

// Takes rows from the open streams until the request is filled or all streams have ended.
void take_from_streams(Search* search) {
    while (search->wants_more()) {
        Stream* stream = lowest_head(search);
        if (stream == nullptr) {
            break;
        }
        try_candidate(search, stream);
        CHECK_FOR_INTERRUPTS();
    }
}

open_lanes::Key open_lanes_key(const Search& search) {
    return {search.tables.hub.relations.worker_queue, search.tables.hub.incarnation};
}

bool serves_all_slots(const Search& search) {
    return search.slots.size() ==
           static_cast<std::size_t>(search.tables.hub.options[store::Option::kSlotCount]);
}

// Takes from the lanes that are known to be the only ones with free rows. False: that is not known.
bool take_from_open_lanes(Search* search) {
    const open_lanes::Key key = open_lanes_key(*search);
    const bool with_sessions = search->request.owner.has_value();
    pg::List<int32> own;
    if (!store::may_skip_by_memory() || !cursors::own_lanes(key.table, &own)) {
        return false;
    }
    const open_lanes::View view = open_lanes::read(key, with_sessions, search->now);
    if (!view.complete) {
        return false;
    }
    pg::List<open_lanes::Lane> open;
    for (int i = 0; i < view.count; ++i) {
        if (with_sessions || !store::is_session_lane(view.lanes[i].lane)) {
            open.add(view.lanes[i]);
        }
    }
    for (const int32 lane : own) {
        if (with_sessions || !store::is_session_lane(lane)) {
            open.add({lane, 0});
        }
    }
    for (int next = 0; next < open.count && search->wants_more(); next += kMostLanes) {
        pg::List<int32> lanes;
        for (int i = next; i < open.count && lanes.count < kMostLanes; ++i) {
            lanes.add(open.items[i].lane);
        }
        std::sort(lanes.begin(), lanes.end());
        lanes.count = static_cast<int>(std::unique(lanes.begin(), lanes.end()) - lanes.begin());
        search->now = search->clock->now();
        search->streams.count = 0;
        const auto empty_until = add_streams(search, lanes.span());
        for (int i = next; i < open.count && i < next + kMostLanes; ++i) {
            const auto* place = std::lower_bound(lanes.begin(), lanes.end(), open.items[i].lane);
            const auto until = empty_until[static_cast<std::size_t>(place - lanes.begin())];
            if (!until || (*until > search->now && serves_all_slots(*search) && own.count == 0)) {
                open_lanes::looked_at(key, open.items[i], until);
            }
        }
        take_from_streams(search);
    }
    return true;
}

// What a fetch records for later ones when it has looked at all lanes.
struct LookAtAll {
    open_lanes::Key key;
    uint64 number = 0;  // 0: nothing is recorded
    pg::List<int32> open{};
    int64 empty_until = core::kNever;

    void begin(const Search& search) {
        pg::List<int32> own;
        if (store::may_skip_by_memory() && serves_all_slots(search) &&
            cursors::own_lanes(key.table, &own) && own.count == 0) {
            number = open_lanes::begin(key, search.now);
        }
    }
    void add(std::span<const int32> lanes, std::span<const std::optional<int64>> until) {
        for (std::size_t i = 0; number != 0 && i < lanes.size(); ++i) {
            if (until[i]) {
                empty_until = std::min(empty_until, *until[i]);
            } else {
                open.add(lanes[i]);
            }
        }
    }
    void tell(const Search& search) const {
        if (number != 0) {
            open_lanes::complete(key, number, search.request.owner.has_value(), open.span(),
                                 empty_until);
        }
    }
};

void take_from_all_lanes(Search* search) {
    if (take_from_open_lanes(search)) {
        return;
    }
    const Oid table = search->tables.hub.relations.worker_queue;
    Rotation rotation(table);
    LookAtAll look{open_lanes_key(*search)};
    // Stops when a look adds nothing to the rows that were found before.
    bool go_on = true;
    for (int looks = 1; go_on && !rotation.ended && search->wants_more(); ++looks) {
        const int before = search->leased.count;
        if (looks == 2) {
            // There are many lanes, and the first ones did not fill the request: record the rest.
            look.begin(*search);
            if (look.number != 0) {
                rotation = Rotation(table);
            }
        }
        const auto lanes = rotation.next(*search);
        search->now = search->clock->now();
        search->streams.count = 0;
        look.add(lanes.span(), add_streams(search, lanes.span()));
        take_from_streams(search);
        go_on = search->leased.count == 0 || search->leased.count > before;
    }
    if (go_on && rotation.ended) {
        look.tell(*search);
    }
}

Search search_of(store::Tables& tables, const FetchRequest& request, pg::Clock* clock) {
    return {.tables = tables,
            .request = request,
            .clock = clock,
            .slots = slots_of(tables, request.slots),
            .now = clock->now(),
            .streams = {},
            .sessions = {},
            .leased = {},
            .new_sessions = 0,
            .lost_one = false};
}

struct Fetched {
    store::LeasedRows leased;
    bool lost_one;
};

Fetched fetch_now(store::Tables& tables, const FetchRequest& request, pg::Clock* clock) {
    // A table that is being changed hands out nothing: a fetch does not wait.
    if (request.mode == core::TagMode::kNone ||
        !try_enter(tables, {.worker_queue = true, .sessions = request.owner.has_value()}) ||
        tables.hub.is_paused(store::Queue::kWorker)) {
        return {{nullptr, 0}, false};
    }
    Search search = search_of(tables, request, clock);
    take_from_head(&search);
    if (request.mode == core::TagMode::kAny) {
        take_from_all_lanes(&search);
    } else if (search.wants_more()) {
        search.now = clock->now();
        open_streams(&search);
        take_from_streams(&search);
    }
    return {{search.leased.items, search.leased.count}, search.lost_one};
}

}  // namespace

store::LeasedRows fetch_work_items(store::Tables& tables, const FetchRequest& request,
                                   pg::Clock* clock) {
    const wakeups::Channel channel = store::worker_channel(tables);
    constexpr int kMostLooks = 8;
    constexpr int kUnprompted = 3;
    uint64 version = 0;
    store::LeasedRows leased{nullptr, 0};
    bool again = true;
    // Looks again if rows have become ready since: faster sessions may have left them. Also, a few
    // times, if another session held a row: it releases the row before the version changes.
    for (int look = 1; again && look <= kMostLooks; ++look) {
        version = wakeups::queue_version(channel);
        const Fetched fetched = fetch_now(tables, request, clock);
        leased = fetched.leased;
        again = leased.count == 0 && ((fetched.lost_one && look < kUnprompted) ||
                                      version != wakeups::queue_version(channel));
    }
    if (leased.count > 0) {
        wakeups::resolve_hint(channel, false);
    } else {
        wakeups::remember_empty(channel, version);
        counters::add(tables.hub.schema, counters::Queue::kWorker,
                      counters::Counter::kEmptyFetches);
    }
    counters::add(tables.hub.schema, counters::Queue::kWorker, counters::Counter::kFetched,
                  leased.count);
    return leased;
}

bool has_ready_work(store::Tables& tables, const FetchRequest& request, pg::Clock* clock,
                    int threshold) {
    if (request.mode == core::TagMode::kNone ||
        !try_enter(tables, {.worker_queue = true, .sessions = request.owner.has_value()}) ||
        tables.hub.is_paused(store::Queue::kWorker)) {
        return false;
    }
    pg::List<int32> lanes;
    if (request.mode == core::TagMode::kAny) {
        for (const int32 lane : store::lanes_to_fetch(tables, -1, PG_INT32_MAX,
                                                      request.owner.has_value(), kMostLanes)) {
            lanes.add(lane);
        }
    } else {
        lanes = lanes_of(request);
    }
    Search search = search_of(tables, request, clock);
    search.page = threshold;
    // From the beginning: a stream without a page asks for its first one.
    for (const int32 lane : lanes) {
        for (const int16 slot : search.slots) {
            for (const bool delayed : {false, true}) {
                search.streams.add({.lane = lane, .slot = slot, .delayed = delayed});
            }
        }
    }
    int ready = 0;
    // Streams of sessions are added meanwhile.
    for (int i = 0; i < search.streams.count && ready < threshold; ++i) {
        while (ready < threshold && has_head(&search, &search.streams.items[i])) {
            ready += counts(&search, &search.streams.items[i]) ? 1 : 0;
            CHECK_FOR_INTERRUPTS();
        }
    }
    return ready >= threshold;
}

}  // namespace belay::ops
