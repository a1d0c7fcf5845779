// fetch_orchestration_item.cpp — lease the next turn: try, check again, go on; never wait.
//
// Calls    store::peek_messages, store::try_hold_instance, store::lease_messages, store::grant_turn
// Touches  <hub>.orchestrator_queue, <hub>.instance_locks, <hub>.dead_letters
// Locks    the instance's exclusion, then its messages, always without waiting
// Raises   nothing of its own
#include <algorithm>

#include "core/hash.hpp"
#include "core/time.hpp"
#include "ops/orchestration/orchestration.hpp"
#include "pg/datum.hpp"
#include "pg/locks.hpp"
#include "pg/scopes.hpp"
#include "pg/subtransaction.hpp"
#include "store/history.hpp"
#include "store/instances.hpp"
#include "store/kv.hpp"
#include "pg/counters.hpp"
#include "store/waking.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

constexpr int kPage = 32;
constexpr int kMaxKeys = 64;  // of instances whose messages were set aside
constexpr int64 kMaxHistoryBytes = int64{64} << 20;
constexpr int64 kHistoryPage = 1000;
constexpr std::size_t kMaxStringElement = std::size_t{32} << 20;
constexpr std::size_t kCutStringElement = std::size_t{1} << 20;
constexpr int64 kMaxSnapshotBytes = int64{64} << 20;

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
    const store::Hub& hub;
    const TurnRequest& request;
    pg::Clock* clock;
    Stream* streams;
    int stream_count;
    std::string_view* tried;  // instances already examined by this call
    int tried_count;
    int tried_size;
    int keys_kept;
    bool lost;  // an instance was tried in vain: most often somebody else had it
};

