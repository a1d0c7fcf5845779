// Tables queue_limits and queue_moves.
//
// Touches  these two tables, the hub's row; reads tasks to count the active ones of a queue
// Locks    the queue's key while places are counted and taken; the limits' row to add moves up
// Must not judge a limit: core/queue_limit.hpp does
#include "store/limits.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "pg/compat.hpp"
#include "pg/list.hpp"
#include "pg/locks.hpp"
#include "shmem/rotation.hpp"
#include "store/hub_row.hpp"
#include "store/shards.hpp"
#include "store/statements.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

using LimitRows = Out<Maybe<int64>, Maybe<double>, double, double, int64, int64>;
using MoveRows = Out<int64, int64>;

constexpr auto kTryLock = statement<In<Text>, LimitRows>(R"sql(
    SELECT l.concurrency, l.rate_per_s, l.burst, l.tokens, l.refilled_at_ms, l.active
      FROM {hub}.queue_limits AS l
     WHERE l.queue {=} $1
       FOR NO KEY UPDATE SKIP LOCKED
)sql");

constexpr auto kLock = statement<In<Text>, LimitRows>(R"sql(
    SELECT l.concurrency, l.rate_per_s, l.burst, l.tokens, l.refilled_at_ms, l.active
      FROM {hub}.queue_limits AS l
     WHERE l.queue {=} $1
       FOR UPDATE
)sql");

constexpr auto kRead = query<In<Text>, LimitRows>(R"sql(
    SELECT l.concurrency, l.rate_per_s, l.burst, l.tokens, l.refilled_at_ms, l.active
      FROM {hub}.queue_limits AS l
     WHERE l.queue {=} $1
)sql");

constexpr auto kReadMany =
    query<In<ListOf<Text>>, Out<Text, Maybe<int64>, Maybe<double>, double, double, int64, int64>>(
        R"sql(
    SELECT l.queue, l.concurrency, l.rate_per_s, l.burst, l.tokens, l.refilled_at_ms, l.active
      FROM {hub}.queue_limits AS l
     WHERE l.queue {=} ANY ($1)
)sql");

constexpr auto kMovesOfMany = query<In<ListOf<Text>>, Out<Text, int64, int64>>(R"sql(
    SELECT m.queue, m.places, m.at_ms FROM {hub}.queue_moves AS m WHERE m.queue {=} ANY ($1)
)sql");

constexpr auto kMoves = query<In<Text>, MoveRows>(R"sql(
    SELECT m.places, m.at_ms FROM {hub}.queue_moves AS m WHERE m.queue {=} $1
)sql");

constexpr auto kTakeMoves = statement<In<Text>, MoveRows>(R"sql(
    DELETE FROM {hub}.queue_moves AS m WHERE m.queue {=} $1 RETURNING m.places, m.at_ms
)sql");

// $1 queue, $2 tokens, $3 refilled at, $4 active.
constexpr auto kWrite = statement<In<Text, double, int64, int64>, Out<>>(R"sql(
    UPDATE {hub}.queue_limits AS l
       SET tokens = $2, refilled_at_ms = $3, active = $4
     WHERE l.queue {=} $1
)sql");

// $1 queue, $2 places, $3 now.
constexpr auto kMove = statement<In<Text, int64, int64>, Out<>>(R"sql(
    INSERT INTO {hub}.queue_moves (queue, places, at_ms) VALUES ($1, $2, $3)
)sql");

constexpr auto kDeleteMoves = statement<In<Text>, Out<>>(R"sql(
    DELETE FROM {hub}.queue_moves AS m WHERE m.queue {=} $1
)sql");

// $1 queue, $2 concurrency, $3 rate, $4 burst, $5 tokens, $6 now.
constexpr auto kInsert =
    statement<In<Text, Maybe<int64>, Maybe<double>, double, double, int64>, Out<>>(R"sql(
    INSERT INTO {hub}.queue_limits
           (queue, concurrency, rate_per_s, burst, tokens, refilled_at_ms, active)
    SELECT $1, $2, $3, $4, $5, $6, pg_catalog.count(*)
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'active' AND t.queue {=} $1
)sql");

