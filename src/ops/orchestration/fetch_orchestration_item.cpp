// fetch_orchestration_item.cpp — lease the next turns: try, check again, continue; never wait.
//
// Calls    store::peek_messages, store::try_hold_instance, store::lease_messages, store::grant_turn
// Touches  <hub>.orchestrator_queue, <hub>.instance_locks, <hub>.dead_letters
// Locks    the instance's exclusion, then its messages, always without waiting
// Raises   nothing itself
#include <algorithm>

#include "core/hash.hpp"
#include "core/time.hpp"
#include "ops/orchestration/orchestration.hpp"
#include "ops/orchestration/turn_view.hpp"
#include "pg/datum.hpp"
#include "pg/list.hpp"
#include "pg/locks.hpp"
#include "pg/scopes.hpp"
#include "pg/subtransaction.hpp"
#include "shmem/counters.hpp"
#include "store/instances.hpp"
#include "store/waking.hpp"

namespace belay::ops {

namespace {

constexpr int kPage = 32;
constexpr int kMaxKeys = 64;  // of instances whose messages were set aside
constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 20;  // of several turns

// ---------------------------------------------------------------- candidates

// One slot's messages in the order (visible_at, id).
struct Stream {
    int16 slot;
    std::span<const store::WaitingMessage> page;
    std::size_t at;
    int asked;
    int64 last_visible_at;
    int64 last_id;
    bool ended;
};

struct Search {
    store::Tables& tables;
    const TurnRequest& request;
    InstanceFilter filter;
    pg::Clock* clock;
    Stream* streams;
    int stream_count;
    std::string_view* tried;  // instances already examined by this call
    int tried_count;
    int tried_size;
    int keys_kept;
    bool lost;  // an instance was tried without success: most often another session had it
    pg::List<Turn> turns;
    std::size_t bytes;  // of them

    TurnSource source() const { return {tables, request, clock}; }
    bool wants_more() const { return turns.count < request.max_turns && bytes < kMaxAnswerBytes; }
    // Whether more must be known of a candidate than that it is free.
    bool asks_for_instances() const {
        return asks_for_pins(request.versions) || !request.names.all;
    }
};

void open_streams(Search* search) {
    const auto heads = store::peek_messages(
        search->tables, slots_of(search->tables, search->request.slots), PG_INT64_MIN, PG_INT64_MIN,
        *search->clock, search->asks_for_instances(), 1, RowExclusiveLock);
    search->streams = static_cast<Stream*>(palloc(sizeof(Stream) * (heads.size() + 1)));
    for (const auto& head : heads) {
        search->streams[search->stream_count++] = {.slot = head.slot,
                                                   .page = {&head, 1},
                                                   .at = 0,
                                                   .asked = 1,
                                                   .last_visible_at = 0,
                                                   .last_id = 0,
                                                   .ended = false};
    }
}

bool has_head(Search* search, Stream* stream) {
    if (stream->ended || stream->at < stream->page.size()) {
        return !stream->ended;
    }
    if (stream->page.size() < static_cast<std::size_t>(stream->asked)) {
        stream->ended = true;
        return false;
    }
    stream->asked = kPage;
    stream->at = 0;
    stream->page = store::peek_messages(search->tables, {&stream->slot, 1}, stream->last_visible_at,
                                        stream->last_id, *search->clock,
                                        search->asks_for_instances(), kPage, RowExclusiveLock);
    stream->ended = stream->page.empty();
    return !stream->ended;
}

// The oldest message that has not been looked at, or null.
const store::WaitingMessage* next_message(Search* search) {
    Stream* oldest = nullptr;
    for (int i = 0; i < search->stream_count; ++i) {
        Stream* stream = &search->streams[i];
        if (!has_head(search, stream)) {
            continue;
        }
        const auto place = [](const Stream& s) {
            return std::pair(s.page[s.at].visible_at, s.page[s.at].id);
        };
        if (oldest == nullptr || place(*stream) < place(*oldest)) {
            oldest = stream;
        }
    }
    if (oldest == nullptr) {
        return nullptr;
    }
    const store::WaitingMessage* message = &oldest->page[oldest->at++];
    oldest->last_visible_at = message->visible_at;
    oldest->last_id = message->id;
    return message;
}

// The place of the id in the table of instances examined, or the free one where it belongs.
std::string_view* place_of(const Search& search, std::string_view instance_id) {
    const auto mask = static_cast<std::size_t>(search.tried_size - 1);
    auto at = core::fnv1a64(instance_id) & mask;
    while (!search.tried[at].empty() && search.tried[at] != instance_id) {
        at = (at + 1) & mask;
    }
    return &search.tried[at];
}

// Whether this call looks at the instance for the first time.
bool is_new(Search* search, std::string_view instance_id) {
    if (search->tried_count * 2 >= search->tried_size) {
        const Search old = *search;
        search->tried_size = old.tried_size == 0 ? 32 : old.tried_size * 2;
        search->tried = static_cast<std::string_view*>(
            palloc0(sizeof(std::string_view) * static_cast<Size>(search->tried_size)));
        for (int i = 0; i < old.tried_size; ++i) {
            if (!old.tried[i].empty()) {
                *place_of(*search, old.tried[i]) = old.tried[i];
            }
        }
    }
    std::string_view* place = place_of(*search, instance_id);
    if (!place->empty()) {
        return false;
    }
    *place = instance_id;
    ++search->tried_count;
    return true;
}

// ---------------------------------------------------------------- exclusion

enum class Held { kNothing, kRow, kKey };

struct Exclusion {
    Held held;
    std::optional<store::HeldLock> row;