void open_streams(Search* search) {
    const auto heads = store::peek_messages(
        search->hub, slots_of(search->hub, search->request.slots), PG_INT64_MIN, PG_INT64_MIN,
        *search->clock, asks_for_pins(search->request.versions), 1);
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
    stream->page = store::peek_messages(search->hub, {&stream->slot, 1}, stream->last_visible_at,
                                        stream->last_id, *search->clock,
                                        asks_for_pins(search->request.versions), kPage);
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

enum class Exclusion { kLost, kHeldRow, kHeldKey };

// Takes the instance's lock without waiting: its lock row, or the key of one that has no row yet.
Exclusion exclude(const Search& search, std::string_view instance_id) {
    if (store::try_hold_instance(search.hub, instance_id, search.clock->now())) {
        return Exclusion::kHeldRow;
    }
    if (!pg::try_lock_instance(search.hub.schema, core::instance_key(instance_id))) {
        return Exclusion::kLost;
    }
    if (!store::has_lock_row(search.hub, instance_id)) {
        return Exclusion::kHeldKey;
    }
    // Somebody made the row before we had the key, holds it, or has a live lock.
    return store::try_hold_instance(search.hub, instance_id, search.clock->now())
               ? Exclusion::kHeldRow
               : Exclusion::kLost;
}

// ---------------------------------------------------------------- context

// What is read after the exclusion, in one view.
struct View {
    std::optional<store::Instance> instance;
    std::span<const store::BatchMessage> messages;
    std::optional<int64> history_execution;    // without an instance row: the latest with events
    std::optional<store::StartMessage> start;  // likewise: the first that is visible
    bool start_queued;                         // likewise: visible or hidden
    bool others_queued;                        // likewise: visible ones that are no queue messages
    std::optional<std::string_view> history;
    std::optional<std::string_view> kv_snapshot;
    std::optional<std::string_view> started_name;  // of the first readable OrchestrationStarted
    std::optional<std::string_view> started_version;
};

// The bytes of jsonb that elements handed out as they stand may take in one array. What does not
// find room goes as a string, which takes its own length: for that the rest of an array is left.
struct Room {
    std::size_t bytes;

    explicit Room(store::Api api)
        : bytes(api == store::Api::kDuroxidePg ? json::kMaxJsonbBytes - kMaxHistoryBytes
                                               : SIZE_MAX) {}
};

// A text as an element of a JSON array: as it stands if jsonb could hold it, else as a string. Of a
// text that no string could hold only the beginning is handed out: what follows would not be JSON
// for a client either, and its messages must not be stuck.
void append_element(StringInfo out, std::string_view text, Room* room) {
    const auto bound = json::jsonb_bound(text);
    if (bound && *bound <= room->bytes) {
        room->bytes -= *bound;
        appendBinaryStringInfo(out, text.data(), static_cast<int>(text.size()));
    } else if (text.size() > kMaxStringElement) {
        append_json(out, clip(text, kCutStringElement));
    } else {
        append_json(out, text);
    }
}

std::optional<std::string_view> string_member(json::Value object, const char* name) {
    const auto value = json::find(object, name);
    if (!value || value->kind != json::Kind::kString || json::inspect(*value).has_nul) {
        return std::nullopt;
    }
    return decode(*value);
}

// Notes name and version of an OrchestrationStarted event that can be read.
void note_started(View* view, std::string_view text) {
    if (view->started_name) {
        return;
    }
    const auto event = json::parse(text);
    if (!event || event->kind != json::Kind::kObject ||
        string_member(*event, "type") != "OrchestrationStarted") {
        return;
    }
    view->started_name = string_member(*event, "name");
    view->started_version = string_member(*event, "version");
}

// Copies the history into one JSON array, unless it is too large to be handed out whole.
void read_history_json(const store::Hub& hub, std::string_view instance_id, int64 execution_id,
                       bool look_for_start, View* view) {
    StringInfo out = makeStringInfo();
    appendStringInfoChar(out, '[');
    Room room(hub.api);
    int64 total = 0;
    int64 after = PG_INT64_MIN;
    bool too_large = false;
    while (true) {
        const store::EventPage page =
            store::read_events(hub, instance_id, execution_id, after, kHistoryPage);
        for (const store::StoredEvent& event : page.events) {
            after = event.id;
            // The stored length, so that a huge history is not read at all.
            total += static_cast<int64>(toast_raw_datum_size(event.data)) - VARHDRSZ;
            too_large = too_large || total > kMaxHistoryBytes;
            if (too_large && (!look_for_start || view->started_name)) {
                break;
            }
            const std::string_view text = pg::text_view(event.data);
            if (look_for_start) {
                note_started(view, text);
            }
            if (!too_large) {
                if (out->len > 1) {
                    appendStringInfoChar(out, ',');
                }
                append_element(out, text, &room);
            }
        }
        const bool last = page.events.size() < static_cast<std::size_t>(kHistoryPage);
        page.release();
        if (last || (too_large && (!look_for_start || view->started_name))) {
            break;
        }
    }
    appendStringInfoChar(out, ']');
    if (!too_large) {
        view->history = std::string_view(out->data, static_cast<std::size_t>(out->len));
    }
}

// No value for a snapshot that is too large to be handed out whole: a client then reads it with
// get_kv_all_values.
std::optional<std::string_view> kv_json(const store::Hub& hub, std::string_view instance_id) {
    const store::Rows rows = store::read_store(hub, instance_id);
    int64 bytes = 0;
    for (uint64 i = 0; i < rows.count; ++i) {
        constexpr int64 kAround = 64;  // names, brackets and the time
        bytes += kAround + static_cast<int64>(toast_raw_datum_size(rows.datum(i, 1, TEXTOID))) +
                 static_cast<int64>(toast_raw_datum_size(rows.datum(i, 2, TEXTOID)));
    }
    if (bytes > kMaxSnapshotBytes) {
        return std::nullopt;
    }
    StringInfo out = makeStringInfo();
    appendStringInfoChar(out, '{');
    for (uint64 i = 0; i < rows.count; ++i) {
        if (i > 0) {
            appendStringInfoChar(out, ',');
        }
        append_json(out, rows.text(i, 1));
        appendStringInfoString(out, ":{\"value\":");
        append_json(out, rows.text(i, 2));
        appendStringInfo(out, ",\"last_updated_at_ms\":" INT64_FORMAT "}", rows.int8(i, 3));
    }
    appendStringInfoChar(out, '}');
    return std::string_view(out->data, static_cast<std::size_t>(out->len));
}

std::span<const store::BatchMessage> visible_page(const Search& search,
                                                  std::string_view instance_id, int64 after_id) {
    return store::visible_messages(search.hub, instance_id, search.clock->now(), after_id,
                                   search.hub.options[store::Option::kBatchMessages]);
}

View read_view(const Search& search, std::string_view instance_id) {
    View view{};
    view.instance = store::read_instance(search.hub, instance_id);
    view.messages = visible_page(search, instance_id, PG_INT64_MIN);
    if (view.instance) {
        if (passes(search.request.versions, view.instance->pin)) {
            read_history_json(search.hub, instance_id, view.instance->current_execution_id, false,
                              &view);
        }
    } else {
        view.history_execution = store::latest_execution_with_history(search.hub, instance_id);
        view.start = store::first_start(search.hub, instance_id, search.clock->now());
        view.start_queued = view.start || store::has_start(search.hub, instance_id);
        view.others_queued =
            store::has_other_than_queue_messages(search.hub, instance_id, search.clock->now());
        if (view.history_execution) {
            read_history_json(search.hub, instance_id, *view.history_execution, true, &view);
        } else {
            view.history = "[]";
        }
    }
    view.kv_snapshot = kv_json(search.hub, instance_id);
    return view;
}

struct Context {
    std::string_view name;
    std::string_view version;
    int64 execution_id;
};

// Name and version in a start message.
Context start_context(const std::optional<store::StartMessage>& start, int64 execution_id) {
    Context context{"Unknown", "unknown", execution_id};
    const auto item = start ? core::parse_work_item(start->work_item, nullptr) : std::nullopt;
    if (item) {
        context.name = string_member(item->body, "orchestration").value_or(context.name);
        context.version = string_member(item->body, "version").value_or(context.version);
    }
    return context;
}

// C1 to C4; no value for C5 and C6.
std::optional<Context> find_context(const View& view) {
    if (view.instance) {
        return Context{view.instance->name, view.instance->version.value_or("unknown"),
                       view.instance->current_execution_id};
    }
    if (view.history_execution) {
        if (view.started_name) {
            return Context{*view.started_name, view.started_version.value_or("unknown"),
                           *view.history_execution};
        }
        return start_context(view.start, *view.history_execution);
    }
    return view.start ? std::optional(start_context(view.start, 1)) : std::nullopt;
}

// ---------------------------------------------------------------- the turn

// What was taken of the visible messages.
struct Batch {
    std::span<const store::LeasedMessage> leased;
    int64 lock_no;
    bool buried;      // some were leased too often and are dead letters now
    bool start_held;  // the start that tells the context is in another transaction's hands
};

// Leases the lowest ids of a page up to the limits, without those that were leased too often, which
// are set aside, and those that others hold.
void lease_page(const Search& search, std::string_view instance_id, const View& view,
                std::span<const store::BatchMessage> page, Batch* batch) {
    const int64 most_attempts = search.hub.options[store::Option::kMaxAttempts];
    const int64 most_bytes = search.hub.options[store::Option::kBatchBytes];
    auto* ids = static_cast<int64*>(palloc(sizeof(int64) * (page.size() + 1)));
    std::size_t count = 0;
    int64 bytes = 0;
    bool start_wanted = false;
    for (const auto& message : page) {
        const bool tells_context =
            !view.history_execution && view.start && view.start->id == message.id;
        if (most_attempts != store::kOff && message.attempt >= most_attempts) {
            const bool buried =
                store::bury_message(search.hub, instance_id, message.id, search.clock->now());
            batch->buried = batch->buried || buried;
            batch->start_held = batch->start_held || (tells_context && !buried);
            continue;
        }
        bytes += message.bytes;
        if (count > 0 && bytes > most_bytes) {
            break;
        }
        start_wanted = start_wanted || tells_context;
        ids[count++] = message.id;
    }
    if (count == 0) {
        return;
    }
    batch->lock_no = store::next_lock_no(search.hub);
    batch->leased = store::lease_messages(search.hub, instance_id, {ids, count}, batch->lock_no);
    batch->start_held = batch->start_held ||
                        (start_wanted && std::none_of(batch->leased.begin(), batch->leased.end(),
                                                      [&view](const store::LeasedMessage& message) {
                                                          return message.id == view.start->id;
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
        page = pg::with_one_view(
            [&search, instance_id, last] { return visible_page(search, instance_id, last); });
    }
    return batch;
}

// The messages of an instance that never started: queue messages alone are dropped, others wait
// aside for the start.
void set_orphans_aside(const Search& search, std::string_view instance_id, const View& view) {
    if (view.others_queued) {
        store::park_messages(search.hub, instance_id, search.clock->now());
    } else {
        store::drop_queue_messages(search.hub, instance_id, search.clock->now());
    }
}

std::string_view messages_json(const store::Hub& hub,
                               std::span<const store::LeasedMessage> messages) {
    StringInfo out = makeStringInfo();
    Room room(hub.api);
    appendStringInfoChar(out, '[');
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (i > 0) {
            appendStringInfoChar(out, ',');
        }
        append_element(out, messages[i].work_item, &room);
    }
    appendStringInfoChar(out, ']');
    return {out->data, static_cast<std::size_t>(out->len)};
}

struct Attempt {
    std::optional<Turn> turn;
    bool changed;  // messages were set aside, though there is no turn
};

// Tries to take the turn of one instance. What it held is let go again unless something changed.
Attempt attempt_turn(const Search& search, std::string_view instance_id, Exclusion exclusion) {
    const View view =
        pg::with_one_view([&search, instance_id] { return read_view(search, instance_id); });
    if (view.messages.empty() ||
        (view.instance && !passes(search.request.versions, view.instance->pin))) {
        return {std::nullopt, false};  // changed since the candidate was seen
    }
    const auto context = find_context(view);
    if (!context) {
        if (!view.start_queued) {
            set_orphans_aside(search, instance_id, view);
        }
        return {std::nullopt, !view.start_queued};
    }
    // It starts now: what waited for that waits no longer.
    const bool unparked = !view.instance && store::unpark_messages(search.hub, instance_id);
    const Batch batch = lease_batch(search, instance_id, view);
    if (batch.start_held) {
        return {std::nullopt, false};  // it waits as if the start were not visible yet
    }
    if (batch.leased.empty()) {
        return {std::nullopt, unparked || batch.buried};
    }
    const int64 now = search.clock->now();
    const core::TurnToken token =
        store::grant_turn(search.hub, instance_id, batch.lock_no, exclusion == Exclusion::kHeldRow,
                          now, core::add_ms(now, search.request.lock_timeout_ms));
    int32 attempt = 0;
    for (const auto& message : batch.leased) {
        attempt = std::max(attempt, message.attempt);
    }
    return {Turn{.instance_id = instance_id,
                 .name = context->name,
                 .version = context->version,
                 .execution_id = context->execution_id,
                 .history = view.history,
                 .messages = messages_json(search.hub, batch.leased),
                 .token = token,
                 .attempt = attempt,
                 .kv_snapshot = view.kv_snapshot},
            true};
}

// An instance that is passed over must not stay locked for others by our transaction: what was
// tried in vain is undone. Where messages were set aside the key is kept, so that a start waits for
// them; but there may be thousands of such instances, and the lock table is small: later ones give
// it back, and the ack that creates the instance looks for messages that were just being set aside.
std::optional<Turn> try_instance(Search* search, std::string_view instance_id) {
    Attempt attempt{};
    (void)pg::keep_if([search, instance_id, &attempt] {
        const Exclusion exclusion = exclude(*search, instance_id);
        if (exclusion == Exclusion::kLost) {
            return false;
        }
        attempt = attempt_turn(*search, instance_id, exclusion);
        if (!attempt.turn && attempt.changed && exclusion == Exclusion::kHeldKey &&
            ++search->keys_kept > kMaxKeys) {
            pg::unlock_instance(search->hub.schema, core::instance_key(instance_id));
        }
        return attempt.changed;
    });
    search->lost = search->lost || !attempt.turn;
    return attempt.turn;
}

std::optional<Turn> fetch_now(const store::Hub& hub, const TurnRequest& request, pg::Clock* clock,
                              bool* lost) {
    // A table that is being changed hands out nothing: a fetch does not wait.
    if (is_empty(request.versions) ||
        !try_enter(hub, {.orchestrator_queue = true, .instance_locks = true, .turn_reads = true}) ||
        hub.is_paused(store::Queue::kOrchestrator)) {
        return std::nullopt;
    }
    Search search{.hub = hub,
                  .request = request,
                  .clock = clock,
                  .streams = nullptr,
                  .stream_count = 0,
                  .tried = nullptr,
                  .tried_count = 0,
                  .tried_size = 0,
                  .keys_kept = 0,
                  .lost = false};
    open_streams(&search);
    while (const auto* message = next_message(&search)) {
        CHECK_FOR_INTERRUPTS();
        if (!passes(request.versions, message->pin) || !is_new(&search, message->instance_id)) {
            continue;
        }
        const int64 ready_at = core::pg_us_to_ms(message->visible_at);
        if (const auto turn = try_instance(&search, message->instance_id)) {
            pg::count_duration(hub.schema, pg::CountedQueue::kOrchestrator, pg::Duration::kWait,
                               clock->now() - ready_at);
            return turn;
        }
    }
    *lost = search.lost;
    return std::nullopt;
}

}  // namespace

std::optional<Turn> fetch_orchestration_item(const store::Hub& hub, const TurnRequest& request,
                                             pg::Clock* clock) {
    const pg::Channel channel = store::orchestrator_channel(hub);
    constexpr int kMostLooks = 8;
    constexpr int kUnprompted = 3;
    uint64 version = 0;
    std::optional<Turn> turn;
    bool again = true;
    // Whoever was faster may have left something that our snapshot or clock was too old for.
    // Whoever gives an instance back lets go of its key only after the version has moved.
    for (int look = 0; again && look < kMostLooks; ++look) {
        bool lost = false;
        version = pg::queue_version(channel);
        turn = fetch_now(hub, request, clock, &lost);
        again =
            !turn && ((lost && look + 1 < kUnprompted) || pg::queue_version(channel) != version);
    }
    if (!turn) {
        pg::remember_empty(channel, version);
        pg::count(hub.schema, pg::CountedQueue::kOrchestrator, pg::Counter::kEmptyFetches);
    } else {
        pg::settle_hint(channel, false);
        pg::count(hub.schema, pg::CountedQueue::kOrchestrator, pg::Counter::kFetched);
    }
    return turn;
}

}  // namespace belay::ops