constexpr auto kUpdate =
    statement<In<Text, Maybe<int64>, Maybe<double>, double, double, int64>, Out<>>(R"sql(
    UPDATE {hub}.queue_limits AS l
       SET concurrency = $2, rate_per_s = $3, burst = $4, tokens = $5, refilled_at_ms = $6
     WHERE l.queue {=} $1
)sql");

constexpr auto kDelete = statement<In<Text>, Out<>>(R"sql(
    DELETE FROM {hub}.queue_limits AS l WHERE l.queue {=} $1
)sql");

constexpr auto kLimited = statement<In<int64>, Out<Text>>(R"sql(
    SELECT l.queue FROM {hub}.queue_limits AS l ORDER BY l.queue LIMIT $1
)sql");

constexpr auto kIsLimited = query<In<Text>, Out<int32>>(R"sql(
    SELECT 1 FROM {hub}.queue_limits AS l WHERE l.queue {=} $1
)sql");

// The hub's row lists so many queues. If more have limits, it has an empty name instead, and the
// table is asked: a list of all would be written anew by each of them.
constexpr int kMostListed = 64;
constexpr std::string_view kMany[] = {""};

bool has_many(const Hub& hub) {
    return hub.limited_queues != nullptr && std::string_view(hub.limited_queues) == "\n\n";
}

void list_limited(const Hub& hub) {
    const auto queues = run(hub, kLimited, kMostListed + 1).values();
    if (queues.size() <= kMostListed) {
        set_limited_queues(hub, queues);
    } else if (!has_many(hub)) {
        set_limited_queues(hub, kMany);
    }
}

uint64 key_of(std::string_view queue) {
    return core::fnv1a64(queue);
}

core::QueueLimit after_moves(core::QueueLimit limit, pg::List<core::QueueMove> moves) {
    std::sort(moves.begin(), moves.end(),
              [](const core::QueueMove& a, const core::QueueMove& b) { return a.at < b.at; });
    for (const core::QueueMove& move : moves) {
        limit = core::moved(limit, move);
    }
    return limit;
}

// Moves that the snapshot does not see because their transactions were open then. What they take
// counts; what they release is not certain.
struct OpenMoves {
    pg::List<core::QueueMove> taken;
    TransactionId open;  // one of those that still are
};

// Table queue_moves and its index, opened for reads by queue.
struct MoveScan {
    Relation heap;
    Relation index;
    TupleTableSlot* slot;

    explicit MoveScan(const Hub& hub)
        : heap(table_open(relation_named(hub, "queue_moves"), AccessShareLock)),
          index(index_open(relation_named(hub, "queue_moves_queue"), AccessShareLock)),
          slot(table_slot_create(heap, nullptr)) {}

    void close() {
        ExecDropSingleTupleTableSlot(slot);
        index_close(index, NoLock);
        table_close(heap, NoLock);
    }

    OpenMoves read(std::string_view queue, Snapshot snapshot) {
        constexpr AttrNumber kPlaces = 1;
        constexpr AttrNumber kAt = 2;
        SnapshotData dirty;
        InitDirtySnapshot(dirty);
        IndexScanDesc scan = pg::begin_index_scan(heap, index, &dirty, 1);
        ScanKeyData key;
        ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_TEXTEQ, pg::text_datum(queue));
        index_rescan(scan, &key, 1, nullptr, 0);
        OpenMoves found{{}, InvalidTransactionId};
        while (index_getnext_slot(scan, ForwardScanDirection, slot)) {
            const auto* row = reinterpret_cast<const HeapTupleTableSlot*>(slot)->tuple->t_data;
            const TransactionId writer = HeapTupleHeaderGetXmin(row);
            if (TransactionIdIsCurrentTransactionId(writer) ||
                !XidInMVCCSnapshot(writer, snapshot)) {
                continue;
            }
            bool null = false;
            const int64 places = DatumGetInt64(slot_getattr(slot, kPlaces, &null));
            if (places > 0) {
                found.taken.add({places, DatumGetInt64(slot_getattr(slot, kAt, &null))});
            }
            if (TransactionIdIsValid(dirty.xmin)) {
                found.open = dirty.xmin;
            }
        }
        ExecClearTuple(slot);
        index_endscan(scan);
        return found;
    }
};