    core::CacheHint cache() const { return row ? row->cache : core::CacheHint{}; }
};

// Takes the instance's lock without waiting: its lock row, or the key of one that has no row yet.
Exclusion exclude(const Search& search, const store::WaitingMessage& message) {
    const std::string_view instance_id = message.instance_id;
    if (const auto row = store::try_hold_instance(search.tables, instance_id, message.lock_row,
                                                  search.clock->now())) {
        return {Held::kRow, row};
    }
    if (!pg::try_lock_instance(search.tables.hub.schema, core::instance_key(instance_id))) {
        return {Held::kNothing, std::nullopt};
    }
    if (!store::has_lock_row(search.tables, instance_id)) {
        return {Held::kKey, std::nullopt};
    }
    // The row was made before we had the key, is held by another transaction, or is a live lock.
    const auto row =
        store::try_hold_instance(search.tables, instance_id, std::nullopt, search.clock->now());
    return row ? Exclusion{Held::kRow, row} : Exclusion{Held::kNothing, std::nullopt};
}

// ---------------------------------------------------------------- the turn

// What was taken of the visible messages.
struct Batch {
    std::span<const store::LeasedMessage> leased;
    int64 lock_no;
    bool set_aside;   // some were leased too often and are dead letters now
    bool start_held;  // the start that has the context is in another transaction's hands
};

// Leases the lowest ids of a page up to the limits, without those that were leased too often, which
// are set aside, and those that others hold.
void lease_page(const Search& search, std::string_view instance_id, const View& view,
                std::span<const store::BatchMessage> page, Batch* batch) {
    const int64 most_attempts = search.tables.hub.options[store::Option::kMaxAttempts];
    const int64 most_bytes = search.tables.hub.options[store::Option::kBatchBytes];
    auto* wanted =
        static_cast<store::BatchMessage*>(palloc(sizeof(store::BatchMessage) * (page.size() + 1)));
    std::size_t count = 0;
    int64 bytes = 0;
    bool start_wanted = false;
    for (const auto& message : page) {
        const bool has_context =
            !view.history_execution && view.arrived.start && view.arrived.start->id == message.id;
        if (most_attempts != store::kOff && message.attempt >= most_attempts) {
            const bool set_aside = store::dead_letter_message(search.tables, instance_id,
                                                              message.id, search.clock->now());
            batch->set_aside = batch->set_aside || set_aside;
            batch->start_held = batch->start_held || (has_context && !set_aside);
            continue;
        }
        bytes += message.bytes;
        if (count > 0 && bytes > most_bytes) {
            break;
        }
        start_wanted = start_wanted || has_context;
        wanted[count++] = message;
    }
    if (count == 0) {
        return;
    }
    batch->lock_no = store::next_lock_no(search.tables);
    batch->leased =
        store::lease_messages(search.tables, instance_id, {wanted, count}, batch->lock_no);
    batch->start_held =
        batch->start_held ||
        (start_wanted && std::none_of(batch->leased.begin(), batch->leased.end(),
                                      [&view](const store::LeasedMessage& message) {
                                          return message.id == view.arrived.start->id;
                                      }));
}

// The batch: what the first page has for us, or the next one behind it.
Batch lease_batch(const Search& search, std::string_view instance_id, const View& view) {
    Batch batch{};
    auto page = view.messages;
    while (!page.empty()) {
        lease_page(search, instance_id, view, page, &batch);
        if (!batch.leased.empty() || batch.start_held) {
            break;
        }
        const int64 last = page.back().id;
        page = pg::with_one_view([&search, instance_id, last] {
            return visible_page(search.source(), instance_id, last);
        });
    }
    return batch;
}

// The messages of an instance that never started: queue messages alone are dropped, others wait
// aside for the start.
void set_orphans_aside(const Search& search, std::string_view instance_id, const View& view) {
    if (view.arrived.others_queued) {
        store::park_messages(search.tables, instance_id, search.clock->now());
    } else {
        store::drop_queue_messages(search.tables, instance_id, search.clock->now());
    }
}

struct Attempt {
    std::optional<Turn> turn;
    bool changed;  // messages were set aside, though there is no turn
};

// Tries to take the turn of one instance. What it held is let go again unless something changed.
Attempt attempt_turn(const Search& search, std::string_view instance_id,
                     const Exclusion& exclusion) {
    const View view = pg::with_one_view([&search, instance_id, &exclusion] {
        return read_view(search.source(), instance_id, exclusion.cache());
    });
    if (view.messages.empty() ||
        (view.instance && !passes(search.request.versions, view.instance->pin))) {
        return {std::nullopt, false};  // changed since the candidate was seen
    }
    const auto context = find_context(view);
    if (!context) {
        if (!view.arrived.start_queued) {
            set_orphans_aside(search, instance_id, view);
        }
        return {std::nullopt, !view.arrived.start_queued};
    }
    if (!search.filter.includes(view.instance ? view.instance->pin : std::nullopt, context->name)) {
        return {std::nullopt, false};  // likewise, or its history has another name than its start
    }
    // It starts now: what waited for that waits no longer.
    const bool unparked = !view.instance && store::unpark_messages(search.tables, instance_id);
    const Batch batch = lease_batch(search, instance_id, view);
    if (batch.start_held) {
        return {std::nullopt, false};  // it waits as if the start were not visible yet
    }
    if (batch.leased.empty()) {
        return {std::nullopt, unparked || batch.set_aside};
    }
    const int64 now = search.clock->now();
    const int64 locked_until = core::add_ms(now, search.request.lock_timeout_ms);
    const core::TurnToken token = store::grant_turn(search.tables, instance_id, batch.lock_no,
                                                    exclusion.row, now, locked_until);
    int32 attempt = 0;
    for (const auto& message : batch.leased) {
        attempt = std::max(attempt, message.attempt);
    }
    return {Turn{.instance_id = instance_id,
                 .name = context->name,
                 .version = context->version,
                 .execution_id = context->execution_id,
                 .history = view.history,
                 .history_after = view.history_after,
                 .last_event_id = view.last_event_id,
                 .messages = messages_json(search.tables, batch.leased),
                 .token = token,
                 .locked_until = locked_until,
                 .attempt = attempt,
                 .kv_snapshot = view.kv_snapshot},
            true};
}

// An instance that is passed over must not stay locked for others by our transaction: what was
// tried without success is undone. Where messages were set aside the key is kept, so that a start
// waits for them; but there may be thousands of such instances, and the lock table is small: later
// ones release it, and the ack that creates the instance looks for messages that were just being
// set aside.
std::optional<Turn> try_instance(Search* search, const store::WaitingMessage& message) {
    const std::string_view instance_id = message.instance_id;
    Attempt attempt{};
    (void)pg::keep_if([search, &message, instance_id, &attempt] {
        const Exclusion exclusion = exclude(*search, message);
        if (exclusion.held == Held::kNothing) {
            return false;
        }
        attempt = attempt_turn(*search, instance_id, exclusion);
        if (!attempt.turn && attempt.changed && exclusion.held == Held::kKey &&
            ++search->keys_kept > kMaxKeys) {
            pg::unlock_instance(search->tables.hub.schema, core::instance_key(instance_id));
        }
        return attempt.changed;
    });
    search->lost = search->lost || !attempt.turn;
    return attempt.turn;
}

// The name of an orchestration that has no row yet; absent if its start is not there either.
std::optional<std::string_view> name_to_start(const Search& search, std::string_view instance_id) {
    return pg::with_one_view([&search, instance_id]() -> std::optional<std::string_view> {
        const auto arrived = store::read_arrivals(search.tables, instance_id, search.clock->now());
        return arrived.start ? std::optional(start_context(arrived.start, 1).name) : std::nullopt;
    });
}

// Whether the instance of a message may be tried, as far as is known without a lock. One that
// never started is: its messages are set aside, so that no other fetch meets them.
bool is_eligible(const Search& search, const store::WaitingMessage& message) {
    const bool asks_for_name = !search.request.names.all || !search.filter.name_pins.empty();
    const auto name =
        asks_for_name && !message.name ? name_to_start(search, message.instance_id) : message.name;
    return search.filter.includes(message.pin, name);
}

void keep_turn(Search* search, const Turn& turn, int64 ready_at) {
    search->turns.add(turn);
    search->bytes += turn.messages.size() + turn.history.value_or("").size() +
                     turn.kv_snapshot.value_or("").size();
    counters::add_duration(search->tables.hub.schema, counters::Queue::kOrchestrator,
                           counters::Duration::kWait, search->clock->now() - ready_at);
}

struct Fetched {
    std::span<const Turn> turns;
    bool lost_one;
};

Fetched fetch_now(store::Tables& tables, const TurnRequest& request, pg::Clock* clock) {
    // A table that is being changed hands out nothing: a fetch does not wait.
    if (is_empty(request.versions) ||
        !try_enter(tables,
                   {.orchestrator_queue = true, .instance_locks = true, .turn_reads = true}) ||
        tables.hub.is_paused(store::Queue::kOrchestrator)) {
        return {{}, false};
    }
    Search search{.tables = tables,
                  .request = request,
                  .filter = filter_of(tables, request),
                  .clock = clock,
                  .streams = nullptr,
                  .stream_count = 0,
                  .tried = nullptr,
                  .tried_count = 0,
                  .tried_size = 0,
                  .keys_kept = 0,
                  .lost = false,
                  .turns = {},
                  .bytes = 0};
    open_streams(&search);
    while (search.wants_more()) {
        const auto* message = next_message(&search);
        if (message == nullptr) {
            break;
        }
        CHECK_FOR_INTERRUPTS();
        if (!is_new(&search, message->instance_id) || !is_eligible(search, *message)) {
            continue;
        }
        const int64 ready_at = core::pg_us_to_ms(message->visible_at);
        if (const auto turn = try_instance(&search, *message)) {
            keep_turn(&search, *turn, ready_at);
        }
    }
    return {search.turns.span(), search.lost};
}

}  // namespace

std::span<const Turn> fetch_turns(store::Tables& tables, const TurnRequest& request,
                                  pg::Clock* clock) {
    const wakeups::Channel channel = store::orchestrator_channel(tables);
    constexpr int kMostLooks = 8;
    constexpr int kUnprompted = 3;
    uint64 version = 0;
    std::span<const Turn> turns;
    bool again = true;
    // A faster session may have left something that our snapshot or clock was too old for. Those
    // that give an instance back let go of its key only after the version has moved.
    for (int look = 0; again && look < kMostLooks; ++look) {
        version = wakeups::queue_version(channel);
        const Fetched fetched = fetch_now(tables, request, clock);
        turns = fetched.turns;
        again = turns.empty() && ((fetched.lost_one && look + 1 < kUnprompted) ||
                                  wakeups::queue_version(channel) != version);
    }
    if (turns.empty()) {
        wakeups::remember_empty(channel, version);
        counters::add(tables.hub.schema, counters::Queue::kOrchestrator,
                      counters::Counter::kEmptyFetches);
    } else {
        wakeups::resolve_hint(channel, false);
        counters::add(tables.hub.schema, counters::Queue::kOrchestrator,
                      counters::Counter::kFetched, static_cast<int64>(turns.size()));
    }
    return turns;
}

}  // namespace belay::ops