// The limits as they are for certain: with all that open transactions take, and without what they
// release.
struct Counted {
    core::QueueLimit limit;
    std::size_t moves;   // that are committed
    TransactionId open;  // that has some
};

std::optional<Counted> count(const Hub& hub, std::string_view queue) {
    // One snapshot for limits and moves: another claim may add moves to the limits meanwhile. Under
    // the queue's key no moves come that it does not see and that are not open.
    CommandCounterIncrement();
    PushActiveSnapshot(GetLatestSnapshot());
    const auto limit = run(hub, kRead, queue).first<core::QueueLimit>();
    pg::List<core::QueueMove> moves;
    for (const auto [places, at] : run(hub, kMoves, queue)) {
        moves.add({places, at});
    }
    const auto committed = static_cast<std::size_t>(moves.count);
    MoveScan scan(hub);
    const OpenMoves open = scan.read(queue, GetActiveSnapshot());
    scan.close();
    PopActiveSnapshot();
    for (const core::QueueMove& move : open.taken) {
        moves.add(move);
    }
    return limit ? std::optional(Counted{after_moves(*limit, moves), committed, open.open})
                 : std::nullopt;
}

// The same of several queues, in their order.
std::span<const NamedLimit> count_many(const Hub& hub, std::span<const std::string_view> queues) {
    const auto place_of = [queues](std::string_view queue) {
        return std::lower_bound(queues.begin(), queues.end(), queue) - queues.begin();
    };
    auto* limits = static_cast<std::optional<core::QueueLimit>*>(
        palloc0(sizeof(std::optional<core::QueueLimit>) * queues.size()));
    auto* moves = static_cast<pg::List<core::QueueMove>*>(
        palloc0(sizeof(pg::List<core::QueueMove>) * queues.size()));
    CommandCounterIncrement();
    PushActiveSnapshot(GetLatestSnapshot());
    for (const auto [queue, concurrency, rate, burst, tokens, refilled_at, active] :
         run(hub, kReadMany, queues)) {
        limits[place_of(queue)] = {concurrency, rate, burst, tokens, refilled_at, active};
    }
    for (const auto [queue, places, at] : run(hub, kMovesOfMany, queues)) {
        moves[place_of(queue)].add({places, at});
    }
    pg::List<NamedLimit> found;
    MoveScan scan(hub);
    for (std::size_t i = 0; i < queues.size(); ++i) {
        if (limits[i]) {
            for (const core::QueueMove& move : scan.read(queues[i], GetActiveSnapshot()).taken) {
                moves[i].add(move);
            }
            found.add({queues[i], after_moves(*limits[i], moves[i])});
        }
    }
    scan.close();
    PopActiveSnapshot();
    return found.span();
}

// Adds committed moves to limits that are held.
core::QueueLimit add_up(const Hub& hub, std::string_view queue, const core::QueueLimit& limit) {
    pg::List<core::QueueMove> moves;
    for (const auto [places, at] : run(hub, kTakeMoves, queue)) {
        moves.add({places, at});
    }
    const core::QueueLimit after = after_moves(limit, moves);
    if (moves.count > 0) {
        run_for_one(hub, kWrite, queue, after.tokens, after.refilled_at, after.active);
    }
    return after;
}

// Whether so many moves should be added up by this transaction. It then holds the limits, which
// keeps others from adding up and from nothing else; a transaction that may stay open does so only
// if no other transaction did.
bool should_add_up(std::size_t moves) {
    constexpr std::size_t kSome = 32;
    constexpr std::size_t kMany = 1024;
    return !IsolationUsesXactSnapshot() && moves >= (IsTransactionBlock() ? kMany : kSome);
}

}  // namespace

bool is_limited(const Hub& hub, std::string_view queue) {
    if (has_many(hub)) {
        // As the list would say: what was committed before table tasks was entered.
        PushActiveSnapshot(GetLatestSnapshot());
        const bool limited = run_any(hub, kIsLimited, queue);
        PopActiveSnapshot();
        return limited;
    }
    // Names stand between newlines, which no name has.
    return hub.limited_queues != nullptr &&
           std::string_view(hub.limited_queues)
                   .find(std::string_view(psprintf("\n%.*s\n", static_cast<int>(queue.size()),
                                                   queue.data()))) != std::string_view::npos;
}

bool has_limited(const Hub& hub) {
    return hub.limited_queues != nullptr && hub.limited_queues[0] != '\0';
}

std::optional<core::QueueLimit> lock_limit(const Hub& hub, std::string_view queue) {
    const auto limit = run(hub, kLock, queue).first<core::QueueLimit>();
    return limit ? std::optional(add_up(hub, queue, *limit)) : std::nullopt;
}

std::optional<core::QueueLimit> read_limit(const Hub& hub, std::string_view queue) {
    const auto counted = count(hub, queue);
    return counted ? std::optional(counted->limit) : std::nullopt;
}

std::span<const NamedLimit> read_limits(const Hub& hub, std::span<const std::string_view> queues) {
    pg::List<std::string_view> limited;
    for (const std::string_view queue : queues) {
        if (has_many(hub) || is_limited(hub, queue)) {
            limited.add(queue);
        }
    }
    return limited.count == 0 ? std::span<const NamedLimit>() : count_many(hub, limited.span());
}

std::optional<HeldLimit> read_held_limit(const Hub& hub, std::string_view queue) {
    const auto counted = count(hub, queue);
    return counted ? std::optional(HeldLimit{counted->limit, counted->open}) : std::nullopt;
}

int64 take_places(const Hub& hub, std::string_view queue, int64 wanted, int64 now) {
    // The next holder of the key sees our move, committed or not.
    pg::lock_key(pg::LockSpace::kQueueLimit, hub.schema, key_of(queue));
    const auto counted = count(hub, queue);
    int64 taken = wanted;  // of limits that are just gone
    if (counted) {
        taken = std::min(wanted, core::free_places(counted->limit, now));
    }
    if (counted && taken > 0) {
        run_for_one(hub, kMove, queue, taken, now);
        if (should_add_up(counted->moves)) {
            if (const auto held = run(hub, kTryLock, queue).first<core::QueueLimit>()) {
                (void)add_up(hub, queue, *held);
            }
        }
    }
    pg::unlock_key(pg::LockSpace::kQueueLimit, hub.schema, key_of(queue));
    if (counted) {
        wake_for_places(hub, queue, core::moved(counted->limit, {taken, now}), now);
    }
    return taken;
}

void wake_for_places(const Hub& hub, std::string_view queue, const core::QueueLimit& limit,
                     int64 now) {
    for (const wakeups::Channel& channel : {queue_channel(hub, queue), all_queues_channel(hub)}) {
        if (core::free_places(limit, now) > 0) {
            wakeups::ready(channel);
        } else if (!core::is_crowded(limit)) {
            wakeups::due(channel, core::next_token_at(limit, now));
        }
    }
}

void return_place(const Hub& hub, std::string_view queue, int64 now) {
    run_for_one(hub, kMove, queue, -1, now);
    rotation::prefer(hub.relations.tasks, queue);
    wakeups::ready(queue_channel(hub, queue));
    wakeups::ready(all_queues_channel(hub));
}

void insert_limit(const Hub& hub, std::string_view queue, const core::QueueLimit& limit) {
    // What was taken and released under earlier limits.
    run(hub, kDeleteMoves, queue);
    run_for_one(hub, kInsert, queue, limit.concurrency, limit.rate_per_s, limit.burst, limit.tokens,
                limit.refilled_at);
    if (!has_many(hub)) {
        list_limited(hub);
    }
}

void update_limit(const Hub& hub, std::string_view queue, const core::QueueLimit& limit) {
    run_for_one(hub, kUpdate, queue, limit.concurrency, limit.rate_per_s, limit.burst, limit.tokens,
                limit.refilled_at);
}

void delete_limit(const Hub& hub, std::string_view queue) {
    run_for_one(hub, kDelete, queue);
    run(hub, kDeleteMoves, queue);
    list_limited(hub);
}

}  // namespace belay::store
